// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tw::targets::cuda {

// Device functions that emitted code calls. Adds `name` and everything it needs. REQUIRES: the name exists.
void require_helper(std::string_view name, std::set<std::string>& used);
// The text of the used helpers in an order that compiles.
std::string helper_text(const std::set<std::string>& used);

}  // namespace tw::targets::cuda

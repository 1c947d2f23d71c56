// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tw {

// The change from `before` to `after` as a unified diff with `context_lines` unchanged lines around each hunk; empty
// when the texts are equal. Texts that differ in more than some thousands of lines are shown as one replaced block.
std::string unified_diff(std::string_view before_name, std::string_view after_name, std::string_view before,
                         std::string_view after, int context_lines = 3);

}  // namespace tw

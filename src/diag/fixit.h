// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "diag/diagnostic.h"

namespace tw::diag {

// The text of `file` with all edits of the fix-it that concern it. Fails when edits overlap or reach outside the file:
// a fix-it is applied whole or not at all.
Result<std::string> apply_fixit(const FixIt& fixit, FileId file, const SourceManager& sources);

// The same as a unified diff over all files it concerns; empty when it changes nothing or cannot be applied.
std::string fixit_diff(const FixIt& fixit, const SourceManager& sources, int context_lines,
                       const std::function<std::string(std::string_view)>& shown_name);

}  // namespace tw::diag

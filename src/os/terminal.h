// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace tw::os {

bool is_terminal(int fd);
// Columns of the terminal at `fd`; nothing when it is not one or does not say.
std::optional<int> terminal_width(int fd);
// A terminal that shows colour, and nobody asked for none (NO_COLOR, TERM=dumb).
bool wants_color(int fd);

}  // namespace tw::os

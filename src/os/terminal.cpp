// SPDX-License-Identifier: Apache-2.0
#include "os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "os/env.h"

namespace tw::os {

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
}

std::optional<int> terminal_width(int fd) {
  winsize size{};
  if (!is_terminal(fd) || ::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return size.ws_col;
}

bool wants_color(int fd) {
  return is_terminal(fd) && !get_env("NO_COLOR") && get_env("TERM").value_or("dumb") != "dumb";
}

}  // namespace tw::os

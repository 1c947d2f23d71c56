// SPDX-License-Identifier: Apache-2.0
#include "os/file_descriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace tw::os {

int FileDescriptor::close() {
  int fd = std::exchange(fd_, -1);
  // On Linux the descriptor is gone also after EINTR.
  return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? errno : 0;
}

int write_fully(int fd, std::string_view content) {
  while (!content.empty()) {
    ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    content.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

void hold_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is `fd`. Read-only for standard output, so that writing to it fails as it would have.
      static_cast<void>(::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

}  // namespace tw::os

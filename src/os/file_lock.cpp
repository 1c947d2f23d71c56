// SPDX-License-Identifier: Apache-2.0
#include "os/file_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>

#include "os/clock.h"
#include "os/errors.h"
#include "os/signals.h"

namespace tw::os {

Result<std::optional<FileLock>> FileLock::try_lock(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.is_open()) {
    return fail(system_error(fmt::format("cannot open the lock file `{}`", path), errno));
  }
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return std::optional<FileLock>();
    }
    if (errno != EINTR) {
      return fail(system_error(fmt::format("cannot lock `{}`", path), errno));
    }
  }
  return std::optional<FileLock>(FileLock(std::move(fd)));
}

Result<FileLock> FileLock::lock(const std::string& path, std::chrono::milliseconds timeout) {
  constexpr auto kPause = std::chrono::milliseconds(10);
  Stopwatch stopwatch;
  while (true) {
    TW_TRY(std::optional<FileLock> lock, try_lock(path));
    if (lock) {
      return *std::move(lock);
    }
    if (interrupt_requested() || stopwatch.elapsed_ms() >= static_cast<double>(timeout.count())) {
      return fail(
          Error{fmt::format("cannot lock `{}`", path),
                {interrupt_requested() ? std::string("interrupted while waiting for it")
                                       : fmt::format("another process has held it for {} ms", timeout.count())}});
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace tw::os

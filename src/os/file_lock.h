// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/file_descriptor.h"

namespace tw::os {

// An advisory lock (flock) on a file made for it. The kernel drops it when the process ends in whatever way, so a lock
// left behind by a killed process cannot block the next one.
class FileLock {
 public:
  // Nothing when another holder has it.
  static Result<std::optional<FileLock>> try_lock(const std::string& path);
  // An error when it is still held after `timeout`, or an interrupt was requested.
  static Result<FileLock> lock(const std::string& path, std::chrono::milliseconds timeout);

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;

 private:
  explicit FileLock(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

}  // namespace tw::os

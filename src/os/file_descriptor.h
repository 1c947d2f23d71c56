// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

namespace tw::os {

// Owns a file descriptor; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { static_cast<void>(close()); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  // 0, or the error number: a full network disk is sometimes reported only here.
  int close();

 private:
  int fd_ = -1;
};

// 0, or the error number of the write that failed.
int write_fully(int fd, std::string_view content);

// Puts /dev/null where standard input, output or error was closed by the caller; otherwise the next file that is opened
// (a database, say) would get the number and what is printed would land in it. Writing to a standard output that was
// closed stays an error. Called once, before anything is opened.
void hold_standard_streams();

}  // namespace tw::os

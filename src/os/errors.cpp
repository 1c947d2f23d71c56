// SPDX-License-Identifier: Apache-2.0
#include "os/errors.h"

#include <cerrno>
#include <system_error>

namespace tw::os {

std::string describe_errno(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "no space left on the device";
    case EDQUOT:
      return "the disk quota is used up";
    case EROFS:
      return "the file system is mounted read-only";
    case ENOENT:
      return "no such file or folder";
    case EACCES:
      return "permission denied";
    case EISDIR:
      return "it is a folder";
    case ENOTDIR:
      return "a part of the path is not a folder";
    case EEXIST:
      return "it exists already";
    case ENAMETOOLONG:
      return "the path is too long";
    case ELOOP:
      return "the links on the path lead round in a circle";
    case EBADF:
      return "it is closed";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    default:
      return std::generic_category().message(error_number);
  }
}

Error system_error(std::string doing, int error_number) {
  return Error{std::move(doing), {describe_errno(error_number)}};
}

}  // namespace tw::os

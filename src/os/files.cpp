// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/env.h"
#include "os/errors.h"
#include "os/file_descriptor.h"

namespace tw::os {
namespace {

std::string in_ticks(std::string_view path) {
  return fmt::format("`{}`", path);
}

Status sync_folder(const std::string& folder) {
  FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) {
    return fail(system_error("cannot open the folder " + in_ticks(folder), errno));
  }
  // Some file systems have no sync for folders and say EINVAL.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) {
    return fail(system_error("cannot sync the folder " + in_ticks(folder), errno));
  }
  return {};
}

// Where the bytes will be: the end of a chain of links, which may point to a file that is not there yet.
std::string follow_links(std::string path) {
  for (int i = 0; i < 40; ++i) {
    char target[4096];
    ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0) {
      break;
    }
    path = join_path(parent_path(path), std::string_view(target, static_cast<size_t>(length)));
  }
  return path;
}

Status write_directly(const std::string& path, std::string_view content, int extra_flags) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | extra_flags, 0666));
  if (!fd.is_open()) {
    return fail(system_error("cannot open " + in_ticks(path) + " for writing", errno));
  }
  if (int error = write_fully(fd.get(), content); error != 0) {
    return fail(system_error("cannot write " + in_ticks(path), error));
  }
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return fail(system_error("cannot write " + in_ticks(path), errno));
  }
  return {};
}

// What stands where a file is to be replaced, and the mode that the new one gets.
struct Place {
  bool is_device = false;
  mode_t mode = 0666;
};

Result<Place> look_at_target(const std::string& path, const std::string& target) {
  struct stat info{};
  if (::stat(target.c_str(), &info) != 0) {
    return Place();
  }
  if (S_ISDIR(info.st_mode)) {
    return fail(system_error("cannot write " + in_ticks(path), EISDIR));
  }
  if (!S_ISREG(info.st_mode)) {
    return Place{true, 0};
  }
  // Renaming over a file needs no right to write it; who took that right away meant it.
  if (::access(target.c_str(), W_OK) != 0) {
    return fail(system_error("cannot write " + in_ticks(path), errno));
  }
  return Place{false, info.st_mode & 07777};
}

// A synced file beside `path` that holds `content`; its name.
Result<std::string> write_beside(const std::string& path, std::string_view content, mode_t mode) {
  static std::atomic<unsigned> serial = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temp = fmt::format("{}.{}-{}.tmp", path, ::getpid(), serial++);
    FileDescriptor fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.is_open()) {
      if (errno == EEXIST) {
        continue;
      }
      return fail(system_error("cannot write " + in_ticks(path), errno));
    }
    int error = write_fully(fd.get(), content);
    if (error == 0 && ::fsync(fd.get()) != 0) {
      error = errno;
    }
    if (error == 0) {
      error = fd.close();
    }
    if (error != 0) {
      ::unlink(temp.c_str());
      return fail(system_error("cannot write " + in_ticks(path), error));
    }
    return temp;
  }
  return fail(system_error("cannot write " + in_ticks(path), EEXIST));
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return fail(system_error("cannot read " + in_ticks(path), errno));
  }
  std::string content;
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) <= max_bytes) {
    content.reserve(static_cast<size_t>(info.st_size) + 1);
  }
  char buffer[1 << 16];
  while (true) {
    ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return fail(system_error("cannot read " + in_ticks(path), errno));
    }
    if (count == 0) {
      return content;
    }
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > max_bytes) {
      return fail(Error{"cannot read " + in_ticks(path), {fmt::format("it is longer than {} bytes", max_bytes)}});
    }
  }
}

Status write_file_atomic(const std::string& path, std::string_view content) {
  std::string target = follow_links(path);
  TW_TRY(const Place place, look_at_target(path, target));
  if (place.is_device) {
    return write_directly(target, content, 0);
  }
  TW_TRY(std::string temp, write_beside(target, content, place.mode));
  if (::rename(temp.c_str(), target.c_str()) != 0) {
    int error = errno;
    ::unlink(temp.c_str());
    return fail(system_error("cannot write " + in_ticks(path), error));
  }
  return sync_folder(parent_path(target));
}

Status write_files_atomic(const std::vector<std::pair<std::string, std::string>>& contents_by_path) {
  std::vector<std::pair<std::string, std::string>> moves;
  // Takes away what was not moved into its place.
  auto give_up = [&](Error error) {
    for (const auto& [temp, target] : moves) {
      ::unlink(temp.c_str());
    }
    return fail(std::move(error));
  };
  for (const auto& [path, content] : contents_by_path) {
    std::string target = follow_links(path);
    auto place = look_at_target(path, target);
    if (!place) {
      return give_up(place.error());
    }
    if (place->is_device) {
      return give_up(Error{"cannot write " + in_ticks(path), {"it is not a regular file"}});
    }
    auto temp = write_beside(target, content, place->mode);
    if (!temp) {
      return give_up(temp.error());
    }
    moves.emplace_back(*std::move(temp), std::move(target));
  }
  for (const auto& [temp, target] : moves) {
    if (::rename(temp.c_str(), target.c_str()) != 0) {
      return give_up(system_error("cannot write " + in_ticks(target), errno));
    }
  }
  for (const auto& [temp, target] : moves) {
    TW_TRY_STATUS(sync_folder(parent_path(target)));
  }
  return {};
}

Status write_new_file(const std::string& path, std::string_view content) {
  TW_TRY(std::string temp, write_beside(path, content, 0666));
  // Unlike rename, link does not replace what is there.
  int error = ::link(temp.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(temp.c_str());
  if (error != 0) {
    return fail(system_error("cannot write " + in_ticks(path), error));
  }
  return sync_folder(parent_path(path));
}

Status append_to_file(const std::string& path, std::string_view content) {
  return write_directly(path, content, O_CREAT | O_APPEND);
}

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

bool is_folder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_regular_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<uint64_t> file_size_bytes(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(system_error("cannot look at " + in_ticks(path), errno));
  }
  return static_cast<uint64_t>(info.st_size);
}

Status make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return fail(system_error("cannot make the folder " + in_ticks(path), error.value()));
  }
  if (!is_folder(path)) {
    return fail(system_error("cannot make the folder " + in_ticks(path), exists(path) ? ENOTDIR : ENOENT));
  }
  return {};
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  std::vector<std::string> names;
  while (!error && entries != std::filesystem::directory_iterator()) {
    names.push_back(entries->path().filename().string());
    entries.increment(error);
  }
  if (error) {
    return fail(system_error("cannot list the folder " + in_ticks(path), error.value()));
  }
  std::ranges::sort(names);
  return names;
}

Status remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    return fail(system_error("cannot remove " + in_ticks(path), error.value()));
  }
  return {};
}

Status rename_synced(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return fail(system_error(fmt::format("cannot move `{}` to `{}`", from, to), errno));
  }
  return sync_folder(parent_path(to));
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) {
    return std::string(name);
  }
  std::string out(folder);
  if (!out.ends_with('/')) {
    out += '/';
  }
  return out += name;
}

std::string parent_path(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return ".";
  }
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string base_name(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

Result<std::string> real_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path resolved = std::filesystem::canonical(path, error);
  if (error) {
    return fail(system_error("cannot resolve " + in_ticks(path), error.value()));
  }
  return resolved.string();
}

Result<std::string> current_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::current_path(error);
  if (error) {
    return fail(system_error("cannot tell the current folder", error.value()));
  }
  return folder.string();
}

Result<TempFolder> TempFolder::make(std::string_view prefix, std::string parent) {
  if (parent.empty()) {
    parent = get_env("TMPDIR").value_or("");
    if (parent.empty()) {
      parent = "/tmp";
    }
  }
  std::string pattern = join_path(parent, std::string(prefix) + "-XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) {
    return fail(system_error("cannot make a temporary folder in " + in_ticks(parent), errno));
  }
  return TempFolder(std::move(pattern));
}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempFolder::~TempFolder() {
  if (!path_.empty()) {
    static_cast<void>(remove_tree(path_));
  }
}

std::string TempFolder::release() {
  std::string path = std::move(path_);
  path_.clear();
  return path;
}

}  // namespace tw::os

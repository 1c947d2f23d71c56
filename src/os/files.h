// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tw::os {

constexpr size_t kMaxFileBytes = size_t{256} << 20;

// The whole file; an error when it is longer than `max_bytes` (also for a device that never ends).
Result<std::string> read_file(const std::string& path, size_t max_bytes = kMaxFileBytes);

// After success the file holds `content`, also after a power cut; after a failure it is what it was before.
// (A temporary file beside it is written, synced, renamed, and the folder synced.) Symbolic links are followed; a
// device or pipe is written directly. Folders are not made.
Status write_file_atomic(const std::string& path, std::string_view content);

// All of them or none: every file is written beside its place and synced first, so a disk that is full in the middle
// changes nothing. (A power cut between the renames can leave some new and some old, each of them whole.)
Status write_files_atomic(const std::vector<std::pair<std::string, std::string>>& contents_by_path);

// As write_file_atomic, but an existing file is left alone and is an error.
Status write_new_file(const std::string& path, std::string_view content);

// Adds at the end and syncs; makes the file when it is missing.
Status append_to_file(const std::string& path, std::string_view content);

bool exists(const std::string& path);
bool is_folder(const std::string& path);
bool is_regular_file(const std::string& path);
Result<uint64_t> file_size_bytes(const std::string& path);
// Makes the folder and those above it; success when it is there already.
Status make_folders(const std::string& path);
// Names in the folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);
// Removes a file or a folder with all that is in it; success when there is none. Links are removed, not followed.
Status remove_tree(const std::string& path);
// Moves a file or folder within one file system and syncs the folder of `to`.
Status rename_synced(const std::string& from, const std::string& to);

// "a/b" from "a" and "b"; `name` alone when it is absolute or `folder` is empty.
std::string join_path(std::string_view folder, std::string_view name);
// "a/b" of "a/b/c"; "." when there is no folder part.
std::string parent_path(std::string_view path);
// "c.tw.py" of "a/b/c.tw.py".
std::string base_name(std::string_view path);
// Absolute and without links; an error when it does not exist.
Result<std::string> real_path(const std::string& path);
Result<std::string> current_folder();

// A fresh folder, removed with all its contents when the object goes.
class TempFolder {
 public:
  // In $TMPDIR, else /tmp; or in `parent` when given.
  static Result<TempFolder> make(std::string_view prefix, std::string parent = {});
  TempFolder(TempFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempFolder& operator=(TempFolder&& other) noexcept;
  ~TempFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  // The folder stays when the object goes.
  std::string release();

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tw::os

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "toolchain/compile.h"

namespace tw::toolchain {

// Compiled kernels on disk, one file each, named by the SHA-256 of everything the result depends on: source, options,
// compiler, our own build. Any number of processes may share a folder: a file appears whole or not at all, and one that
// is not what was written (cut, altered, of another version) is removed and counts as missing.
class CompileCache {
 public:
  // The folder is made when the first entry is written.
  explicit CompileCache(std::string folder) : folder_(std::move(folder)) {}

  struct Statistics {
    int64_t hits = 0;
    int64_t misses = 0;
    // Files that were there but could not be used.
    int64_t damaged = 0;
    int64_t write_failures = 0;
  };

  // Nothing when there is no usable entry.
  std::optional<CompiledKernel> load(const std::string& key);
  Status save(const std::string& key, const CompiledKernel& kernel);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  [[nodiscard]] std::string entry_path(const std::string& key) const;

 private:
  std::string folder_;
  Statistics statistics_;
};

// One entry as text; exposed for tests.
std::string encode_entry(const std::string& key, const CompiledKernel& kernel);
std::optional<CompiledKernel> decode_entry(const std::string& key, std::string_view bytes);

}  // namespace tw::toolchain

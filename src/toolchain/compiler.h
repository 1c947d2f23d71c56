// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "toolchain/cache.h"
#include "toolchain/compile.h"
#include "toolchain/nvcc.h"
#include "toolchain/nvrtc.h"

namespace tw::toolchain {

enum class Engine : uint8_t {
  // NVRTC, and nvcc where that is missing.
  Any,
  Nvrtc,
  Nvcc,
};

struct CompilerConfig {
  Engine engine = Engine::Any;
  // No cache when empty.
  std::string cache_folder;
  // Part of the cache's keys: results of another build of this program are not taken.
  std::string build_id;
};

// The CUDA compiler of this machine with its cache. May be moved; `compile` is for one thread at a time.
class CudaCompiler {
 public:
  // Fails where there is no compiler; the error lists what was looked for.
  static Result<CudaCompiler> find(CompilerConfig config);

  [[nodiscard]] CompileResult compile(std::string_view source, const CompileOptions& options);

  // "nvrtc 13.0"
  [[nodiscard]] std::string version_text() const;
  // The library or program that compiles.
  [[nodiscard]] const std::string& path() const;
  // SHA-256 over everything the result depends on, each field framed by its length.
  [[nodiscard]] std::string key(std::string_view source, const CompileOptions& options) const;
  [[nodiscard]] CompileCache::Statistics cache_statistics() const;
  // Why the last result could not be kept; nothing while the cache works.
  [[nodiscard]] const std::optional<Error>& cache_error() const { return cache_error_; }

 private:
  explicit CudaCompiler(CompilerConfig config) : config_(std::move(config)) {}
  CompilerConfig config_;
  std::optional<Nvrtc> nvrtc_;
  std::optional<Nvcc> nvcc_;
  std::optional<CompileCache> cache_;
  std::optional<Error> cache_error_;
};

// Identifies the running program: two different builds have different ids.
std::string own_build_id();

}  // namespace tw::toolchain

// SPDX-License-Identifier: Apache-2.0
#include "toolchain/compiler.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "os/env.h"

namespace tw::toolchain {

Result<CudaCompiler> CudaCompiler::find(CompilerConfig config) {
  CudaCompiler compiler(std::move(config));
  Error error{"no CUDA compiler on this machine", {}};
  const Engine engine = compiler.config_.engine;
  if (engine != Engine::Nvcc) {
    if (auto nvrtc = Nvrtc::find()) {
      compiler.nvrtc_ = *std::move(nvrtc);
    } else {
      error.causes.push_back(nvrtc.error().message);
      error.causes.insert(error.causes.end(), nvrtc.error().causes.begin(), nvrtc.error().causes.end());
    }
  }
  if (engine != Engine::Nvrtc && !compiler.nvrtc_) {
    if (auto nvcc = Nvcc::find()) {
      compiler.nvcc_ = *std::move(nvcc);
    } else {
      error.causes.push_back(nvcc.error().message);
      error.causes.insert(error.causes.end(), nvcc.error().causes.begin(), nvcc.error().causes.end());
    }
  }
  if (!compiler.nvrtc_ && !compiler.nvcc_) {
    return fail(std::move(error));
  }
  if (!compiler.config_.cache_folder.empty()) {
    compiler.cache_.emplace(compiler.config_.cache_folder);
  }
  return compiler;
}

CompileResult CudaCompiler::compile(std::string_view source, const CompileOptions& options) {
  const auto compile_now = [&] { return nvrtc_ ? nvrtc_->compile(source, options) : nvcc_->compile(source, options); };
  // What lies in include folders is not part of the key.
  if (!cache_ || !options.include_dirs.empty()) {
    return compile_now();
  }
  const std::string cache_key = key(source, options);
  if (auto cached = cache_->load(cache_key)) {
    return *std::move(cached);
  }
  CompileResult result = compile_now();
  if (result) {
    cache_error_.reset();
    if (auto saved = cache_->save(cache_key, *result); !saved) {
      cache_error_ = std::move(saved).error();
    }
  }
  return result;
}

std::string CudaCompiler::version_text() const {
  return nvrtc_ ? nvrtc_->version_text() : nvcc_->version_text();
}

const std::string& CudaCompiler::path() const {
  return nvrtc_ ? nvrtc_->path() : nvcc_->path();
}

std::string CudaCompiler::key(std::string_view source, const CompileOptions& options) const {
  ContentKey key;
  key.add("tw.compile-key/1").add(config_.build_id);
  key.add(version_text()).add(nvrtc_ ? nvrtc_->identity() : nvcc_->identity());
  const std::vector<std::string> arguments = nvrtc_ ? Nvrtc::arguments(options) : Nvcc::arguments(options);
  key.add(uint64_t{arguments.size()});
  for (const std::string& argument : arguments) {
    key.add(argument);
  }
  // The name is in messages and in line tables.
  return key.add(options.file_name).add(source).finish();
}

CompileCache::Statistics CudaCompiler::cache_statistics() const {
  return cache_ ? cache_->statistics() : CompileCache::Statistics{};
}

std::string own_build_id() {
  const auto program = os::executable_path();
  const auto identity = program ? file_identity(*program) : Result<std::string>(fail("no program"));
  return identity.value_or("unknown");
}

}  // namespace tw::toolchain

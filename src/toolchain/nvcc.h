// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile.h"

namespace tw::toolchain {

// NVIDIA's compiler driver of an installed CUDA toolkit, run as a process. Unlike NVRTC it also sees the host part of
// a source.
class Nvcc {
 public:
  // $TILEWRIGHT_NVCC, the toolkit ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda), then PATH.
  static Result<Nvcc> find();
  static Result<Nvcc> open(const std::string& program);

  // "nvcc 13.0.88"
  [[nodiscard]] const std::string& version_text() const { return version_text_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // All of what `nvcc --version` says.
  [[nodiscard]] const std::string& identity() const { return identity_; }

  [[nodiscard]] static std::vector<std::string> arguments(const CompileOptions& options);
  [[nodiscard]] CompileResult compile(std::string_view source, const CompileOptions& options) const;

 private:
  Nvcc() = default;
  std::string path_;
  std::string version_text_;
  std::string identity_;
};

}  // namespace tw::toolchain

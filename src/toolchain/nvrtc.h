// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile.h"
#include "toolchain/dynamic_library.h"

namespace tw::toolchain {

// NVIDIA's run-time compiler inside this process: needs neither a CUDA toolkit nor a GPU.
// May be used by several threads at once.
class Nvrtc {
 public:
  // The first that loads of: $TILEWRIGHT_NVRTC (a library or the folder that holds it; when set, nothing else is
  // tried), the package folder `nvidia/cu13/lib` beside the program, above it or under `deps` there, a CUDA toolkit
  // ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda), the loader's search path. The error lists the places.
  static Result<Nvrtc> find();
  static Result<Nvrtc> open(const std::string& library);

  // "nvrtc 13.0"
  [[nodiscard]] std::string version_text() const;
  [[nodiscard]] int version_major() const { return version_major_; }
  [[nodiscard]] int version_minor() const { return version_minor_; }
  [[nodiscard]] const std::string& path() const { return library_.path(); }
  // Differs between any two builds of the library.
  [[nodiscard]] const std::string& identity() const { return identity_; }
  // 80, 90, ...: what the library says it supports.
  [[nodiscard]] std::vector<int> supported_archs() const;

  // What `compile` would hand to the library.
  [[nodiscard]] static std::vector<std::string> arguments(const CompileOptions& options);
  [[nodiscard]] CompileResult compile(std::string_view source, const CompileOptions& options) const;

 private:
  struct Functions;
  // Finds the source lines of what ptxas complains about, by compiling once more for the PTX.
  void locate_in_source(std::string_view source, const CompileOptions& options,
                        std::vector<CompilerMessage>& messages) const;
  explicit Nvrtc(DynamicLibrary library) : library_(std::move(library)) {}
  DynamicLibrary library_;
  std::shared_ptr<const Functions> functions_;
  std::string identity_;
  int version_major_ = 0;
  int version_minor_ = 0;
};

// Where `find` looks, in order; relative to the folder of the program. Exposed for `doctor` and tests.
std::vector<std::string> nvrtc_candidates();

}  // namespace tw::toolchain

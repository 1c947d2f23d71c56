// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/element_type.h"
#include "runner/gpu.h"

namespace tw::runner {

// d[i, j] = sum over l of a[i, l] * b[l, j] on packed row-major matrices.
struct GemmCall {
  // Bf16, F16, Tf32 (f32 in memory, products in tf32) or F32; sums are f32 in every case.
  ElementType input = ElementType::Bf16;
  // That of the input, or F32.
  ElementType output = ElementType::F32;
  int32_t m = 0;
  int32_t n = 0;
  int32_t k = 0;
  // In memory `a` is (k, m), not (m, k).
  bool is_a_transposed = false;
  // In memory `b` is (n, k), not (k, n).
  bool is_b_transposed = false;
  cuda::DevicePointer a = 0;
  cuda::DevicePointer b = 0;
  cuda::DevicePointer d = 0;
};

// NVIDIA's matrix library as the peer that our products are timed against: opened at run time, called directly and on
// our stream, so that both sides are measured alike. REQUIRES: the Gpu outlives it.
class Cublas {
 public:
  // $TILEWRIGHT_CUBLAS, the package folder, a CUDA toolkit, the loader's search path.
  static RunResult<std::unique_ptr<Cublas>> find(Gpu& gpu);
  // cuBLAS takes the device whose context is current, which is that of the Gpu opened last.
  static RunResult<std::unique_ptr<Cublas>> open(Gpu& gpu, const std::string& library);
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas();

  // 130100 for 13.1.0.
  [[nodiscard]] int32_t version() const { return version_; }
  // Starts the product and does not wait.
  RunResult<void> enqueue(const GemmCall& call, cuda::Stream stream);

 private:
  struct Functions;
  Cublas();
  RunResult<void> check(int32_t status, const char* what) const;
  std::unique_ptr<Functions> functions_;
  void* handle_ = nullptr;
  int32_t version_ = 0;
};

}  // namespace tw::runner

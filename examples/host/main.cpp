// SPDX-License-Identifier: Apache-2.0
// Calls an emitted kernel from C++: D = A * B^T for bf16 matrices (A is M x K, B is N x K, both row-major).
//   usage: gemm_host [M N K]
// build.sh beside this file emits kernels/gemm/ampere_prefetch.tw.py and links its launcher.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <random>
#include <vector>

// The launcher in the emitted file: docs/launch_abi.md. It checks the preconditions of the proof.
extern "C" cudaError_t gemm_ampere_prefetch_launch(const unsigned short* A, const unsigned short* B, unsigned short* D,
                                                   int M, int K, int N, cudaStream_t stream, const char** why);

namespace {

using Bf16 = unsigned short;

Bf16 to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  // Round to nearest, ties to even.
  bits += 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<Bf16>(bits >> 16);
}

float to_float(Bf16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

// Small integers: products and their sums are exact, so that the result does not depend on the order of additions.
std::vector<Bf16> random_matrix(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Bf16> out(count);
  for (Bf16& value : out) {
    value = to_bf16(static_cast<float>(static_cast<int>(random() % 5) - 2));
  }
  return out;
}

struct DeviceMatrix {
  explicit DeviceMatrix(std::size_t count) : bytes(count * sizeof(Bf16)) {
    require(cudaMalloc(reinterpret_cast<void**>(&data), bytes), "cudaMalloc");
  }
  ~DeviceMatrix() { cudaFree(data); }
  DeviceMatrix(const DeviceMatrix&) = delete;
  DeviceMatrix& operator=(const DeviceMatrix&) = delete;
  Bf16* data = nullptr;
  std::size_t bytes;
};

}  // namespace

int main(int argc, char** argv) {
  const int M = argc > 3 ? std::atoi(argv[1]) : 1000, N = argc > 3 ? std::atoi(argv[2]) : 2040;
  const int K = argc > 3 ? std::atoi(argv[3]) : 520;
  if (M < 1 || N < 1 || K < 1) {
    std::fprintf(stderr, "usage: gemm_host [M N K], each at least 1\n");
    return 2;
  }
  const auto m = static_cast<std::size_t>(M), n = static_cast<std::size_t>(N), k = static_cast<std::size_t>(K);
  const std::vector<Bf16> a = random_matrix(m * k, 1), b = random_matrix(n * k, 2);
  DeviceMatrix A(m * k), B(n * k), D(m * n);
  require(cudaMemcpy(A.data, a.data(), A.bytes, cudaMemcpyHostToDevice), "copy of A");
  require(cudaMemcpy(B.data, b.data(), B.bytes, cudaMemcpyHostToDevice), "copy of B");

  const char* why = "";
  const cudaError_t status = gemm_ampere_prefetch_launch(A.data, B.data, D.data, M, K, N, nullptr, &why);
  if (status != cudaSuccess) {
    std::fprintf(stderr, "not launched: %s; required: %s\n", cudaGetErrorString(status), why);
    return 1;
  }
  require(cudaDeviceSynchronize(), "the kernel");

  std::vector<Bf16> d(m * n);
  require(cudaMemcpy(d.data(), D.data, D.bytes, cudaMemcpyDeviceToHost), "copy of D");
  std::mt19937 random(3);
  for (int sample = 0; sample < 10000; ++sample) {
    const std::size_t row = random() % m, column = random() % n;
    float sum = 0;
    for (std::size_t i = 0; i < k; ++i) {
      sum += to_float(a[row * k + i]) * to_float(b[column * k + i]);
    }
    if (d[row * n + column] != to_bf16(sum)) {
      std::fprintf(stderr, "D[%zu, %zu] is %g instead of %g\n", row, column,
                   static_cast<double>(to_float(d[row * n + column])), static_cast<double>(sum));
      return 1;
    }
  }
  std::printf("D = A * B^T for M = %d, N = %d, K = %d: 10000 elements looked at, all as expected\n", M, N, K);
  return 0;
}

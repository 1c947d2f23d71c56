// SPDX-License-Identifier: Apache-2.0
#include "runner/cublas.h"

#include <fmt/format.h>
#include <optional>

#include "toolchain/library_search.h"

namespace tw::runner {

// The part of cublas_api.h that we use.
struct Cublas::Functions {
  int32_t (*create)(void** handle);
  int32_t (*destroy)(void* handle);
  int32_t (*version)(void* handle, int32_t* version);
  int32_t (*set_stream)(void* handle, cuda::Stream stream);
  const char* (*status_name)(int32_t status);
  int32_t (*gemm)(void* handle, int32_t a_operation, int32_t b_operation, int32_t m, int32_t n, int32_t k,
                  const void* alpha, const void* a, int32_t a_type, int32_t a_stride, const void* b, int32_t b_type,
                  int32_t b_stride, const void* beta, void* d, int32_t d_type, int32_t d_stride, int32_t compute_type,
                  int32_t algorithm);
};

namespace {

constexpr int32_t kKeep = 0;
constexpr int32_t kTranspose = 1;
constexpr int32_t kComputeF32 = 68;
constexpr int32_t kComputeTf32 = 77;
constexpr int32_t kDefaultAlgorithm = -1;

std::optional<int32_t> data_type(ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return 14;
    case ElementType::F16:
      return 2;
    case ElementType::F32:
    case ElementType::Tf32:
      return 0;
    default:
      return std::nullopt;
  }
}

RunError not_available(Error error) {
  return {RunErrorKind::Environment, cuda::kSuccess, std::move(error)};
}

}  // namespace

RunResult<std::unique_ptr<Cublas>> Cublas::find(Gpu& gpu) {
  const toolchain::LibraryRequest request{
      "cuBLAS, NVIDIA's matrix library,", "TILEWRIGHT_CUBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}};
  const auto library = toolchain::find_library(request, &toolchain::DynamicLibrary::open);
  if (!library) {
    return fail(not_available(library.error()));
  }
  return open(gpu, library->path());
}

RunResult<std::unique_ptr<Cublas>> Cublas::open(Gpu& /*gpu*/, const std::string& library) {
  const auto opened = toolchain::DynamicLibrary::open(library);
  if (!opened) {
    return fail(not_available(opened.error()));
  }
  std::unique_ptr<Cublas> cublas(new Cublas());
  Functions& f = *cublas->functions_;
  const auto bind_all = [&]() -> Status {
    TW_TRY_STATUS(opened->bind("cublasCreate_v2", f.create));
    TW_TRY_STATUS(opened->bind("cublasDestroy_v2", f.destroy));
    TW_TRY_STATUS(opened->bind("cublasGetVersion_v2", f.version));
    TW_TRY_STATUS(opened->bind("cublasSetStream_v2", f.set_stream));
    TW_TRY_STATUS(opened->bind("cublasGetStatusName", f.status_name));
    TW_TRY_STATUS(opened->bind("cublasGemmEx", f.gemm));
    return {};
  };
  if (auto bound = bind_all(); !bound) {
    return fail(not_available(std::move(bound).error()));
  }
  TW_TRY_STATUS(cublas->check(f.create(&cublas->handle_), "starting cuBLAS"));
  TW_TRY_STATUS(cublas->check(f.version(cublas->handle_, &cublas->version_), "reading the version of cuBLAS"));
  return cublas;
}

Cublas::Cublas() : functions_(std::make_unique<Functions>()) {}

Cublas::~Cublas() {
  if (handle_ != nullptr) {
    functions_->destroy(handle_);
  }
}

RunResult<void> Cublas::check(int32_t status, const char* what) const {
  if (status == 0) {
    return {};
  }
  const char* name = functions_->status_name(status);
  return fail(RunError{RunErrorKind::Driver, cuda::kSuccess,
                       Error{fmt::format("{}: {}", what, name != nullptr ? name : "unknown status"), {}}});
}

RunResult<void> Cublas::enqueue(const GemmCall& call, cuda::Stream stream) {
  const auto input = data_type(call.input);
  const auto output = data_type(call.output);
  if (!input || !output || call.m <= 0 || call.n <= 0 || call.k <= 0) {
    return fail(RunError{RunErrorKind::BadLaunch, cuda::kSuccess,
                         Error{"cuBLAS is called for no product it has: element types or extents", {}}});
  }
  TW_TRY_STATUS(check(functions_->set_stream(handle_, stream), "setting the stream of cuBLAS"));
  const float one = 1;
  const float zero = 0;
  // cuBLAS counts columns first, so it sees every matrix of ours transposed: it is asked for d^T = b^T * a^T.
  const auto as_pointer = [](cuda::DevicePointer address) { return reinterpret_cast<void*>(address); };
  const int32_t status = functions_->gemm(
      handle_, call.is_b_transposed ? kTranspose : kKeep, call.is_a_transposed ? kTranspose : kKeep, call.n, call.m,
      call.k, &one, as_pointer(call.b), *input, call.is_b_transposed ? call.k : call.n, as_pointer(call.a), *input,
      call.is_a_transposed ? call.m : call.k, &zero, as_pointer(call.d), *output, call.n,
      call.input == ElementType::Tf32 ? kComputeTf32 : kComputeF32, kDefaultAlgorithm);
  return check(status, "calling cuBLAS");
}

}  // namespace tw::runner

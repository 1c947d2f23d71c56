// SPDX-License-Identifier: Apache-2.0
#include "toolchain/nvrtc.h"

#include <algorithm>
#include <fmt/format.h>

#include "os/clock.h"
#include "os/files.h"
#include "toolchain/library_search.h"

namespace tw::toolchain {

// The few declarations of nvrtc.h that we use; the header is not needed to build.
struct NvrtcProgram;
using NvrtcStatus = int;
constexpr NvrtcStatus kNvrtcSuccess = 0;
constexpr NvrtcStatus kNvrtcOutOfMemory = 1;
constexpr NvrtcStatus kNvrtcInvalidOption = 5;
constexpr NvrtcStatus kNvrtcCompilation = 6;
constexpr NvrtcStatus kNvrtcBuiltinOperation = 7;

struct Nvrtc::Functions {
  NvrtcStatus (*version)(int*, int*);
  const char* (*error_string)(NvrtcStatus);
  NvrtcStatus (*arch_count)(int*);
  NvrtcStatus (*archs)(int*);
  NvrtcStatus (*create)(NvrtcProgram**, const char*, const char*, int, const char* const*, const char* const*);
  NvrtcStatus (*destroy)(NvrtcProgram**);
  NvrtcStatus (*compile)(NvrtcProgram*, int, const char* const*);
  NvrtcStatus (*log_size)(NvrtcProgram*, size_t*);
  NvrtcStatus (*log)(NvrtcProgram*, char*);
  NvrtcStatus (*cubin_size)(NvrtcProgram*, size_t*);
  NvrtcStatus (*cubin)(NvrtcProgram*, char*);
  NvrtcStatus (*ptx_size)(NvrtcProgram*, size_t*);
  NvrtcStatus (*ptx)(NvrtcProgram*, char*);
};

namespace {

LibraryRequest library_request() {
  return {
      "NVRTC, NVIDIA's run-time compiler,", "TILEWRIGHT_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}};
}

// Size and contents by a pair of functions, as NVRTC gives all its texts.
template <class SizeOf, class Get>
std::string read_bytes(NvrtcProgram* program, SizeOf size_of, Get get) {
  size_t size = 0;
  if (size_of(program, &size) != kNvrtcSuccess || size == 0) {
    return {};
  }
  std::string bytes(size, '\0');
  if (get(program, bytes.data()) != kNvrtcSuccess) {
    return {};
  }
  return bytes;
}

void drop_final_zero(std::string& text) {
  if (!text.empty() && text.back() == '\0') {
    text.pop_back();
  }
}

CompileFailure make_failure(CompileFailureKind kind, std::string message) {
  return {kind, Error{std::move(message), {}}, {}, {}};
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  return library_candidates(library_request());
}

Result<Nvrtc> Nvrtc::find() {
  return find_library(library_request(), &Nvrtc::open);
}

Result<Nvrtc> Nvrtc::open(const std::string& library) {
  TW_TRY(DynamicLibrary opened, DynamicLibrary::open(library));
  Nvrtc nvrtc(std::move(opened));
  auto functions = std::make_shared<Functions>();
  const DynamicLibrary& from = nvrtc.library_;
  TW_TRY_STATUS(from.bind("nvrtcVersion", functions->version));
  TW_TRY_STATUS(from.bind("nvrtcGetErrorString", functions->error_string));
  TW_TRY_STATUS(from.bind("nvrtcGetNumSupportedArchs", functions->arch_count));
  TW_TRY_STATUS(from.bind("nvrtcGetSupportedArchs", functions->archs));
  TW_TRY_STATUS(from.bind("nvrtcCreateProgram", functions->create));
  TW_TRY_STATUS(from.bind("nvrtcDestroyProgram", functions->destroy));
  TW_TRY_STATUS(from.bind("nvrtcCompileProgram", functions->compile));
  TW_TRY_STATUS(from.bind("nvrtcGetProgramLogSize", functions->log_size));
  TW_TRY_STATUS(from.bind("nvrtcGetProgramLog", functions->log));
  TW_TRY_STATUS(from.bind("nvrtcGetCUBINSize", functions->cubin_size));
  TW_TRY_STATUS(from.bind("nvrtcGetCUBIN", functions->cubin));
  TW_TRY_STATUS(from.bind("nvrtcGetPTXSize", functions->ptx_size));
  TW_TRY_STATUS(from.bind("nvrtcGetPTX", functions->ptx));
  if (functions->version(&nvrtc.version_major_, &nvrtc.version_minor_) != kNvrtcSuccess) {
    return fail(fmt::format("`{}` does not tell its version", from.path()));
  }
  // NVRTC opens its second library by name alone, which the loader finds only where a toolkit is installed for all. A
  // library that is loaded already is found by its name too. Where it does not lie beside, the loader searches as ever.
  static_cast<void>(DynamicLibrary::open(
      os::join_path(os::parent_path(from.path()),
                    fmt::format("libnvrtc-builtins.so.{}.{}", nvrtc.version_major_, nvrtc.version_minor_))));
  TW_TRY(nvrtc.identity_, file_identity(from.path()));
  nvrtc.functions_ = std::move(functions);
  return nvrtc;
}

std::string Nvrtc::version_text() const {
  return fmt::format("nvrtc {}.{}", version_major_, version_minor_);
}

std::vector<int> Nvrtc::supported_archs() const {
  int count = 0;
  if (functions_->arch_count(&count) != kNvrtcSuccess || count <= 0) {
    return {};
  }
  std::vector<int> archs(static_cast<size_t>(count));
  if (functions_->archs(archs.data()) != kNvrtcSuccess) {
    return {};
  }
  return archs;
}

std::vector<std::string> Nvrtc::arguments(const CompileOptions& options) {
  std::vector<std::string> arguments;
  arguments.push_back("--gpu-architecture=" +
                      (options.output == Output::Cubin ? options.arch : virtual_arch(options.arch)));
  arguments.emplace_back("--std=c++17");
  if (options.output == Output::Cubin) {
    arguments.emplace_back("--ptxas-options=-v");
    arguments.emplace_back("--ptxas-options=--warn-on-spills");
  }
  if (options.max_registers > 0) {
    arguments.push_back(fmt::format("--maxrregcount={}", options.max_registers));
  }
  if (options.has_line_info) {
    arguments.emplace_back("-lineinfo");
  }
  for (const std::string& define : options.defines) {
    arguments.push_back("--define-macro=" + define);
  }
  for (const std::string& folder : options.include_dirs) {
    arguments.push_back("--include-path=" + folder);
  }
  arguments.insert(arguments.end(), options.extra_options.begin(), options.extra_options.end());
  return arguments;
}

CompileResult Nvrtc::compile(std::string_view source, const CompileOptions& options) const {
  if (source.find('\0') != std::string_view::npos) {
    return fail(make_failure(CompileFailureKind::Rejected, "the source contains a zero byte"));
  }
  const os::Stopwatch stopwatch;
  const std::string source_text(source);
  NvrtcProgram* program = nullptr;
  const NvrtcStatus created =
      functions_->create(&program, source_text.c_str(), options.file_name.c_str(), 0, nullptr, nullptr);
  if (created != kNvrtcSuccess) {
    return fail(
        make_failure(created == kNvrtcOutOfMemory ? CompileFailureKind::Environment : CompileFailureKind::Internal,
                     fmt::format("{} could not start: {}", version_text(), functions_->error_string(created))));
  }
  struct Destroyer {
    const Functions& functions;
    NvrtcProgram*& program;
    ~Destroyer() { functions.destroy(&program); }
  } destroyer{*functions_, program};

  const std::vector<std::string> texts = arguments(options);
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) {
    pointers.push_back(text.c_str());
  }
  const NvrtcStatus status = functions_->compile(program, static_cast<int>(pointers.size()), pointers.data());
  std::string log = read_bytes(program, functions_->log_size, functions_->log);
  // The front end's part and the parts of ptxas each end with a zero byte.
  std::erase(log, '\0');
  if (status != kNvrtcSuccess) {
    CompileFailure failure;
    failure.messages = errors_first(parse_compiler_log(log));
    failure.log = std::move(log);
    const bool is_arch_unknown =
        status == kNvrtcInvalidOption && failure.log.find("gpu-architecture") != std::string::npos;
    if (status == kNvrtcCompilation) {
      failure.kind = CompileFailureKind::Rejected;
    } else if (is_arch_unknown || status == kNvrtcOutOfMemory || status == kNvrtcBuiltinOperation) {
      failure.kind = CompileFailureKind::Environment;
    }
    failure.error.message = is_arch_unknown
                                ? fmt::format("{} cannot compile for `{}`", version_text(), options.arch)
                                : fmt::format("{}: {}", version_text(),
                                              failure.messages.empty() ? functions_->error_string(status)
                                                                       : failure.messages.front().text.c_str());
    locate_in_source(source, options, failure.messages);
    return fail(std::move(failure));
  }

  CompiledKernel kernel;
  kernel.output = options.output;
  kernel.arch = options.arch;
  kernel.compiler = version_text();
  if (options.output == Output::Cubin) {
    kernel.image = read_bytes(program, functions_->cubin_size, functions_->cubin);
    auto resources = read_resources(log, kernel.image);
    if (!resources) {
      CompileFailure failure =
          make_failure(CompileFailureKind::Internal, fmt::format("{}: no resource report", version_text()));
      failure.error.causes.push_back(resources.error().message);
      failure.log = std::move(log);
      return fail(std::move(failure));
    }
    kernel.resources = *std::move(resources);
  } else {
    kernel.image = read_bytes(program, functions_->ptx_size, functions_->ptx);
    drop_final_zero(kernel.image);
  }
  kernel.messages = parse_compiler_log(log);
  kernel.log = std::move(log);
  kernel.time_ms = stopwatch.elapsed_ms();
  return kernel;
}

void Nvrtc::locate_in_source(std::string_view source, const CompileOptions& options,
                             std::vector<CompilerMessage>& messages) const {
  const bool has_ptx_place =
      std::any_of(messages.begin(), messages.end(), [](const CompilerMessage& m) { return m.ptx_line > 0; });
  if (!has_ptx_place || options.output == Output::Ptx) {
    return;
  }
  if (!options.has_line_info) {
    // The PTX has no lines of ours: only one made with them can tell, and its own lines are numbered differently.
    CompileOptions with_lines = options;
    with_lines.has_line_info = true;
    if (auto again = compile(source, with_lines); !again) {
      messages = std::move(again).error().messages;
    }
    return;
  }
  CompileOptions as_ptx = options;
  as_ptx.output = Output::Ptx;
  if (auto ptx = compile(source, as_ptx)) {
    locate_ptxas_messages(messages, ptx->image);
  }
}

}  // namespace tw::toolchain

// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/emit.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "targets/cuda/emitter.h"
#include "targets/cuda/prelude.h"

namespace tw::targets::cuda {

Emitter::Emitter(const ir::Function& function, const EmitOptions& options)
    : function_(function),
      options_(options),
      plan_(codegen::plan_launch(function)),
      facts_(function),
      registers_(function),
      wide_(function.wide_exprs.begin(), function.wide_exprs.end()) {
  declared_.emplace_back();
  // Names that the kernel's text already has a meaning for.
  for (const char* word :
       {"thread", "tw_shared", "tw_smem", "q",       "i",         "j",        "k_",        "m_",        "n_",
        "int",    "float",     "double",  "long",    "short",     "char",     "bool",      "unsigned",  "signed",
        "void",   "for",       "while",   "do",      "if",        "else",     "switch",    "case",      "default",
        "break",  "continue",  "return",  "const",   "auto",      "static",   "struct",    "class",     "union",
        "enum",   "new",       "delete",  "this",    "template",  "typename", "using",     "namespace", "operator",
        "true",   "false",     "asm",     "min",     "max",       "sizeof",   "register",  "volatile",  "inline",
        "extern", "goto",      "public",  "private", "protected", "friend",   "virtual",   "try",       "catch",
        "throw",  "and",       "or",      "not",     "xor",       "blockIdx", "threadIdx", "gridDim",   "blockDim",
        "i0",     "i1",        "i2",      "i3",      "i4",        "i5",       "i6",        "i7",        "i8",
        "i9",     "expf",      "exp",     "log",     "erf",       "tanh",     "dim3",      "warpSize"}) {
    names_.insert(word);
  }
  if (!names_.insert(function.name).second) {
    failure_ = "the kernel's name `" + function.name + "` means something else there";
  }
  for (codegen::LaunchParameter& parameter : plan_.parameters) {
    parameter.name = unique(parameter.name);
    if (parameter.symbol.is_valid()) {
      symbol_names_[parameter.symbol] = parameter.name;
    }
  }
}

Result<Emitter::Sections> Emitter::sections() {
  emit_block(function_.body);
  if (!failure_.empty()) {
    return fail("cannot be written in CUDA: " + failure_);
  }
  Sections out;
  out.header = header_text();
  out.helpers = helpers_;
  out.mma_functions.insert(mma_functions_.begin(), mma_functions_.end());
  const std::string bounds = function_.min_blocks > 0 ? fmt::format("{}, {}", function_.threads, function_.min_blocks)
                                                      : std::to_string(function_.threads);
  std::string& kernel = out.kernel;
  kernel = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", bounds, function_.name,
                       signature(true));
  if (body_.find("tw_shared") != std::string::npos || body_.find("tw_smem") != std::string::npos) {
    kernel += "  extern __shared__ __align__(1024) unsigned char tw_shared[];\n";
  }
  if (body_.find("tw_smem") != std::string::npos) {
    kernel += "  const unsigned tw_smem = (unsigned)__cvta_generic_to_shared(tw_shared);\n";
  }
  kernel += "  const int thread = (int)threadIdx.x;\n";
  for (const auto& [declaration, text] : hoisted_) {
    kernel += fmt::format("  {} = {};\n", declaration, text);
  }
  kernel += body_ + "}\n";
  out.launcher = launcher_text();
  return out;
}

namespace {

// Kernels that share a file share helpers; each keeps its own header and launcher.
std::string join(const std::vector<Emitter::Sections>& kernels, const EmitOptions& options,
                 const std::string& dispatcher) {
  std::string out;
  std::set<std::string> helpers;
  std::map<std::string, std::string> mma_functions;
  for (const Emitter::Sections& kernel : kernels) {
    out += kernel.header;
    helpers.insert(kernel.helpers.begin(), kernel.helpers.end());
    mma_functions.insert(kernel.mma_functions.begin(), kernel.mma_functions.end());
  }
  out += "\n";
  const std::string text = helper_text(helpers);
  out += text.empty() ? "" : text + "\n";
  for (const auto& [name, function] : mma_functions) {
    out += function + "\n";
  }
  for (const Emitter::Sections& kernel : kernels) {
    out += kernel.kernel;
  }
  if (!options.has_launcher) {
    return out;
  }
  out += "\n" + Emitter::host_prelude();
  for (const Emitter::Sections& kernel : kernels) {
    out += "\n" + kernel.launcher;
  }
  return out + dispatcher + "#endif  // __CUDACC_RTC__\n";
}

}  // namespace

Result<std::string> emit(const ir::Function& function, const EmitOptions& options) {
  TW_TRY_STATUS(codegen::check_ready(function));
  TW_TRY(Emitter::Sections kernel, Emitter(function, options).sections());
  return join({std::move(kernel)}, options, "");
}

Result<std::string> emit_with_fallback(const ir::Function& fast, const ir::Function& general,
                                       const EmitOptions& options) {
  TW_TRY_STATUS(codegen::check_ready(fast));
  TW_TRY_STATUS(codegen::check_ready(general));
  Emitter first(fast, options);
  TW_TRY(Emitter::Sections fast_sections, first.sections());
  TW_TRY(Emitter::Sections general_sections, Emitter(general, options).sections());
  return join({std::move(fast_sections), std::move(general_sections)}, options,
              "\n" + first.dispatcher_text(general.name));
}

}  // namespace tw::targets::cuda

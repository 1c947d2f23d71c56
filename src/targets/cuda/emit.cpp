// SPDX-License-Identifier: Apache-2.0
#include "targets/cuda/emit.h"

#include <fmt/format.h>

#include <algorithm>

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
       {"thread", "tw_shared", "tw_smem", "q", "i", "j", "k_", "m_", "n_", "int", "float", "double", "long", "short", "char", "bool",
        "unsigned", "signed", "void", "for", "while", "do", "if", "else", "switch", "case", "default", "break", "continue", "return",
        "const", "auto", "static", "struct", "class", "union", "enum", "new", "delete", "this", "template", "typename", "using",
        "namespace", "operator", "true", "false", "asm", "min", "max", "sizeof", "register", "volatile", "inline", "extern", "goto",
        "public", "private", "protected", "friend", "virtual", "try", "catch", "throw", "and", "or", "not", "xor", "blockIdx",
        "threadIdx", "gridDim", "blockDim", "i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9", "expf", "exp", "log", "erf",
        "tanh", "dim3", "warpSize"}) {
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

Result<std::string> Emitter::run() {
  emit_block(function_.body);
  if (!failure_.empty()) {
    return fail("cannot be written in CUDA: " + failure_);
  }
  std::string out = header_text();
  out += "\n";
  const std::string helpers = helper_text(helpers_);
  if (!helpers.empty()) {
    out += helpers + "\n";
  }
  for (const auto& [name, text] : mma_functions_) {
    out += text + "\n";
  }
  const std::string bounds = function_.min_blocks > 0 ? fmt::format("{}, {}", function_.threads, function_.min_blocks)
                                                      : std::to_string(function_.threads);
  out += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", bounds, function_.name, signature(true));
  if (body_.find("tw_shared") != std::string::npos || body_.find("tw_smem") != std::string::npos) {
    out += "  extern __shared__ __align__(1024) unsigned char tw_shared[];\n";
  }
  if (body_.find("tw_smem") != std::string::npos) {
    out += "  const unsigned tw_smem = (unsigned)__cvta_generic_to_shared(tw_shared);\n";
  }
  out += "  const int thread = (int)threadIdx.x;\n";
  for (const auto& [declaration, text] : hoisted_) {
    out += fmt::format("  {} = {};\n", declaration, text);
  }
  out += body_;
  out += "}\n";
  if (options_.has_launcher) {
    out += "\n" + host_text();
  }
  return out;
}

Result<std::string> emit(const ir::Function& function, const EmitOptions& options) {
  TW_TRY_STATUS(codegen::check_ready(function));
  return Emitter(function, options).run();
}

}  // namespace tw::targets::cuda

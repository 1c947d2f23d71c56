// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "targets/cuda/emitter.h"

namespace tw::targets::cuda {
namespace {

using codegen::LaunchParameter;
using codegen::Precondition;

std::string parameter_type(const LaunchParameter& parameter) {
  if (parameter.kind == LaunchParameter::Kind::Pointer) {
    return fmt::format("{}{}*", parameter.is_const ? "const " : "", memory_type(parameter.element));
  }
  return parameter.kind == LaunchParameter::Kind::Size ? "int" : memory_type(parameter.element);
}

}  // namespace

// Scalar expressions on the host, in 64 bits throughout.
std::string Emitter::host_expression(ir::ExprId id) const {
  using ir::ExprKind;
  const ir::ExprPool& exprs = function_.exprs;
  const ir::ExprNode& node = exprs.node(id);
  auto x = [&](int i) { return host_expression(node.operands[i]); };
  auto infix = [&](const char* op) { return fmt::format("({} {} {})", x(0), op, x(1)); };
  auto call = [&](const char* name) { return fmt::format("{}({}, {})", name, x(0), x(1)); };
  switch (node.kind) {
    case ExprKind::Const:
      return fmt::format("{}LL", node.value);
    case ExprKind::Symbol: {
      const auto name = symbol_names_.find(node.symbol);
      return fmt::format("(long long){}", name == symbol_names_.end() ? exprs.symbol(node.symbol).name : name->second);
    }
    case ExprKind::Add:
      return infix("+");
    case ExprKind::Sub:
      return infix("-");
    case ExprKind::Mul:
      return infix("*");
    case ExprKind::FloorDiv:
      return call("tw_host_floor_div");
    case ExprKind::Mod:
      return fmt::format("({} - tw_host_floor_div({}, {}) * {})", x(0), x(0), x(1), x(1));
    case ExprKind::CeilDiv:
      return fmt::format("-tw_host_floor_div(-{}, {})", x(0), x(1));
    case ExprKind::Min:
      return fmt::format("({0} < {1} ? {0} : {1})", x(0), x(1));
    case ExprKind::Max:
      return fmt::format("({0} > {1} ? {0} : {1})", x(0), x(1));
    case ExprKind::Eq:
      return infix("==");
    case ExprKind::Ne:
      return infix("!=");
    case ExprKind::Lt:
      return infix("<");
    case ExprKind::Le:
      return infix("<=");
    case ExprKind::And:
      return infix("&&");
    case ExprKind::Or:
      return infix("||");
    case ExprKind::Not:
      return fmt::format("!({})", x(0));
    case ExprKind::Select:
      return fmt::format("({} ? {} : {})", x(0), x(1), x(2));
  }
  return "0";
}

// Bytes of a tensor that the kernel may touch: 1 + the largest linear offset.
std::string Emitter::host_span(ir::TensorId id) const {
  const ir::Tensor& tensor = function_.tensor(id);
  std::string elements = "1LL";
  std::string empty;
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    const std::string extent = host_expression(tensor.extents[i]);
    elements += fmt::format(" + ({} - 1) * {}", extent, host_expression(tensor.strides[i]));
    empty += fmt::format("{}{} <= 0", empty.empty() ? "" : " || ", extent);
  }
  return empty.empty() ? fmt::format("({}) * {}", elements, size_bytes(tensor.element))
                       : fmt::format("({}) ? 0 : ({}) * {}", empty, elements, size_bytes(tensor.element));
}

std::string Emitter::signature(bool is_device) const {
  std::string out;
  for (const LaunchParameter& parameter : plan_.parameters) {
    const bool is_pointer = parameter.kind == LaunchParameter::Kind::Pointer;
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", parameter_type(parameter),
                       is_pointer && is_device ? "__restrict__ " : "", parameter.name);
  }
  return out;
}

std::string Emitter::header_text() const {
  std::string out =
      fmt::format("// {}: compiled from a tile program for {}.\n", function_.name, function_.machine->name);
  if (!function_.constants.empty()) {
    out += "// Configuration:";
    for (const auto& [name, value] : function_.constants) {
      out += fmt::format(" {}={}", name, value);
    }
    out += "\n";
  }
  out += fmt::format("// Launch: {} threads a block, {} bytes of dynamic shared memory, one-dimensional grid",
                     plan_.threads, plan_.shared_bytes);
  for (const auto& space : plan_.spaces) {
    std::string points;
    for (ir::ExprId extent : space.extents) {
      points += fmt::format("{}{}", points.empty() ? "" : " * ", function_.exprs.to_string(extent));
    }
    out += space.is_persistent ? fmt::format("\n// of min({}, {}) blocks", points, plan_.persistent_blocks)
                               : fmt::format("\n// of {} blocks", points);
  }
  out += ".\n// Preconditions:\n";
  for (const Precondition& precondition : plan_.preconditions) {
    out += fmt::format("//   {}{}\n", precondition.text,
                       precondition.kind == Precondition::Kind::Finite ? " (not checked by the launcher)" : "");
  }
  return out;
}

std::string Emitter::host_prelude() {
  return "#ifndef __CUDACC_RTC__\n"
         "#include <cstdint>\n"
         "#include <cuda_runtime.h>\n"
         "\n"
         "static long long tw_host_floor_div(long long a, long long b) {\n"
         "  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);\n"
         "}\n";
}

// Sizes alone decide which kernel serves a call; what else does not hold is the chosen launcher's to say.
std::string Emitter::dispatcher_text(const std::string& general) const {
  std::string condition;
  for (const Precondition& precondition : plan_.preconditions) {
    if (precondition.kind == Precondition::Kind::Condition) {
      condition += fmt::format("{}{}", condition.empty() ? "" : " && ", host_expression(precondition.condition));
    }
  }
  std::string arguments;
  for (const LaunchParameter& parameter : plan_.parameters) {
    arguments += parameter.name + ", ";
  }
  return fmt::format(
      "// `{0}` where its assumptions hold, `{1}` for every other size.\n"
      "extern \"C\" cudaError_t {0}_dispatch({2}{3}cudaStream_t tw_stream, const char** tw_why) {{\n"
      "  if ({4}) return {0}_launch({5}tw_stream, tw_why);\n"
      "  return {1}_launch({5}tw_stream, tw_why);\n"
      "}}\n",
      function_.name, general, signature(false), plan_.parameters.empty() ? "" : ", ",
      condition.empty() ? "true" : condition, arguments);
}

std::string Emitter::launcher_text() {
  const std::string& name = function_.name;
  std::string out;
  auto add = [&](const std::string& text) { out += text + "\n"; };
  add("// Checks the preconditions and launches. Returns cudaErrorInvalidValue and says why in *tw_why (if given) when "
      "one does not");
  add("// hold; other errors come from the run-time. Asynchronous on `tw_stream`.");
  add(fmt::format("extern \"C\" cudaError_t {}_launch({}{}cudaStream_t tw_stream, const char** tw_why) {{", name,
                  signature(false), plan_.parameters.empty() ? "" : ", "));
  add("  (void)tw_host_floor_div;");
  add("  const char* tw_unused = nullptr;");
  add("  if (tw_why == nullptr) tw_why = &tw_unused;");
  auto require = [&](const std::string& condition, const std::string& text) {
    std::string escaped;
    for (char c : text) {
      escaped += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    add(fmt::format("  if (!({})) {{\n    *tw_why = \"{}\";\n    return cudaErrorInvalidValue;\n  }}", condition,
                    escaped));
  };
  for (const LaunchParameter& parameter : plan_.parameters) {
    if (parameter.kind == LaunchParameter::Kind::Size) {
      require(fmt::format("{} >= 0", parameter.name), fmt::format("`{}` is not negative", parameter.name));
    }
  }
  for (const Precondition& precondition : plan_.preconditions) {
    if (precondition.kind == Precondition::Kind::Condition) {
      require(host_expression(precondition.condition), precondition.text);
    } else if (precondition.kind == Precondition::Kind::Aligned) {
      require(fmt::format("reinterpret_cast<std::uintptr_t>({}) % 16 == 0", tensor_name(precondition.tensor)),
              precondition.text);
    } else if (precondition.kind == Precondition::Kind::Disjoint) {
      const ir::TensorId own = precondition.tensor;
      for (uint32_t i = 0; i < function_.tensors.size(); ++i) {
        const ir::TensorId other(i);
        // Each pair once.
        if (other == own || (function_.tensor(other).direction != ir::Direction::In && other < own)) {
          continue;
        }
        add("  {");
        add(
            fmt::format("    const std::uintptr_t tw_a = reinterpret_cast<std::uintptr_t>({}), tw_b = "
                        "reinterpret_cast<std::uintptr_t>({});",
                        tensor_name(own), tensor_name(other)));
        add(fmt::format("    const long long tw_na = {}, tw_nb = {};", host_span(own), host_span(other)));
        add("    if (tw_a < tw_b + tw_nb && tw_b < tw_a + tw_na) {");
        add(fmt::format("      *tw_why = \"`{}` and `{}` share no memory\";", tensor_name(own), tensor_name(other)));
        add("      return cudaErrorInvalidValue;\n    }\n  }");
      }
    }
  }
  add(plan_.spaces.empty() ? "  long long tw_grid = 1;" : "  long long tw_grid = 0;");
  for (const auto& space : plan_.spaces) {
    add("  {");
    add("    long long tw_points = 1;");
    for (ir::ExprId extent : space.extents) {
      add(fmt::format("    {{\n      const long long tw_n = {};\n      tw_points = tw_n <= 0 ? 0 : tw_points * tw_n;",
                      host_expression(extent)));
      add("      if (tw_points > 2147483647LL) {\n        *tw_why = \"at most 2^31 - 1 tiles\";\n        return "
          "cudaErrorInvalidValue;\n      }\n    }");
    }
    if (space.is_persistent) {
      add(fmt::format("    if (tw_points > {0}) tw_points = {0};", plan_.persistent_blocks));
    }
    add("    if (tw_points > tw_grid) tw_grid = tw_points;");
    add("  }");
  }
  add("  if (tw_grid == 0) return cudaSuccess;");
  if (plan_.shared_bytes > 0) {
    add(fmt::format(
        "  const cudaError_t tw_status = cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});",
        name, plan_.shared_bytes));
    add("  if (tw_status != cudaSuccess) {\n    *tw_why = \"the device does not have the shared memory\";\n    return "
        "tw_status;\n  }");
  }
  std::string arguments;
  for (const LaunchParameter& parameter : plan_.parameters) {
    arguments += (arguments.empty() ? "" : ", ") + parameter.name;
  }
  add(fmt::format("  {}<<<dim3(static_cast<unsigned>(tw_grid)), dim3({}), {}, tw_stream>>>({});", name, plan_.threads,
                  plan_.shared_bytes, arguments));
  add("  return cudaGetLastError();");
  add("}");
  return out;
}

}  // namespace tw::targets::cuda

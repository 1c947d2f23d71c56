// SPDX-License-Identifier: Apache-2.0
#include "agent/candidate.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "codegen/launch.h"
#include "diag/render.h"
#include "targets/cuda/emit.h"
#include "toolchain/report.h"

namespace tw::agent {
namespace {

constexpr size_t kDiagnosticBytes = 1500;

// Is one conjunct true for all shapes of the domain? Decided for bounds and divisibility of single sizes; else no.
bool follows(const ir::ExprPool& exprs, ir::ExprId condition, const std::map<std::string, spec::SizeRange>& ranges) {
  const ir::ExprNode& node = exprs.node(condition);
  auto range_of = [&](ir::ExprId expr) -> const spec::SizeRange* {
    const ir::ExprNode& symbol = exprs.node(expr);
    if (symbol.kind != ir::ExprKind::Symbol) {
      return nullptr;
    }
    auto found = ranges.find(exprs.symbol(symbol.symbol).name);
    return found == ranges.end() ? nullptr : &found->second;
  };
  if (auto value = exprs.constant_value(condition)) {
    return *value != 0;
  }
  if (node.kind == ir::ExprKind::And) {
    return follows(exprs, node.operands[0], ranges) && follows(exprs, node.operands[1], ranges);
  }
  if (node.kind == ir::ExprKind::Le || node.kind == ir::ExprKind::Lt) {
    const int64_t strict = node.kind == ir::ExprKind::Lt ? 1 : 0;
    auto low = exprs.constant_value(node.operands[0]);
    auto high = exprs.constant_value(node.operands[1]);
    if (const spec::SizeRange* range = range_of(node.operands[1]); range != nullptr && low) {
      return range->min >= *low + strict;
    }
    if (const spec::SizeRange* range = range_of(node.operands[0]); range != nullptr && high) {
      return range->max <= *high - strict;
    }
    return false;
  }
  if (node.kind == ir::ExprKind::Eq) {
    for (int side = 0; side < 2; ++side) {
      const ir::ExprNode& mod = exprs.node(node.operands[side]);
      auto divisor = mod.kind == ir::ExprKind::Mod ? exprs.constant_value(mod.operands[1]) : std::nullopt;
      if (divisor && *divisor > 0 && exprs.is_constant(node.operands[1 - side], 0)) {
        const spec::SizeRange* range = range_of(mod.operands[0]);
        return range != nullptr && range->multiple_of % *divisor == 0;
      }
    }
  }
  return false;
}

std::string text_of(const driver::Session& session) {
  diag::LlmOptions options;
  options.budget_bytes = kDiagnosticBytes;
  std::vector<diag::Diagnostic> errors;
  for (const diag::Diagnostic& d : session.sink.diagnostics()) {
    if (d.severity != diag::Severity::Remark) {
      errors.push_back(d);
    }
  }
  return errors.empty() ? std::string() : diag::render_llm(errors, session.sources, options);
}

}  // namespace

std::vector<std::string> assumptions_beyond(const ir::Function& kernel, const task::Task& task) {
  std::map<std::string, spec::SizeRange> ranges;
  for (size_t d = 0; d < task.computation.dims.size(); ++d) {
    ranges[task.computation.dims[d].name] = task.domain.ranges[d];
  }
  std::vector<std::string> out;
  for (const ir::Assumption& assumption : kernel.assumptions) {
    // A task's inputs are real numbers: finiteness is given.
    if (assumption.condition.is_valid() && !follows(kernel.exprs, assumption.condition, ranges)) {
      out.push_back(kernel.exprs.to_string(assumption.condition));
    }
  }
  return out;
}

CheckOutcome check_candidate(const std::string& text, const task::Task& task, const std::string& target,
                             Evidence evidence) {
  CheckOutcome out;
  driver::Session session;
  auto kernels = driver::compile(session, {"kernel.tw.py", text, target, {}, true});
  if (!kernels) {
    out.verdict = "rejected";
    out.diagnostics = text_of(session);
    for (const diag::Diagnostic& d : session.sink.diagnostics()) {
      out.places.push_back(d.primary);
    }
    return out;
  }
  out.kernel = std::move(kernels->front());
  out.ir_hash = out.kernel->ir_hash;
  verify::Options options;
  options.task = &task.computation;
  options.replay = evidence == Evidence::Witness;
  out.report = verify::check(out.kernel->source, out.kernel->lowered, options, session.sink);
  out.verdict = verify::name_of(out.report->verdict);
  out.scope = out.report->scope;
  out.diagnostics = text_of(session);
  out.narrowing = assumptions_beyond(out.kernel->lowered, task);
  for (const verify::Obligation& o : out.report->obligations) {
    if (o.verdict == verify::Verdict::Proved) {
      continue;
    }
    out.places.push_back(o.span);
    if (o.counterexample) {
      for (const verify::ProgramPoint& point : o.counterexample->points) {
        out.places.push_back(point.span);
      }
      if (out.counterexample.empty() && o.verdict == verify::Verdict::Refuted) {
        out.counterexample = json::write(verify::to_json(*o.counterexample, session.sources), 2);
      }
    }
  }
  return out;
}

json::Value CheckOutcome::to_json(const std::string& candidate) const {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  if (report) {
    for (const verify::Obligation& o : report->obligations) {
      ++counts[{o.kind, std::string(verify::name_of(o.verdict))}];
    }
  }
  json::Array obligations;
  for (const auto& [key, count] : counts) {
    obligations.push_back(json::Object{{"kind", key.first}, {"verdict", key.second}, {"count", count}});
  }
  json::Array beyond;
  for (const std::string& condition : narrowing) {
    beyond.push_back(condition);
  }
  return json::Object{{"candidate", candidate},
                      {"verdict", verdict},
                      {"scope", verify::name_of(scope)},
                      {"ir_hash", ir_hash},
                      {"obligations", std::move(obligations)},
                      {"assumes", std::move(beyond)},
                      {"diagnostics", diagnostics}};
}

BuildOutcome build_candidate(const driver::CompiledKernel& kernel, toolchain::CudaCompiler* compiler) {
  BuildOutcome out;
  auto source = targets::cuda::emit(kernel.lowered, {nullptr, true});
  if (!source) {
    out.error = source.error().message;
    return out;
  }
  out.source = *std::move(source);
  if (compiler == nullptr) {
    out.is_ok = true;
    out.compiler = "none on this machine";
    return out;
  }
  toolchain::CompileOptions options;
  options.arch = kernel.lowered.machine->arch;
  auto compiled = compiler->compile(out.source, options);
  if (!compiled) {
    out.error = compiled.error().error.message;
    for (const toolchain::CompilerMessage& message : compiled.error().messages) {
      out.error += "; " + message.text;
      break;
    }
    return out;
  }
  out.compiler = compiled->compiler;
  if (const toolchain::ResourceReport* resources = compiled->find_resources(kernel.lowered.name)) {
    out.resources = *resources;
    const auto violations = toolchain::check_resources(*resources, *kernel.lowered.machine, kernel.lowered.threads,
                                                       kernel.lowered.shared_bytes);
    if (!violations.empty()) {
      out.error = fmt::format("{}: {} needed, {} there", violations.front().resource, violations.front().needed,
                              violations.front().available);
      return out;
    }
    if (kernel.lowered.no_spills && resources->has_spills()) {
      out.error = fmt::format("{} bytes of registers spill, which the program forbids", resources->spill_store_bytes);
      return out;
    }
  }
  out.is_ok = true;
  return out;
}

json::Value BuildOutcome::to_json(const std::string& candidate, int64_t shared_bytes) const {
  json::Object out{{"candidate", candidate}, {"ok", is_ok}, {"compiler", compiler}, {"shared_bytes", shared_bytes}};
  if (resources) {
    out.set("registers", resources->registers);
    out.set("spill_bytes", resources->spill_store_bytes + resources->spill_load_bytes);
  }
  if (!error.empty()) {
    out.set("error", error);
  }
  return out;
}

}  // namespace tw::agent

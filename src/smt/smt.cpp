// SPDX-License-Identifier: Apache-2.0
#include "smt/smt.h"

#include <z3++.h>

#include "base/check.h"

namespace tw::smt {

TermId Terms::push(TermNode node) {
  nodes_.push_back(std::move(node));
  return TermId(static_cast<uint32_t>(nodes_.size() - 1));
}
TermId Terms::constant(int64_t value) {
  return push({TermKind::Constant, value, {}, {}});
}
TermId Terms::variable(std::string name) {
  return push({TermKind::Variable, 0, std::move(name), {}});
}
TermId Terms::boolean(bool value) {
  return push({TermKind::Boolean, value ? 1 : 0, {}, {}});
}
TermId Terms::add(std::vector<TermId> operands) {
  return operands.empty() ? constant(0) : push({TermKind::Add, 0, {}, std::move(operands)});
}
TermId Terms::mul(TermId a, TermId b) {
  return push({TermKind::Mul, 0, {}, {a, b}});
}
TermId Terms::div(TermId a, int64_t divisor) {
  TW_CHECK(divisor > 0);
  return push({TermKind::Div, divisor, {}, {a}});
}
TermId Terms::mod(TermId a, int64_t divisor) {
  TW_CHECK(divisor > 0);
  return push({TermKind::Mod, divisor, {}, {a}});
}
TermId Terms::le(TermId a, TermId b) {
  return push({TermKind::Le, 0, {}, {a, b}});
}
TermId Terms::eq(TermId a, TermId b) {
  return push({TermKind::Eq, 0, {}, {a, b}});
}
TermId Terms::conjunction(std::vector<TermId> operands) {
  return operands.empty() ? boolean(true) : push({TermKind::And, 0, {}, std::move(operands)});
}
TermId Terms::disjunction(std::vector<TermId> operands) {
  return operands.empty() ? boolean(false) : push({TermKind::Or, 0, {}, std::move(operands)});
}
TermId Terms::negation(TermId a) {
  return push({TermKind::Not, 0, {}, {a}});
}
TermId Terms::ite(TermId condition, TermId if_true, TermId if_false) {
  return push({TermKind::Ite, 0, {}, {condition, if_true, if_false}});
}

struct Solver::Impl {
  const Terms& terms;
  Budget budget;
  Statistics statistics;
  std::unique_ptr<z3::context> context;
  std::unordered_map<TermId, z3::expr> translated;

  Impl(const Terms& all_terms, Budget limits) : terms(all_terms), budget(limits) {}

  z3::expr translate(TermId id) {
    if (auto it = translated.find(id); it != translated.end()) {
      return it->second;
    }
    const TermNode& node = terms.node(id);
    z3::context& c = *context;
    auto operand = [&](size_t i) { return translate(node.operands[i]); };
    z3::expr result(c);
    switch (node.kind) {
      case TermKind::Constant:
        result = c.int_val(node.value);
        break;
      case TermKind::Boolean:
        result = c.bool_val(node.value != 0);
        break;
      case TermKind::Variable:
        // The id keeps variables of one name apart.
        result = c.int_const((node.name + "!" + std::to_string(id.index)).c_str());
        break;
      case TermKind::Add:
        result = operand(0);
        for (size_t i = 1; i < node.operands.size(); ++i) {
          result = result + operand(i);
        }
        break;
      case TermKind::Mul:
        result = operand(0) * operand(1);
        break;
      case TermKind::Div:
        // SMT-LIB division by a positive constant rounds down.
        result = operand(0) / c.int_val(node.value);
        break;
      case TermKind::Mod:
        result = z3::mod(operand(0), c.int_val(node.value));
        break;
      case TermKind::Le:
        result = operand(0) <= operand(1);
        break;
      case TermKind::Eq:
        result = operand(0) == operand(1);
        break;
      case TermKind::And:
      case TermKind::Or: {
        z3::expr_vector parts(c);
        for (size_t i = 0; i < node.operands.size(); ++i) {
          parts.push_back(operand(i));
        }
        result = node.kind == TermKind::And ? z3::mk_and(parts) : z3::mk_or(parts);
        break;
      }
      case TermKind::Not:
        result = !operand(0);
        break;
      case TermKind::Ite:
        result = z3::ite(operand(0), operand(1), operand(2));
        break;
    }
    translated.emplace(id, result);
    return result;
  }

  void read_model(const z3::model& model, TermId id, Answer& answer, std::unordered_map<TermId, bool>& seen) {
    if (!seen.emplace(id, true).second) {
      return;
    }
    const TermNode& node = terms.node(id);
    if (node.kind == TermKind::Variable) {
      int64_t value = 0;
      if (model.eval(translate(id), true).is_numeral_i64(value)) {
        answer.model.emplace(id, value);
      }
    }
    for (TermId operand : node.operands) {
      read_model(model, operand, answer, seen);
    }
  }
};

Solver::Solver(const Terms& terms, Budget budget) : impl_(std::make_unique<Impl>(terms, budget)) {}
Solver::~Solver() = default;
const Statistics& Solver::statistics() const {
  return impl_->statistics;
}

Answer Solver::prove(const Query& query) {
  Answer answer;
  Impl& impl = *impl_;
  ++impl.statistics.queries;
  try {
    if (impl.context == nullptr) {
      impl.context = std::make_unique<z3::context>();
    }
    z3::solver solver(*impl.context, "QF_LIA");
    z3::params params(*impl.context);
    params.set("rlimit", impl.budget.resource_units);
    params.set("random_seed", 0u);
    solver.set(params);
    for (TermId assumption : query.assumptions) {
      solver.add(impl.translate(assumption));
    }
    solver.add(!impl.translate(query.goal));
    switch (solver.check()) {
      case z3::unsat:
        answer.verdict = Verdict::Proved;
        break;
      case z3::sat: {
        answer.verdict = Verdict::Refuted;
        z3::model model = solver.get_model();
        std::unordered_map<TermId, bool> seen;
        for (TermId assumption : query.assumptions) {
          impl.read_model(model, assumption, answer, seen);
        }
        impl.read_model(model, query.goal, answer, seen);
        break;
      }
      case z3::unknown:
        answer.reason = "solver: " + solver.reason_unknown();
        break;
    }
    z3::stats stats = solver.statistics();
    for (unsigned i = 0; i < stats.size(); ++i) {
      if (stats.key(i) == "rlimit count") {
        answer.resource_units = stats.uint_value(i);
      }
    }
  } catch (const z3::exception& error) {
    answer = Answer{};
    answer.reason = std::string("solver error: ") + error.msg();
  }
  switch (answer.verdict) {
    case Verdict::Proved:
      ++impl.statistics.proved;
      break;
    case Verdict::Refuted:
      ++impl.statistics.refuted;
      break;
    case Verdict::Unknown:
      ++impl.statistics.unknown;
      break;
  }
  impl.statistics.resource_units += answer.resource_units;
  return answer;
}

std::string solver_version() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build);
}

}  // namespace tw::smt

// SPDX-License-Identifier: Apache-2.0
#include "analysis/carried.h"

namespace tw::analysis {

namespace {

class Solver {
 public:
  Solver(Environment& env, const domain::Facts& facts, const LoopRange& loop, std::vector<TermId> arguments,
         const std::vector<TermId>& inits, std::vector<TermId> yields)
      : ints_(env.ints),
        values_(env.values),
        loop_(loop),
        arguments_(std::move(arguments)),
        inits_(inits),
        yields_(std::move(yields)),
        runs_(env.prover.proves(facts, env.ints.lt(loop.lo, loop.hi))) {}

  CarriedForms run() {
    out_.heads.assign(inits_.size(), TermId{});
    out_.results.assign(inits_.size(), TermId{});
    // The form of one may be needed for that of another.
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t i = 0; i < inits_.size(); ++i) {
        progress = (!out_.heads[i].is_valid() && solve(i)) || progress;
      }
    }
    std::vector<TermId> heads = out_.heads;
    for (size_t i = 0; i < inits_.size(); ++i) {
      if (!out_.heads[i].is_valid()) {
        heads[i] = keep_loop(i);
      }
    }
    out_.heads = std::move(heads);
    return std::move(out_);
  }

 private:
  bool solve(size_t i) {
    yields_[i] = values_.substitute_carried(yields_[i], loop_.id, loop_.variable, out_.heads);
    const TermNode y = values_.node(yields_[i]);
    if (yields_[i] == arguments_[i]) {
      out_.heads[i] = inits_[i];
      out_.results[i] = inits_[i];
      return true;
    }
    if (!values_.has_carried(yields_[i], loop_.id)) {
      follow_previous(i);
      return true;
    }
    if (TermId step = growth(y, arguments_[i]); step.is_valid()) {
      out_.heads[i] = total(i, y, step, ints_.var(loop_.variable));
      out_.results[i] = total(i, y, step, loop_.hi);
      return true;
    }
    return false;
  }

  void follow_previous(size_t i) {
    IntId at = ints_.var(loop_.variable);
    TermId previous = values_.substitute(yields_[i], {{loop_.variable, ints_.add(at, ints_.constant(-1))}});
    TermId at_first = values_.substitute(previous, {{loop_.variable, loop_.lo}});
    out_.heads[i] = at_first == inits_[i] ? previous : values_.select(ints_.eq(at, loop_.lo), inits_[i], previous);
    TermId last = values_.substitute(yields_[i], {{loop_.variable, ints_.add(loop_.hi, ints_.constant(-1))}});
    out_.results[i] = runs_ ? last : values_.select(ints_.lt(loop_.lo, loop_.hi), last, inits_[i]);
  }

  // y = argument (+) step, the step free of what the loop carries: the step, else invalid.
  TermId growth(const TermNode& y, TermId argument) {
    const bool is_sum = y.kind == TermKind::Accumulate;
    const bool is_addition = y.kind == TermKind::Apply && y.function == ir::ElementwiseKind::Add;
    if (!is_sum && !is_addition) {
      return {};
    }
    std::vector<TermId> rest;
    int arguments = 0;
    for (TermId o : y.operands) {
      if (o == argument) {
        ++arguments;
      } else if (values_.has_carried(o, loop_.id)) {
        return {};
      } else {
        rest.push_back(o);
      }
    }
    if (arguments != 1 || rest.empty()) {
      return {};
    }
    return is_addition ? rest[0] : values_.accumulate(y.reduce, y.type, rest);
  }

  // What has been added before iteration `bound`.
  TermId total(size_t i, const TermNode& y, TermId step, IntId bound) {
    const bool is_ordered = y.kind == TermKind::Apply;
    // A variable of its own for the bound index: the loop's is free in the bound when this is the head of an iteration.
    VarId k = ints_.add_var(ints_.name(loop_.variable));
    TermId body = values_.substitute(step, {{loop_.variable, ints_.var(k)}});
    TermId sum =
        values_.reduce(is_ordered ? ir::ReduceKind::Add : y.reduce, y.type, {{k, loop_.lo, bound}}, body, is_ordered);
    if (is_ordered) {
      return values_.apply(ir::ElementwiseKind::Add, y.type, {inits_[i], sum});
    }
    return values_.accumulate(y.reduce, y.type, {inits_[i], sum});
  }

  // No closed form: the result is a loop term, and so is the head, which is returned.
  TermId keep_loop(size_t i) {
    const TermNode argument = values_.node(arguments_[i]);
    std::vector<IntId> coords = argument.coords;
    // Iterations of a Loop term count from 0.
    std::vector<TermId> shifted = yields_;
    for (TermId& y : shifted) {
      y = values_.substitute(y, {{loop_.variable, ints_.add(ints_.var(loop_.variable), loop_.lo)}});
    }
    auto state_after = [&](IntId count) {
      coords[0] = count;
      return values_.loop_state(loop_.id, static_cast<uint32_t>(i), argument.type, coords, loop_.variable, inits_,
                                shifted);
    };
    out_.results[i] = state_after(ints_.max(ints_.sub(loop_.hi, loop_.lo), ints_.constant(0)));
    return state_after(ints_.sub(ints_.var(loop_.variable), loop_.lo));
  }

  domain::Ints& ints_;
  Values& values_;
  const LoopRange& loop_;
  std::vector<TermId> arguments_;
  const std::vector<TermId>& inits_;
  std::vector<TermId> yields_;
  bool runs_;
  CarriedForms out_;
};

}  // namespace

CarriedForms solve_carried(Environment& env, const domain::Facts& facts, const LoopRange& loop,
                           std::vector<TermId> arguments, const std::vector<TermId>& inits,
                           std::vector<TermId> yields) {
  return Solver(env, facts, loop, std::move(arguments), inits, std::move(yields)).run();
}

}  // namespace tw::analysis

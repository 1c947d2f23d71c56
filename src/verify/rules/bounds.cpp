// SPDX-License-Identifier: Apache-2.0

// Rule        out-of-bounds, integer-overflow, division-by-zero (obligation 3)
// Scope       every access of shared memory; every access of global memory along an axis without a guard; every divisor; every
//             scalar expression that the emitter computes
// Invariant   shared indices lie inside the object's shape and versions are not negative; unguarded global indices lie inside
//             the tensor; divisors are positive; each expression and each of its parts fits the C type that it is given
// Criterion   linear arithmetic over the ranges of sizes (0 .. 2^31 - 1), tiles, loops and tile axes
// Valid near  a guard that was left out because `assume(M % 128 == 0)` keeps whole tiles inside
// Diagnostic  TW3030, TW3031, TW3032
#include <algorithm>

#include "verify/context.h"

namespace tw::verify {

namespace {

using emulator::ReadingErrorKind;

void check_access(Context& context, Obligation& obligation, const analysis::AccessRecord& access) {
  domain::Ints& ints = context.ints();
  Facts facts;
  context.assume(facts, access.place, access.shape);
  const ir::Region& region = *access.region;
  auto require = [&](CondId inside, const std::string& what, const std::string& object, bool in_shared) {
    ++obligation.compared;
    if (context.env.prover.proves(facts, inside)) {
      return;
    }
    if (obligation.verdict == Verdict::Proved) {
      obligation.span = region.span.is_valid() ? region.span : access.place.op->span;
    }
    auto values = find_witness(context, facts, {ints.negate(inside)});
    if (!values) {
      give_up(obligation, what + " of `" + object + "` is not proved: " + ints.to_string(inside));
      return;
    }
    Counterexample cex;
    cex.rule = "out-of-bounds";
    describe(context, access.place, *values, cex);
    cex.object = object;
    if (access.version.is_valid()) {
      cex.version = ints.evaluate(access.version, *values);
    }
    for (IntId c : access.coords) {
      cex.element.push_back(ints.evaluate(c, *values).value_or(-1));
    }
    cex.claim = std::string(access.is_write ? "a write" : "a read") + " of `" + object + "` outside: element " +
                format_coords(ints, access.coords, *values);
    cex.expected = what;
    cex.got = format_coords(ints, access.coords, *values);
    cex.points.push_back({access.place.op->span, access.place.op->id, access.is_write ? "writes" : "reads"});
    cex.replay = in_shared ? ReplayKind::Reading : ReplayKind::Machine;
    conclude(context, obligation, std::move(cex));
  };
  if (!region.is_global()) {
    const ir::SharedObject& object = context.lowered.shared_object(region.shared());
    for (size_t i = 0; i < access.coords.size(); ++i) {
      require(ints.conjunction({ints.non_negative(access.coords[i]),
                                ints.lt(access.coords[i], ints.constant(object.shape[i]))}),
              "an index inside axis " + std::to_string(i), object.name, true);
    }
    if (access.version.is_valid()) {
      require(ints.non_negative(access.version), "a version that is not negative", object.name, true);
    }
    return;
  }
  if (access.access == nullptr || context.lowered.stage != ir::Stage::Lowered) {
    return;
  }
  const std::vector<IntId>& extents = context.settler->extents()[region.tensor().index];
  for (size_t i = 0; i < access.coords.size(); ++i) {
    if (i < access.access->guards.size() && access.access->guards[i]) {
      continue;
    }
    require(ints.conjunction({ints.non_negative(access.coords[i]), ints.lt(access.coords[i], extents[i])}),
            "an index inside axis " + std::to_string(i) + ", which has no guard", context.lowered.tensor(region.tensor()).name,
            false);
  }
}

}  // namespace

void check_bounds(Context& context) {
  {
    Obligation& shared = context.add("bounds", "indices of shared memory are inside, versions are not negative",
                                     context.lowered.span);
    Timer timer(shared);
    for (const analysis::AccessRecord& access : context.reading.accesses) {
      if (!access.region->is_global()) {
        check_access(context, shared, access);
      }
    }
  }
  {
    Obligation& global = context.add("bounds", "accesses of global memory are guarded or inside", context.lowered.span);
    Timer timer(global);
    for (const analysis::AccessRecord& access : context.reading.accesses) {
      if (access.region->is_global()) {
        global.compared += 1;
        check_access(context, global, access);
      }
    }
  }
  {
    Obligation& divisors = context.add("bounds", "divisors are positive", context.lowered.span);
    Timer timer(divisors);
    for (const auto& [place, divisor] : context.reading.divisors) {
      ++divisors.compared;
      Facts facts;
      context.assume(facts, place, {});
      CondId positive = context.ints().lt(context.ints().constant(0), divisor);
      if (context.env.prover.proves(facts, positive)) {
        continue;
      }
      if (place.op != nullptr) {
        divisors.span = place.op->span;
      }
      auto values = find_witness(context, facts, {context.ints().negate(positive)});
      if (!values) {
        give_up(divisors, "that " + context.ints().to_string(divisor) + " is positive is not proved");
        continue;
      }
      Counterexample cex;
      cex.rule = "division-by-zero";
      describe(context, place, *values, cex);
      cex.claim = "division by " + std::to_string(context.ints().evaluate(divisor, *values).value_or(0));
      cex.expected = "a positive divisor";
      cex.got = context.ints().to_string(divisor);
      cex.replay = ReplayKind::Reading;
      conclude(context, divisors, std::move(cex));
    }
  }
}

}  // namespace tw::verify

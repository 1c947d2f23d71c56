// SPDX-License-Identifier: Apache-2.0

// Rule        out-of-bounds, integer-overflow, division-by-zero (obligation 3)
// Scope       every access of shared memory; every access of global memory along an axis without a guard; every
// divisor; every
//             scalar expression that the emitter computes
// Invariant   shared indices lie inside the object's shape and versions are not negative; unguarded global indices lie
// inside
//             the tensor; divisors are positive; each expression and each of its parts fits the C type that it is given
// Criterion   linear arithmetic over the ranges of sizes (0 .. 2^31 - 1), tiles, loops and tile axes
// Valid near  a guard that was left out because `assume(M % 128 == 0)` keeps whole tiles inside
// Diagnostic  TW3030, TW3031, TW3032
#include <algorithm>
#include <unordered_map>

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
      require(ints.conjunction(
                  {ints.non_negative(access.coords[i]), ints.lt(access.coords[i], ints.constant(object.shape[i]))}),
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
            "an index inside axis " + std::to_string(i) + ", which has no guard",
            context.lowered.tensor(region.tensor()).name, false);
  }
}

// lo <= x <= hi, in numbers wide enough for products of two sizes.
struct Interval {
  __int128 lo, hi;
};

constexpr __int128 kFar = static_cast<__int128>(1) << 100;

Interval clamp(Interval i) {
  return {std::max(i.lo, -kFar), std::min(i.hi, kFar)};
}

class Intervals {
 public:
  Intervals(Context& context, const Place& place, const std::vector<int64_t>& shape) : ints_(context.ints()) {
    constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;
    for (ir::SymbolId size : context.lowered.sizes) {
      vars_[context.env.named(context.lowered.exprs.symbol(size).name)] = {0, kMaxSize};
    }
    for (const ir::ScalarParameter& scalar : context.lowered.scalars) {
      if (scalar.symbol.is_valid() && scalar.element == ElementType::I32) {
        vars_[context.env.named(scalar.name)] = {-kMaxSize - 1, kMaxSize};
      }
    }
    for (const analysis::LoopVar& loop : place.loops) {
      Interval lo = of(loop.lo), hi = of(loop.hi);
      vars_[loop.var] = {lo.lo, std::max(lo.lo, hi.hi - 1)};
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      vars_[context.values().axis_var(static_cast<int>(i))] = {0, shape[i] - 1};
    }
  }

  Interval of(IntId id) {
    const domain::Polynomial p = ints_.polynomial(id);
    Interval sum{p.constant, p.constant};
    for (const domain::Monomial& m : p.monomials) {
      Interval product{1, 1};
      for (domain::AtomId f : m.factors) {
        Interval x = of(f);
        __int128 corners[] = {product.lo * x.lo, product.lo * x.hi, product.hi * x.lo, product.hi * x.hi};
        product = {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
        // Larger numbers than this are of no interest; the limit keeps the next product exact.
        product = {std::max(product.lo, -(static_cast<__int128>(1) << 63)),
                   std::min(product.hi, static_cast<__int128>(1) << 63)};
        if (product.lo == -(static_cast<__int128>(1) << 63) || product.hi == static_cast<__int128>(1) << 63) {
          is_far_ = true;
        }
      }
      __int128 a = m.coefficient * product.lo, b = m.coefficient * product.hi;
      sum = clamp({sum.lo + std::min(a, b), sum.hi + std::max(a, b)});
    }
    return sum;
  }
  // Some product left 64 bits on the way: intervals are no bounds then.
  [[nodiscard]] bool is_far() const { return is_far_; }

 private:
  Interval of(domain::AtomId id) {
    const domain::Atom a = ints_.atom(id);
    if (a.kind == domain::AtomKind::Var) {
      auto it = vars_.find(a.var);
      if (it == vars_.end()) {
        is_far_ = true;
        return {0, 0};
      }
      return it->second;
    }
    Interval x = of(a.a), y = of(a.b);
    switch (a.kind) {
      case domain::AtomKind::FloorDiv: {
        // Divisors are positive: the quotient is no further from 0 than the dividend, and rounds down.
        __int128 d = std::max<__int128>(y.lo, 1);
        auto floor_of = [](__int128 p, __int128 q) { return p / q - ((p % q != 0 && p < 0) ? 1 : 0); };
        return {std::min<__int128>(floor_of(x.lo, d), 0), std::max<__int128>(floor_of(x.hi, d), 0)};
      }
      case domain::AtomKind::Min:
        return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
      case domain::AtomKind::Max:
        return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
      default:
        return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
    }
  }

  domain::Ints& ints_;
  std::unordered_map<VarId, Interval> vars_;
  bool is_far_ = false;
};

// Every part of every scalar expression fits the integer type that the emitter computes it in (docs/lowering.md).
void check_overflow(Context& context) {
  domain::Ints& ints = context.ints();
  Obligation& obligation =
      context.add("bounds", "every index, size and trip count fits its integer type", context.lowered.span);
  Timer timer(obligation);
  const std::vector<ir::ExprId>& wide = context.lowered.wide_exprs;
  const Place* current = nullptr;
  std::optional<Intervals> intervals;
  for (const analysis::ScalarRecord& record : context.reading.scalars) {
    ++obligation.compared;
    if (current != record.place.get()) {
      current = record.place.get();
      intervals.emplace(context, *current, std::vector<int64_t>{});
    }
    const bool is_wide = std::binary_search(wide.begin(), wide.end(), record.expr);
    const __int128 limit = static_cast<__int128>(1) << (is_wide ? 63 : 31);
    Intervals local = *intervals;
    Interval range = local.of(record.value);
    if (!local.is_far() && range.lo >= -limit && range.hi < limit) {
      continue;
    }
    if (is_wide) {
      give_up(obligation, "`" + context.lowered.exprs.to_string(record.expr) + "` is not proved to fit 64 bits");
      continue;
    }
    Facts facts;
    context.assume(facts, *record.place, {});
    IntId bound = ints.constant(static_cast<int64_t>(limit));
    CondId fits = ints.conjunction({ints.le(ints.scale(bound, -1), record.value), ints.lt(record.value, bound)});
    if (context.env.prover.proves(facts, fits)) {
      continue;
    }
    if (record.place->op != nullptr) {
      obligation.span = record.place->op->span;
    }
    std::string text = "`" + context.lowered.exprs.to_string(record.expr) + "`";
    auto values = find_witness(context, facts, {ints.negate(fits)});
    give_up(obligation, text + " is not proved to fit 32 bits");
    if (values && !obligation.counterexample) {
      Counterexample cex;
      cex.rule = "integer-overflow";
      cex.obligation = "bounds";
      describe(context, *record.place, *values, cex);
      cex.claim =
          text + " is " + std::to_string(ints.evaluate(record.value, *values).value_or(0)) + ", computed in 32 bits";
      cex.expected = "a value of 32 bits";
      // The emulator computes indices in 64 bits, so this cannot be shown there: the candidate stays attached.
      obligation.counterexample = std::move(cex);
    }
  }
}

struct TypeRange {
  __int128 lo, hi;
};
TypeRange range_of(ElementType type) {
  const int bits = size_bytes(type) * 8;
  const bool is_unsigned = type == ElementType::U8 || type == ElementType::U32;
  const __int128 one = 1;
  return is_unsigned ? TypeRange{0, (one << bits) - 1} : TypeRange{-(one << (bits - 1)), (one << (bits - 1)) - 1};
}

// Elements of integer tiles that are made of indices and constants (docs/verifier.md: taken as integers without
// bounds).
void check_integer_tiles(Context& context) {
  domain::Ints& ints = context.ints();
  Obligation& obligation =
      context.add("bounds", "every element of an integer tile fits its type", context.lowered.span);
  Timer timer(obligation);
  for (const analysis::IntegerRecord& record : context.reading.integers) {
    ++obligation.compared;
    const TypeRange type = range_of(record.type);
    Intervals intervals(context, record.place, record.shape);
    const Interval range = intervals.of(record.value);
    if (!intervals.is_far() && range.lo >= type.lo && range.hi <= type.hi) {
      continue;
    }
    Facts facts;
    context.assume(facts, record.place, record.shape);
    const CondId fits = ints.conjunction({ints.le(ints.constant(static_cast<int64_t>(type.lo)), record.value),
                                          ints.le(record.value, ints.constant(static_cast<int64_t>(type.hi)))});
    if (context.env.prover.proves(facts, fits)) {
      continue;
    }
    if (record.place.op != nullptr && obligation.verdict == Verdict::Proved) {
      obligation.span = record.place.op->span;
    }
    const std::string text = ints.to_string(record.value);
    auto values = find_witness(context, facts, {ints.negate(fits)});
    if (!values) {
      give_up(obligation, "that " + text + " fits " + std::string(name_of(record.type)) +
                              " is not proved for all sizes up to 2^31 - 1; `assume` a smaller bound");
      continue;
    }
    Counterexample cex;
    cex.rule = "integer-overflow";
    describe(context, record.place, *values, cex);
    cex.object = record.name;
    for (size_t i = 0; i < record.shape.size(); ++i) {
      auto it = values->find(context.values().axis_var(static_cast<int>(i)));
      cex.element.push_back(it == values->end() ? 0 : it->second);
    }
    cex.claim = "an element is " + std::to_string(ints.evaluate(record.value, *values).value_or(0)) +
                ", which does not fit " + std::string(name_of(record.type));
    cex.expected = "a value of type " + std::string(name_of(record.type));
    cex.got = text;
    if (record.place.op != nullptr) {
      cex.points.push_back({record.place.op->span, record.place.op->id, "computes"});
    }
    cex.replay = ReplayKind::Reading;
    conclude(context, obligation, std::move(cex));
  }
}

}  // namespace

void check_bounds(Context& context) {
  {
    Obligation& shared =
        context.add("bounds", "indices of shared memory are inside, versions are not negative", context.lowered.span);
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
      // Zero before what is negative: the plainer mistake.
      auto values = find_witness(context, facts, {context.ints().eq(divisor, context.ints().constant(0))});
      if (!values) {
        values = find_witness(context, facts, {context.ints().negate(positive)});
      }
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
  check_overflow(context);
  check_integer_tiles(context);
}

}  // namespace tw::verify

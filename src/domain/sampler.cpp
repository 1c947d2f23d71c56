// SPDX-License-Identifier: Apache-2.0
#include "domain/sampler.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tw::domain {

namespace {

constexpr int64_t kLargest = (int64_t{1} << 31) - 1;

class Search {
 public:
  Search(Ints& ints, std::vector<CondId> conditions, const SampleOptions& options)
      : ints_(ints), conditions_(std::move(conditions)), options_(options) {
    std::set<VarId> vars;
    for (CondId c : conditions_) {
      vars.insert(ints_.vars(c).begin(), ints_.vars(c).end());
    }
    vars_.assign(vars.begin(), vars.end());
    watch_.resize(vars_.size());
    for (CondId c : conditions_) {
      if (ints_.vars(c).empty()) {
        continue;
      }
      size_t last = std::lower_bound(vars_.begin(), vars_.end(), ints_.vars(c).back()) - vars_.begin();
      watch_[last].push_back(c);
    }
    bounds_.resize(vars_.size());
    for (size_t i = 0; i < vars_.size(); ++i) {
      for (CondId c : watch_[i]) {
        add_bounds(i, c);
      }
    }
    for (CondId c : conditions_) {
      collect_constants(c);
    }
    for (int64_t value : {0, 1, 2, 3, 5, 7, 8, 16, 17}) {
      interesting_.insert(value);
    }
  }

  bool run(Assignment& out) {
    for (CondId c : conditions_) {
      if (ints_.vars(c).empty() && c != ints_.truth(true)) {
        return false;
      }
    }
    // First in order, then with the candidates of each variable rotated, so that no early choice is kept for long.
    const int kRestarts = 8;
    for (int restart = 0; restart < kRestarts && used_ < options_.budget; ++restart) {
      rotation_ = restart;
      limit_ = used_ + std::max(options_.budget / kRestarts, 1);
      values_.clear();
      if (assign(0)) {
        out.insert(values_.begin(), values_.end());
        return true;
      }
      if (!ran_out_) {
        return false;
      }
      ran_out_ = false;
    }
    return false;
  }

 private:
  struct Bound {
    // Coefficient of the variable in coefficient * variable + rest >= 0 (or == 0).
    int64_t coefficient;
    IntId rest;
    bool is_equality;
  };

  void add_bounds(size_t i, CondId c) {
    const Condition condition = ints_.condition(c);
    if (condition.kind == CondKind::And) {
      for (CondId part : condition.parts) {
        if (!ints_.vars(part).empty() && ints_.vars(part).back() == vars_[i]) {
          add_bounds(i, part);
        }
      }
      return;
    }
    if (condition.kind != CondKind::NonNegative && condition.kind != CondKind::Zero) {
      return;
    }
    if (auto linear = ints_.linear_in(condition.value, vars_[i])) {
      bounds_[i].push_back({linear->coefficient, linear->rest, condition.kind == CondKind::Zero});
    }
  }

  void collect_constants(IntId id) {
    const Polynomial p = ints_.polynomial(id);
    auto note = [&](int64_t value) {
      value = value < 0 ? -value : value;
      if (value > 1 && value < (int64_t{1} << 20)) {
        for (int64_t v : {value - 1, value, value + 1, 2 * value, 2 * value + 1, value / 2, value + value / 2}) {
          interesting_.insert(v);
        }
      }
    };
    note(p.constant);
    for (const Monomial& m : p.monomials) {
      note(m.coefficient);
      for (AtomId f : m.factors) {
        const Atom a = ints_.atom(f);
        if (a.kind != AtomKind::Var) {
          collect_constants(a.a);
          collect_constants(a.b);
        }
      }
    }
  }
  void collect_constants(CondId id) {
    const Condition c = ints_.condition(id);
    if (c.value.is_valid()) {
      collect_constants(c.value);
    }
    for (CondId part : c.parts) {
      collect_constants(part);
    }
  }

  std::vector<int64_t> candidates(size_t i) {
    int64_t lo = -kLargest, hi = kLargest;
    bool has_lo = false, has_hi = false;
    for (const Bound& b : bounds_[i]) {
      auto rest = ints_.evaluate(b.rest, values_);
      if (!rest) {
        continue;
      }
      int64_t a = b.coefficient, r = *rest;
      auto floor_of = [](int64_t x, int64_t y) { return x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0); };
      if (a > 0 || b.is_equality) {
        int64_t bound = a > 0 ? -floor_of(r, a) : -floor_of(-r, -a);
        if (!has_lo || bound > lo) {
          lo = bound;
          has_lo = true;
        }
      }
      if (a < 0 || b.is_equality) {
        int64_t bound = a < 0 ? floor_of(r, -a) : floor_of(-r, a);
        if (!has_hi || bound < hi) {
          hi = bound;
          has_hi = true;
        }
      }
    }
    std::vector<int64_t> out;
    if (lo > hi) {
      return out;
    }
    if (has_lo && has_hi && hi - lo < options_.whole_range) {
      for (int64_t v = lo; v <= hi; ++v) {
        out.push_back(v);
      }
    } else {
      std::set<int64_t> values;
      if (has_lo) {
        values.insert({lo, lo + 1, lo + 2});
      }
      if (has_hi) {
        values.insert({hi - 1, hi});
      }
      for (int64_t v : interesting_) {
        values.insert(v);
        if (has_lo) {
          values.insert(lo + v);
        }
      }
      for (int64_t v : values) {
        if (v >= lo && v <= hi) {
          out.push_back(v);
        }
      }
    }
    if (!out.empty() && rotation_ != 0) {
      std::rotate(out.begin(), out.begin() + (rotation_ * 7 + i * 3) % out.size(), out.end());
    }
    return out;
  }

  bool assign(size_t i) {
    if (i == vars_.size()) {
      return true;
    }
    for (int64_t value : candidates(i)) {
      if (used_ >= limit_) {
        ran_out_ = true;
        return false;
      }
      ++used_;
      values_[vars_[i]] = value;
      bool fits = true;
      for (CondId c : watch_[i]) {
        fits = fits && ints_.evaluate(c, values_) == std::optional(true);
      }
      if (fits && assign(i + 1)) {
        return true;
      }
      values_.erase(vars_[i]);
    }
    return false;
  }

  Ints& ints_;
  std::vector<CondId> conditions_;
  SampleOptions options_;
  std::vector<VarId> vars_;
  // Conditions whose last variable is the i-th.
  std::vector<std::vector<CondId>> watch_;
  std::vector<std::vector<Bound>> bounds_;
  std::set<int64_t> interesting_;
  Assignment values_;
  int used_ = 0;
  int limit_ = 0;
  int rotation_ = 0;
  bool ran_out_ = false;
};

}  // namespace

std::optional<Assignment> find_assignment(Ints& ints, std::span<const CondId> conditions,
                                          const SampleOptions& options) {
  // Conditions that share no variable are searched apart.
  std::vector<CondId> flat;
  for (CondId c : conditions) {
    const Condition& condition = ints.condition(c);
    if (condition.kind == CondKind::And) {
      flat.insert(flat.end(), condition.parts.begin(), condition.parts.end());
    } else {
      flat.push_back(c);
    }
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  std::vector<int> group(flat.size(), -1);
  Assignment out;
  for (size_t seed = 0; seed < flat.size(); ++seed) {
    if (group[seed] >= 0) {
      continue;
    }
    std::vector<CondId> component{flat[seed]};
    std::set<VarId> vars(ints.vars(flat[seed]).begin(), ints.vars(flat[seed]).end());
    group[seed] = static_cast<int>(seed);
    for (bool grew = true; grew;) {
      grew = false;
      for (size_t i = 0; i < flat.size(); ++i) {
        if (group[i] >= 0) {
          continue;
        }
        for (VarId v : ints.vars(flat[i])) {
          if (vars.contains(v)) {
            group[i] = static_cast<int>(seed);
            component.push_back(flat[i]);
            vars.insert(ints.vars(flat[i]).begin(), ints.vars(flat[i]).end());
            grew = true;
            break;
          }
        }
      }
    }
    if (!Search(ints, std::move(component), options).run(out)) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace tw::domain

// SPDX-License-Identifier: Apache-2.0
#include "domain/facts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/hash.h"
#include "domain/sampler.h"

namespace tw::domain {

namespace {

constexpr int kMaxDepth = 14;
constexpr int kMaxNodes = 1500;
constexpr int kMaxSplits = 4;

int64_t floor_of(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// sum of coefficient * column + constant; columns are monomials.
struct Row {
  std::vector<std::pair<int, int64_t>> columns;
  int64_t constant = 0;

  [[nodiscard]] int64_t coefficient(int column) const {
    auto it = std::lower_bound(columns.begin(), columns.end(), std::pair(column, INT64_MIN));
    return it != columns.end() && it->first == column ? it->second : 0;
  }
  void tighten() {
    int64_t common = 0;
    for (const auto& [column, coefficient] : columns) {
      common = std::gcd(common, coefficient);
    }
    if (common > 1) {
      for (auto& [column, coefficient] : columns) {
        coefficient /= common;
      }
      constant = floor_of(constant, common);
    }
  }
};

// a * x + b * y, or false on overflow.
bool combine(const Row& x, int64_t a, const Row& y, int64_t b, Row& out, bool may_tighten = true) {
  out.columns.clear();
  auto mix = [&](int64_t p, int64_t q, int64_t& r) {
    int64_t s = 0, t = 0;
    return !__builtin_mul_overflow(p, a, &s) && !__builtin_mul_overflow(q, b, &t) && !__builtin_add_overflow(s, t, &r);
  };
  if (!mix(x.constant, y.constant, out.constant)) {
    return false;
  }
  size_t i = 0, j = 0;
  while (i < x.columns.size() || j < y.columns.size()) {
    int column = 0;
    int64_t p = 0, q = 0, r = 0;
    if (j == y.columns.size() || (i < x.columns.size() && x.columns[i].first < y.columns[j].first)) {
      column = x.columns[i].first;
      p = x.columns[i++].second;
    } else if (i == x.columns.size() || y.columns[j].first < x.columns[i].first) {
      column = y.columns[j].first;
      q = y.columns[j++].second;
    } else {
      column = x.columns[i].first;
      p = x.columns[i++].second;
      q = y.columns[j++].second;
    }
    if (!mix(p, q, r)) {
      return false;
    }
    if (r != 0) {
      out.columns.emplace_back(column, r);
    }
  }
  if (may_tighten) {
    out.tighten();
  }
  return true;
}

class Farkas {
 public:
  explicit Farkas(Ints& ints) : ints_(ints) {}

  // value >= 0
  void add_row(IntId value) {
    Row row = compile(value);
    if (!row.columns.empty()) {
      row.tighten();
      rows_.push_back(std::move(row));
    } else if (row.constant < 0) {
      contradiction_ = true;
    }
  }

  // value == 0
  void add_equality(IntId value) {
    Row row = compile(value);
    if (!row.columns.empty()) {
      equalities_.push_back(std::move(row));
    } else if (row.constant != 0) {
      contradiction_ = true;
    }
  }

  bool proves(IntId value) {
    Row goal = compile(value);
    close();
    solve_equalities(goal);
    if (contradiction_) {
      return true;
    }
    goal.tighten();
    nodes_ = 0;
    return search(goal, 0);
  }

 private:
  int column_of(const std::vector<AtomId>& factors) {
    auto [it, is_new] = columns_.try_emplace(factors, static_cast<int>(columns_.size()));
    if (is_new) {
      pending_.push_back(factors);
    }
    return it->second;
  }

  Row compile(IntId value) {
    const Polynomial p = ints_.polynomial(value);
    Row row;
    row.constant = p.constant;
    for (const Monomial& m : p.monomials) {
      row.columns.emplace_back(column_of(m.factors), m.coefficient);
    }
    std::sort(row.columns.begin(), row.columns.end());
    return row;
  }

  // Adds what holds by definition of the atoms in use.
  void close() {
    int rounds = 0;
    while (!pending_.empty() && ++rounds < 200) {
      std::vector<AtomId> factors = pending_.back();
      pending_.pop_back();
      for (AtomId f : factors) {
        if (!defined_.insert(f).second) {
          continue;
        }
        const Atom a = ints_.atom(f);
        IntId self = of_factors({f});
        switch (a.kind) {
          case AtomKind::Var:
          case AtomKind::Select:
            break;
          case AtomKind::FloorDiv: {
            IntId product = ints_.mul(a.b, self);
            add_row(ints_.sub(a.a, product));
            add_row(ints_.add(ints_.sub(ints_.add(product, a.b), a.a), ints_.constant(-1)));
            break;
          }
          case AtomKind::Min:
            add_row(ints_.sub(a.a, self));
            add_row(ints_.sub(a.b, self));
            break;
          case AtomKind::Max:
            add_row(ints_.sub(self, a.a));
            add_row(ints_.sub(self, a.b));
            break;
        }
      }
      if (factors.size() > 1) {
        products_.push_back(factors);
      }
    }
    add_products();
  }

  // Uses each equality with a coefficient of 1 or -1 to eliminate that column everywhere: what is left of the rows can
  // then be tightened (128*q + 127 >= 128*c gives q >= c). Other equalities become two rows.
  void solve_equalities(Row& goal) {
    for (size_t e = 0; e < equalities_.size(); ++e) {
      Row equality = equalities_[e];
      auto unit = std::find_if(equality.columns.begin(), equality.columns.end(),
                               [](const auto& c) { return c.second == 1 || c.second == -1; });
      if (unit == equality.columns.end()) {
        Row opposite;
        rows_.push_back(equality);
        if (combine(equality, -1, Row{}, 1, opposite)) {
          rows_.push_back(std::move(opposite));
        }
        continue;
      }
      auto [column, sign] = *unit;
      bool fits = true;
      auto eliminate = [&, column = column, sign = sign](Row& row, bool may_tighten) {
        int64_t c = row.coefficient(column);
        Row out;
        if (c == 0) {
          return;
        }
        if (c == INT64_MIN || !combine(row, 1, equality, -c * sign, out, may_tighten)) {
          fits = false;
          return;
        }
        row = std::move(out);
      };
      for (Row& row : rows_) {
        eliminate(row, true);
      }
      for (size_t later = e + 1; later < equalities_.size(); ++later) {
        eliminate(equalities_[later], false);
      }
      eliminate(goal, true);
      if (!fits) {
        // Half-eliminated rows are still consequences; the equality itself stays usable as two rows.
        Row opposite;
        rows_.push_back(equality);
        if (combine(equality, -1, Row{}, 1, opposite)) {
          rows_.push_back(std::move(opposite));
        }
      }
    }
    for (const Row& row : rows_) {
      contradiction_ |= row.columns.empty() && row.constant < 0;
    }
    for (const Row& equality : equalities_) {
      contradiction_ |= equality.columns.empty() && equality.constant != 0;
    }
  }

  // A product of two factors that are not negative is not negative; a fact times such a factor is a fact.
  void add_products() {
    if (products_.empty() || rows_.size() > 60) {
      return;
    }
    std::vector<std::vector<AtomId>> products = std::move(products_);
    products_.clear();
    size_t base_rows = rows_.size();
    for (const auto& factors : products) {
      bool all = true;
      for (AtomId f : factors) {
        nodes_ = 0;
        all = all && search(compile(of_factors({f})), 0);
      }
      if (all) {
        Row row;
        row.columns.emplace_back(column_of(factors), 1);
        rows_.push_back(std::move(row));
      }
      if (factors.size() != 2) {
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        AtomId keep = factors[side], other = factors[1 - side];
        nodes_ = 0;
        if (!search(compile(of_factors({keep})), 0)) {
          continue;
        }
        int other_column = column_of({other});
        for (size_t r = 0; r < base_rows; ++r) {
          if (rows_[r].coefficient(other_column) == 0 || rows_[r].columns.size() > 4) {
            continue;
          }
          IntId value = ints_.constant(rows_[r].constant);
          for (const auto& [column, coefficient] : rows_[r].columns) {
            value = ints_.add(value, ints_.scale(of_factors(factors_of(column)), coefficient));
          }
          Row row = compile(ints_.mul(value, of_factors({keep})));
          if (!row.columns.empty()) {
            rows_.push_back(std::move(row));
          }
        }
      }
    }
    // Products that came in with those rows: their signs.
    std::vector<std::vector<AtomId>> fresh = std::move(pending_);
    pending_.clear();
    for (const auto& factors : fresh) {
      bool all = factors.size() > 1;
      for (size_t i = 0; all && i < factors.size(); ++i) {
        nodes_ = 0;
        all = search(compile(of_factors({factors[i]})), 0);
      }
      if (all) {
        Row row;
        row.columns.emplace_back(column_of(factors), 1);
        rows_.push_back(std::move(row));
      }
    }
  }

  IntId of_factors(const std::vector<AtomId>& factors) {
    IntId product = ints_.constant(1);
    for (AtomId f : factors) {
      const Atom a = ints_.atom(f);
      IntId value;
      switch (a.kind) {
        case AtomKind::Var:
          value = ints_.var(a.var);
          break;
        case AtomKind::FloorDiv:
          value = ints_.floor_div(a.a, a.b);
          break;
        case AtomKind::Min:
          value = ints_.min(a.a, a.b);
          break;
        case AtomKind::Max:
          value = ints_.max(a.a, a.b);
          break;
        case AtomKind::Select:
          value = ints_.select(a.condition, a.a, a.b);
          break;
      }
      product = ints_.mul(product, value);
    }
    return product;
  }

  [[nodiscard]] std::vector<AtomId> factors_of(int column) const {
    for (const auto& [factors, index] : columns_) {
      if (index == column) {
        return factors;
      }
    }
    return {};
  }

  bool search(const Row& goal, int depth) {
    if (goal.columns.empty()) {
      return goal.constant >= 0;
    }
    if (depth >= kMaxDepth || ++nodes_ > kMaxNodes) {
      return false;
    }
    // Every column has to be cancelled: begin with the one that leaves the fewest ways.
    int best_column = -1;
    int best_count = INT32_MAX;
    int64_t best_coefficient = 0;
    for (const auto& [column, coefficient] : goal.columns) {
      int count = 0;
      for (const Row& row : rows_) {
        int64_t c = row.coefficient(column);
        count += c != 0 && (c > 0) == (coefficient > 0) ? 1 : 0;
      }
      if (count == 0) {
        return false;
      }
      if (count < best_count) {
        best_count = count;
        best_column = column;
        best_coefficient = coefficient;
      }
    }
    for (const Row& row : rows_) {
      int64_t c = row.coefficient(best_column);
      if (c == 0 || (c > 0) != (best_coefficient > 0)) {
        continue;
      }
      int64_t magnitude_row = c < 0 ? -c : c;
      int64_t magnitude_goal = best_coefficient < 0 ? -best_coefficient : best_coefficient;
      int64_t common = std::gcd(magnitude_row, magnitude_goal);
      Row next;
      if (combine(goal, magnitude_row / common, row, -(magnitude_goal / common), next) && search(next, depth + 1)) {
        return true;
      }
    }
    return false;
  }

  Ints& ints_;
  std::map<std::vector<AtomId>, int> columns_;
  std::vector<std::vector<AtomId>> pending_;
  std::vector<std::vector<AtomId>> products_;
  std::set<AtomId> defined_;
  std::vector<Row> rows_;
  std::vector<Row> equalities_;
  bool contradiction_ = false;
  int nodes_ = 0;
};

// The first minimum, maximum or choice in `value`, not inside another atom.
std::optional<AtomId> find_split(const Ints& ints, IntId value) {
  for (const Monomial& m : ints.polynomial(value).monomials) {
    for (AtomId f : m.factors) {
      AtomKind kind = ints.atom(f).kind;
      if (kind == AtomKind::Min || kind == AtomKind::Max || kind == AtomKind::Select) {
        return f;
      }
    }
  }
  return std::nullopt;
}

IntId replace_atom(Ints& ints, IntId value, AtomId atom, IntId by) {
  const Polynomial p = ints.polynomial(value);
  IntId result = ints.constant(p.constant);
  for (const Monomial& m : p.monomials) {
    IntId product = ints.constant(m.coefficient);
    for (AtomId f : m.factors) {
      if (f == atom) {
        product = ints.mul(product, by);
        continue;
      }
      const Atom a = ints.atom(f);
      IntId factor;
      switch (a.kind) {
        case AtomKind::Var:
          factor = ints.var(a.var);
          break;
        case AtomKind::FloorDiv:
          factor = ints.floor_div(a.a, a.b);
          break;
        case AtomKind::Min:
          factor = ints.min(a.a, a.b);
          break;
        case AtomKind::Max:
          factor = ints.max(a.a, a.b);
          break;
        case AtomKind::Select:
          factor = ints.select(a.condition, a.a, a.b);
          break;
      }
      product = ints.mul(product, factor);
    }
    result = ints.add(result, product);
  }
  return result;
}

uint64_t signature(const std::vector<CondId>& facts, CondId goal) {
  Hasher h;
  h.add(uint64_t{goal.index});
  for (CondId c : facts) {
    h.add(uint64_t{c.index});
  }
  return h.value();
}

}  // namespace

bool Prover::quick_non_negative(std::vector<CondId>& facts, IntId value, int splits) {
  if (auto constant = ints_.constant_value(value); constant && *constant >= 0) {
    return true;
  }
  Farkas farkas(ints_);
  std::vector<CondId> open(facts.begin(), facts.end());
  while (!open.empty()) {
    const Condition c = ints_.condition(open.back());
    open.pop_back();
    switch (c.kind) {
      case CondKind::False:
        return true;
      case CondKind::NonNegative:
        farkas.add_row(c.value);
        break;
      case CondKind::Zero:
        farkas.add_equality(c.value);
        break;
      case CondKind::And:
        open.insert(open.end(), c.parts.begin(), c.parts.end());
        break;
      default:
        break;
    }
  }
  if (farkas.proves(value)) {
    return true;
  }
  if (splits <= 0) {
    return false;
  }
  auto atom_id = find_split(ints_, value);
  if (!atom_id) {
    return false;
  }
  const Atom atom = ints_.atom(*atom_id);
  CondId first = atom.kind == AtomKind::Select ? atom.condition
                 : atom.kind == AtomKind::Min  ? ints_.le(atom.a, atom.b)
                                               : ints_.le(atom.b, atom.a);
  for (bool side : {true, false}) {
    size_t mark = facts.size();
    facts.push_back(side ? first : ints_.negate(first));
    bool holds = quick_non_negative(facts, replace_atom(ints_, value, *atom_id, side ? atom.a : atom.b), splits - 1);
    facts.resize(mark);
    if (!holds) {
      return false;
    }
  }
  return true;
}

bool Prover::quick(std::vector<CondId>& facts, CondId goal, int splits) {
  if (std::find(facts.begin(), facts.end(), goal) != facts.end()) {
    return true;
  }
  const Condition c = ints_.condition(goal);
  switch (c.kind) {
    case CondKind::True:
      return true;
    case CondKind::False:
      return quick_non_negative(facts, ints_.constant(-1), splits);
    case CondKind::NonNegative:
      return quick_non_negative(facts, c.value, splits);
    case CondKind::Zero:
      return quick_non_negative(facts, c.value, splits) && quick_non_negative(facts, ints_.scale(c.value, -1), splits);
    case CondKind::NonZero:
      return quick_non_negative(facts, ints_.add(c.value, ints_.constant(-1)), splits) ||
             quick_non_negative(facts, ints_.add(ints_.scale(c.value, -1), ints_.constant(-1)), splits);
    case CondKind::And:
      return std::all_of(c.parts.begin(), c.parts.end(), [&](CondId part) { return quick(facts, part, splits); });
    case CondKind::Or: {
      // One part, with the others' negations as facts.
      for (CondId part : c.parts) {
        size_t mark = facts.size();
        for (CondId other : c.parts) {
          if (other != part) {
            facts.push_back(ints_.negate(other));
          }
        }
        bool holds = quick(facts, part, splits);
        facts.resize(mark);
        if (holds) {
          return true;
        }
      }
      return false;
    }
  }
  return false;
}

bool Prover::proves_quickly(const Facts& facts, CondId goal) {
  std::vector<CondId> conditions = facts.conditions();
  return quick(conditions, goal, kMaxSplits);
}

bool Prover::has_counterexample(std::span<const CondId> facts, CondId goal) {
  std::vector<CondId> conditions(facts.begin(), facts.end());
  conditions.push_back(ints_.negate(goal));
  return find_assignment(ints_, conditions, {.budget = 600, .whole_range = 6}).has_value();
}

bool Prover::proves(const Facts& facts, CondId goal) {
  if (goal == ints_.truth(true)) {
    return true;
  }
  uint64_t key = signature(facts.conditions(), goal);
  if (auto it = cache_.find(key); it != cache_.end()) {
    return it->second;
  }
  bool result = false;
  if (proves_quickly(facts, goal)) {
    ++statistics_.quick;
    result = true;
  } else if (has_counterexample(facts.conditions(), goal)) {
    ++statistics_.by_sample;
  } else if (fallback_ != nullptr) {
    ++statistics_.fallback;
    result = fallback_->implies(ints_, facts.conditions(), goal);
  }
  cache_.emplace(key, result);
  return result;
}

Decision Prover::decide(const Facts& facts, CondId goal) {
  if (goal == ints_.truth(true)) {
    return Decision::True;
  }
  if (goal == ints_.truth(false)) {
    return Decision::False;
  }
  if (proves(facts, goal)) {
    return Decision::True;
  }
  return proves(facts, ints_.negate(goal)) ? Decision::False : Decision::Unknown;
}

}  // namespace tw::domain

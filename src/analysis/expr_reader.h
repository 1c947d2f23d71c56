// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/reading.h"

namespace tw::analysis {

// Scalar expressions over a map from symbols to integers.
class ExprReader {
 public:
  ExprReader(Environment& env, const ir::Function& function) : env_(env), f_(function) {}

  std::unordered_map<ir::SymbolId, IntId> symbols;
  // Divisors met on the way.
  std::vector<IntId> divisors;
  // Integer parts of the last expression.
  [[nodiscard]] const std::unordered_map<ir::ExprId, IntId>& parts() const { return memo_ints_; }
  std::string problem;

  IntId integer(ir::ExprId id) {
    memo_ints_.clear();
    memo_conds_.clear();
    return read_int(id);
  }
  CondId condition(ir::ExprId id) {
    memo_ints_.clear();
    memo_conds_.clear();
    return read_cond(id);
  }

 private:
  IntId read_int(ir::ExprId id);

  CondId read_cond(ir::ExprId id);

  IntId divisor(const ir::ExprNode& n);

  Environment& env_;
  const ir::Function& f_;
  std::unordered_map<ir::ExprId, IntId> memo_ints_;
  std::unordered_map<ir::ExprId, CondId> memo_conds_;
};

}  // namespace tw::analysis

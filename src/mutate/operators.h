// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "diag/sink.h"
#include "ir/function.h"

// Mistakes planted in lowered programs, to measure the verifier: docs/mutants.md.
namespace tw::mutate {

// The places where an operator can be applied are numbered in program order; `Place` counts down to the wanted one.
class Place {
 public:
  explicit Place(int wanted) : wanted_(wanted) {}
  // True at the wanted place: the operator changes it and returns.
  bool here(uint32_t op_id, diag::Span span) {
    if (seen_++ != wanted_) {
      return false;
    }
    op_id_ = op_id;
    span_ = span;
    return true;
  }
  bool here(const ir::Op& op) { return here(op.id, op.span); }
  [[nodiscard]] int seen() const { return seen_; }
  // 0: a shared object, no op.
  [[nodiscard]] uint32_t op_id() const { return op_id_; }
  [[nodiscard]] diag::Span span() const { return span_; }

 private:
  int wanted_;
  int seen_ = 0;
  uint32_t op_id_ = 0;
  diag::Span span_;
};

struct Operator {
  std::string_view name;
  std::string_view what;
  // Changes one place of a lowered function. False: there is no place with this number.
  bool (*apply)(ir::Function& function, Place& place);
};

std::span<const Operator> operators();

// How many places a function offers.
int count_places(const Operator& op, const ir::Function& function);

}  // namespace tw::mutate

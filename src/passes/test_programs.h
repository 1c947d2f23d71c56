// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

// Source IR written by hand, for tests of passes and emitters that should not depend on the front end.
namespace tw::passes::testing {

class ProgramBuilder {
 public:
  ProgramBuilder(std::string name, int threads, std::string_view machine = "sm_80");

  ir::Function function;

  ir::ExprId c(int64_t value) { return function.exprs.constant(value); }
  ir::ExprId size(const std::string& name);
  ir::TensorId tensor(const std::string& name, ir::Direction direction, ElementType element,
                      std::vector<ir::ExprId> extents, std::vector<std::string> dims);
  ir::SharedId shared(const std::string& name, ElementType element, std::vector<int64_t> shape, int swizzle_bytes = 0,
                      int64_t pad = 0);
  void assume_multiple(const std::string& size, int64_t of);

  ir::ValueId value(const std::string& name, ElementType element, std::vector<int64_t> shape);
  ir::Region region(ir::TensorId id, std::vector<ir::AxisIndex> axes);
  ir::Region region(ir::SharedId id, ir::ExprId version = {});
  // Axes swapped.
  static ir::Region transposed(ir::Region region);

  // Ops go to the block on top of the stack.
  void add(ir::OpBody body);
  ir::Block& top() { return *stack_.back(); }
  void push(ir::Block& block) { stack_.push_back(&block); }
  void pop() { stack_.pop_back(); }

  ir::ValueId constant(double value, ElementType element, std::vector<int64_t> shape);
  ir::ValueId load(const ir::Region& source, target::CopyAtom atom = {}, double fill = 0.0);
  void store(ir::ValueId value, const ir::Region& destination);
  void copy(const ir::Region& source, const ir::Region& destination, target::CopyKind kind);
  ir::ValueId elementwise(ir::ElementwiseKind kind, std::vector<ir::ValueId> operands, ElementType element);
  ir::ValueId cast(ir::ValueId operand, ElementType element);
  ir::ValueId broadcast(ir::ValueId operand, std::vector<int> axis_map, std::vector<int64_t> shape);
  ir::ValueId reduce(ir::ValueId operand, int axis, ir::ReduceKind kind);
  ir::ValueId mma(ir::MmaOperand a, ir::MmaOperand b, ir::ValueId c, std::vector<int64_t> shape, std::string atom = "",
                  int warps_m = 0, int warps_n = 0);

 private:
  std::vector<ir::Block*> stack_;
};

struct GemmOptions {
  ElementType element = ElementType::Bf16;
  int threads = 128;
  int64_t bm = 128;
  int64_t bn = 128;
  int64_t bk = 32;
  // 0: operands straight from global memory.
  int stages = 3;
  int swizzle_bytes = 64;
  int64_t pad = 0;
  std::string atom = "mma_m16n8k16";
  bool has_assumption = true;
  target::CopyKind copy = target::CopyKind::CpAsync;
  // B is (K, N) in memory.
  bool is_b_k_major = false;
  int64_t raster_group = 1;
  bool is_persistent = false;
  std::string machine = "sm_80";
};
// D[m, n] = sum_k A[m, k] * B[n, k].
ir::Function gemm(const GemmOptions& options);
// Y[r, :] = softmax(X[r, :]) with the row in registers: at most `columns` columns, f32.
ir::Function softmax(int64_t rows, int64_t columns, int threads);
// Y = X + 1 over a long vector of bf16.
ir::Function add_one(int64_t tile, int threads, bool is_aligned);

}  // namespace tw::passes::testing

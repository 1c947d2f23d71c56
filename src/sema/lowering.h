// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "ir/function.h"
#include "sema/sema.h"
#include "sema/value.h"
#include "syntax/ast.h"

namespace tw::sema {

// A compile-time step is one statement or one iteration of an expanded loop.
inline constexpr int64_t kMaxSteps = 200000;
inline constexpr int64_t kMaxExpandedIterations = 1024;
inline constexpr int64_t kMaxTileElements = int64_t{1} << 20;
inline constexpr size_t kMaxInlineDepth = 16;
// Expressions and statements within each other, inlined bodies included.
inline constexpr int kMaxDepth = 400;
// Branches chosen at run time within each other; an `elif` stands inside the `else` before it.
inline constexpr int kMaxNestedBranches = 64;
// Nodes of a scalar expression, leaves of a tuple.
inline constexpr int64_t kMaxValueSize = 1000;
// What is found after this many errors in one kernel is not reported.
inline constexpr int kMaxKernelErrors = 50;

// The arguments of a call, matched with a builtin's parameters and not yet evaluated.
class Arguments {
 public:
  [[nodiscard]] const syntax::Expr* find(std::string_view name) const;
  // REQUIRES: the parameter is required by the signature.
  [[nodiscard]] const syntax::Expr& get(std::string_view name) const;
  // What a variadic parameter took.
  [[nodiscard]] const std::vector<const syntax::Expr*>& rest() const { return rest_; }

 private:
  friend class Lowering;
  std::map<std::string, const syntax::Expr*, std::less<>> named_;
  std::vector<const syntax::Expr*> rest_;
};

// An evaluated operand and where it stands.
struct Operand {
  Value value;
  diag::Span span;
};

// Evaluates the statements of a kernel over compile-time values and emits the IR of what remains for run time.
// An error is reported where it is found; the values it concerns become Poison, and lowering goes on to find more.
class Lowering {
 public:
  // `machine` may be null where only compile-time expressions are evaluated.
  Lowering(const syntax::Module& module, const KernelDecl* kernel, const target::Machine* machine,
           ir::Function& function, diag::Sink& sink);

  // lower_kernel.cpp
  void run(const Binding& binding);
  // Values of all const parameters; nullopt when one is missing (reported).
  std::optional<Binding> bind_consts(const syntax::FunctionDef& kernel, const Binding& given,
                                     bool report_missing = true);
  [[nodiscard]] const std::optional<diag::Reported>& failure() const { return failure_; }

  // For the evaluation of decorators.
  void set_consts(const syntax::FunctionDef& kernel, const Binding& binding);
  std::optional<Arguments> bind(const Builtin& builtin, const syntax::Call& call, diag::Span span);
  Value eval(const syntax::Expr& expr);
  std::optional<int64_t> eval_const_int(const syntax::Expr& expr, std::string_view what);
  std::optional<bool> eval_const_bool(const syntax::Expr& expr, std::string_view what);
  std::optional<std::string> eval_string(const syntax::Expr& expr, std::string_view what);
  void note(diag::Reported reported);
  void report_not_lowered(diag::Span span, std::string_view what, std::string_view hint = "");

 private:
  enum class Flow : uint8_t { Next, Break, Continue, Return };
  struct LoopScope {
    bool is_run_time = false;
    int branches = 0;
  };

  // lower_kernel.cpp
  void options(const Binding& binding);
  void parameters();
  void parameter(const syntax::Parameter& parameter);
  void tensor_parameter(const syntax::Parameter& parameter, ir::Direction direction,
                        const syntax::Subscript& annotation);
  std::optional<ir::ExprId> size_expression(const syntax::Expr& expr);
  void check_tags();

  // lower_stmt.cpp
  Flow exec_block(const syntax::Block& block);
  Flow exec(const syntax::Stmt& stmt);
  Flow exec_for(const syntax::Stmt& stmt, const syntax::For& node);
  Flow exec_range(const syntax::Stmt& stmt, const syntax::For& node, const RangeValue& range);
  Flow exec_expanded(const syntax::Stmt& stmt, const syntax::For& node, const std::vector<Value>& items);
  Flow exec_tiles(const syntax::Stmt& stmt, const syntax::For& node, const TilesValue& tiles);
  Flow exec_if(const syntax::Stmt& stmt, const syntax::If& node, size_t branch);
  Flow exec_with(const syntax::Stmt& stmt, const syntax::With& node);
  Flow exec_jump(const syntax::Stmt& stmt);
  void exec_expression(const syntax::Stmt& stmt, const syntax::Expr& expr);
  void assign(const syntax::Expr& target, Value value, diag::Span value_span);
  void merge(ir::IfOp& branch, const Frame& then_frame, const Frame& else_frame, size_t symbol_mark);
  Value merge_value(ir::IfOp& branch, const std::string& name, const Value& then_value, const Value& else_value,
                    size_t symbol_mark);
  Value changed_type(const syntax::Stmt& loop, const ir::Block& body, const std::string& name, const Value& before,
                     const Value& head, const Value& after, bool is_yielded);
  void poison_assigned(const syntax::Block& block);
  void poison_target(const syntax::Expr& target);
  bool take_step(diag::Span span, size_t cost = 1);
  // Runs `body` with emission into `block`.
  void inside(ir::Block& block, const std::function<void()>& body);
  // `when=`: runs `body` always, never or under a run-time condition.
  void guarded(const Arguments& arguments, diag::Span span, const std::function<void()>& body);

  // lower_expr.cpp
  Value eval_unbounded(const syntax::Expr& expr);
  bool is_small(const Value& value);
  bool enter(diag::Span span);
  [[nodiscard]] std::string text_of(ir::ExprId expr) const;
  bool refuse_memory_scalar(const Value& value, diag::Span span, std::string_view what);
  ir::ExprId add_constants(ir::ExprId left, ir::ExprId right, bool is_sub, std::optional<int64_t> constant);
  const syntax::FunctionDef* find_function(std::string_view name);
  Value eval_name(const syntax::Expr& expr, const syntax::Name& name);
  Value eval_unary(const syntax::Expr& expr, const syntax::Unary& node);
  Value eval_binary(const syntax::Expr& expr, const syntax::Binary& node);
  Value binary(syntax::BinaryOp op, const Operand& left, const Operand& right, diag::Span span, diag::Span op_span);
  Value int_binary(syntax::BinaryOp op, ir::ExprId left, ir::ExprId right, diag::Span span, diag::Span op_span);
  Value float_binary(syntax::BinaryOp op, double left, double right, diag::Span span);
  Value eval_compare(const syntax::Expr& expr, const syntax::Compare& node);
  Value compare(syntax::CompareOp op, const Operand& left, const Operand& right, diag::Span span);
  Value eval_bool_expr(const syntax::Expr& expr, const syntax::BoolExpr& node);
  Value eval_conditional(const syntax::Expr& expr, const syntax::Conditional& node);
  Value eval_attribute(const syntax::Expr& expr, const syntax::Attribute& node);
  Value eval_subscript(const syntax::Expr& expr, const syntax::Subscript& node);
  Value index_tile(const syntax::Expr& expr, const syntax::Subscript& node, TileValue tile);
  std::optional<ir::ExprId> eval_int(const syntax::Expr& expr, std::string_view what);
  std::optional<ir::ExprId> eval_bool(const syntax::Expr& expr, std::string_view what);
  std::optional<ir::ExprId> to_bool(const Value& value, diag::Span span, std::string_view what);
  std::optional<ElementType> eval_type(const syntax::Expr& expr, std::string_view what);
  // A compile-time integer in [lowest, highest], lowest >= 0; -1 when it is none (reported).
  int64_t eval_bounded(const syntax::Expr& expr, std::string_view what, int64_t lowest, int64_t highest,
                       std::string_view expected);
  std::optional<std::vector<int64_t>> eval_shape(const syntax::Expr& expr, std::string_view what);
  std::optional<double> eval_const_float(const syntax::Expr& expr, std::string_view what);
  [[nodiscard]] std::optional<int64_t> constant_of(const Value& value) const;
  [[nodiscard]] std::string describe(const Value& value) const;
  [[nodiscard]] std::string describe_tile(ir::ValueId id) const;
  Value poison_wrong_kind(diag::Span span, std::string_view what, const Value& found, std::string_view expected);

  // lower_calls.cpp
  Value eval_call(const syntax::Expr& expr, const syntax::Call& node);
  Value call_builtin(const syntax::Expr& expr, const syntax::Call& node, const Builtin& builtin);
  Value call_function(const syntax::Expr& expr, const syntax::Call& node, const syntax::FunctionDef& function);
  Value call_lambda(const LambdaValue& lambda, std::vector<Value> arguments, diag::Span span);
  Value call_range(const Arguments& arguments, diag::Span span);
  Value call_tiles(const Arguments& arguments, diag::Span span);
  Value call_assume(const Arguments& arguments);
  Value call_tag(const Arguments& arguments, diag::Span span);
  Value call_check(const Arguments& arguments, diag::Span span);
  Value call_dict(const syntax::Call& node);
  Value call_cp_async(const syntax::Call& node, diag::Span span);
  std::optional<ir::TagMap> eval_tag_map(const syntax::Expr& expr, size_t rank, std::string_view what);
  std::optional<std::vector<ir::CoverageRange>> eval_over(const syntax::Expr& expr);
  void check_tag_name(const std::string& name, diag::Span span);
  [[nodiscard]] std::vector<std::string> visible_names() const;

  // lower_tile.cpp
  Value elementwise(ir::ElementwiseKind kind, const std::vector<Operand>& operands, diag::Span span,
                    std::string_view what, bool fast = false);
  ir::ValueId materialize(const Value& value, ElementType type, const std::vector<int64_t>& shape, diag::Span span);
  ir::ValueId broadcast(ir::ValueId from, const std::vector<int64_t>& shape, std::vector<int> axis_map,
                        diag::Span span);
  std::optional<std::vector<int64_t>> common_shape(const std::vector<Operand>& operands, std::string_view what,
                                                   diag::Span span);
  Value call_math(ir::ElementwiseKind kind, const Builtin& builtin, const Arguments& arguments, diag::Span span);
  Value call_extremum(bool is_max, const Arguments& arguments, diag::Span span);
  Value call_where(const Arguments& arguments, diag::Span span);
  Value call_to(const Value& value, const syntax::Call& node, diag::Span span);
  Value call_reduce(const Arguments& arguments, diag::Span span);
  Value call_iota(const Arguments& arguments, diag::Span span);
  Value call_full(const Arguments& arguments, diag::Span span);
  Value call_zeros(const Arguments& arguments, diag::Span span);
  Value call_relayout(const Arguments& arguments, diag::Span span);
  Value call_pin(const Arguments& arguments, diag::Span span);
  Value call_mma(const Arguments& arguments, diag::Span span);
  std::optional<std::pair<int, int>> eval_warps(const syntax::Expr& expr);
  std::optional<ir::MmaOperand> mma_operand(const Operand& operand, char name, ElementType& type,
                                            std::vector<int64_t>& shape);
  bool check_mma_atom(const std::string& atom, ElementType a, ElementType b, ElementType c, diag::Span span);
  std::optional<ir::ReduceKind> eval_reduce_kind(const syntax::Expr& expr);
  ir::ValueId new_value(ElementType element, std::vector<int64_t> shape, diag::Span span, std::string name = "");
  // A register tile for a value that is one already or a rank-0 scalar that can become one.
  std::optional<ir::ValueId> to_tile(const Operand& operand, std::string_view what);

  // lower_memory.cpp
  Value call_shared(const Arguments& arguments, diag::Span span);
  Value call_copy(const Arguments& arguments, diag::Span span);
  Value call_load(const Arguments& arguments, diag::Span span);
  Value call_store(const Arguments& arguments, diag::Span span);
  Value call_red(const Arguments& arguments, diag::Span span);
  Value call_drain(const Arguments& arguments, diag::Span span);
  Value call_vector(const Arguments& arguments);
  Value index_memory(const syntax::Expr& expr, const syntax::Subscript& node, const MemoryValue& memory);
  bool index_axis(MemoryValue& memory, size_t axis, const syntax::Expr& index, std::string_view name);
  Value transpose(const Value& value, diag::Span span);
  MemoryValue whole(std::variant<ir::TensorId, ir::SharedId> object) const;
  std::optional<ir::Region> to_region(const MemoryValue& memory, diag::Span span);
  std::optional<ir::Region> eval_region(const syntax::Expr& expr, std::string_view what);
  std::optional<target::CopyAtom> eval_copy_atom(const Arguments& arguments, std::string_view user);
  bool check_copy_atom(target::CopyAtom atom, const ir::Region* source, const ir::Region* destination, ElementType type,
                       std::string_view user, diag::Span span);
  bool check_direction(const ir::Region& region, bool is_write, bool is_red, std::string_view user);
  [[nodiscard]] ElementType element_of(const ir::Region& region) const;
  [[nodiscard]] std::string name_of(const std::variant<ir::TensorId, ir::SharedId>& object) const;

  template <class Body>
  ir::Op& emit(diag::Span span, Body body) {
    block_->push_back(ir::Op{function_.new_op_id(), span, std::move(body)});
    return block_->back();
  }
  ir::ExprPool& exprs() { return function_.exprs; }
  [[nodiscard]] const ir::ExprPool& exprs() const { return function_.exprs; }

  const syntax::Module& module_;
  const KernelDecl* kernel_;
  const target::Machine* machine_;
  ir::Function& function_;
  diag::Sink& sink_;
  std::optional<diag::Reported> failure_;

  ir::Block* block_ = nullptr;
  std::shared_ptr<Frame> frame_ = std::make_shared<Frame>();
  // Size names that the parameter list has introduced so far; only while it is read.
  bool binds_sizes_ = false;
  std::vector<const syntax::FunctionDef*> inline_stack_;
  std::vector<LoopScope> loops_;
  // Run-time branches and loops around the statement; `function_base_` of them are outside the inlined function.
  int branches_ = 0;
  int run_time_depth_ = 0;
  int function_base_ = 0;
  int group_depth_ = 0;
  bool has_tiles_ = false;
  bool in_tiles_ = false;
  bool has_stopped_ = false;
  int64_t steps_ = 0;
  int errors_ = 0;
  int depth_ = 0;
  std::vector<int64_t> expr_sizes_;
  bool has_functions_ = false;
  std::map<std::string_view, const syntax::FunctionDef*> functions_;
  Value return_value_;
  // The name that the statement at hand assigns its value to.
  std::string name_hint_;
  std::set<std::string, std::less<>> reported_later_;
  // Where a broadcast value comes from, so that broadcasts compose into one.
  std::map<uint32_t, std::pair<ir::ValueId, std::vector<int>>> broadcasts_;
  // Axis names that occur twice in a tensor without a `tag`.
  std::map<uint32_t, std::pair<std::string, diag::Span>> untagged_;
};

// Removes what loops and branches carry for nothing: names that the body only sets, or leaves as they are.
void prune_carried(ir::Function& function);
bool uses_value(const ir::Block& block, ir::ValueId value);
bool uses_symbol(const ir::ExprPool& exprs, const ir::Block& block, ir::SymbolId symbol);

}  // namespace tw::sema

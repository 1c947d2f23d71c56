// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/address.h"
#include "codegen/launch.h"
#include "passes/facts.h"
#include "targets/cuda/emit.h"
#include "targets/cuda/registers.h"

// Inside of emit.cpp; split over files by what is written: scalars, memory, computation, host.
namespace tw::targets::cuda {

// One access of a loop nest.
struct Place {
  // Global: a pointer. Shared: a byte offset.
  std::string address;
  // Empty: always.
  std::string guard;
};
using PlaceOf = std::function<Place(const std::vector<std::string>& variables)>;

class Emitter {
 public:
  Emitter(const ir::Function& function, const EmitOptions& options);

  // The parts of a file that one kernel needs.
  struct Sections {
    std::string header;
    std::set<std::string> helpers;
    std::map<std::string, std::string> mma_functions;
    std::string kernel;
    std::string launcher;
  };
  Result<Sections> sections();
  // What launchers share.
  static std::string host_prelude();
  // A function that calls this kernel's launcher where its assumptions on sizes hold, else the other's.
  [[nodiscard]] std::string dispatcher_text(const std::string& general) const;

 private:
  // Text.
  void line(const std::string& text);
  void open(const std::string& head);
  void close(const std::string& tail = "}");
  // A constant of the whole kernel, declared before the body; equal text, one name.
  std::string hoist(const std::string& type, const std::string& name, const std::string& text);
  std::string unique(const std::string& wish);
  std::string helper(const std::string& name);
  void source_comment(const ir::Op& op);

  // Scalars.
  [[nodiscard]] bool is_wide(ir::ExprId id) const { return wide_.contains(id); }
  std::string symbol_name(ir::SymbolId id);
  // Parameters keep their names unless the text has another meaning for them.
  [[nodiscard]] const std::string& tensor_name(ir::TensorId id) const { return plan_.parameters[id.index].name; }
  [[nodiscard]] std::string host_expression(ir::ExprId id) const;
  [[nodiscard]] std::string host_span(ir::TensorId id) const;
  std::string scalar(ir::ExprId id);
  // `scalar` as long long.
  std::string wide_scalar(ir::ExprId id);
  std::string operand(ir::ExprId id, bool as_wide);
  std::string c_type(ir::ExprId id) const { return is_wide(id) ? "long long" : "int"; }

  // Registers.
  std::string array(ir::ValueId id);
  void declare(ir::ValueId id);
  // Element `index` of the value as float, an integer or bool.
  std::string element(ir::ValueId id, const std::string& index);
  // Its bits, for 16-bit elements.
  std::string bits16(ir::ValueId id, const std::string& index);
  std::string to_storage(ElementType element, const std::string& text);
  void assign(ir::ValueId result, const std::function<std::string(const std::string& index)>& expression);
  void copy_registers(ir::ValueId from, ir::ValueId to);
  std::string broadcast_index(const ir::BroadcastOp& op, const std::string& index);

  // Memory.
  std::string start(const codegen::AccessPlan& plan, size_t axis);
  std::vector<std::string> open_loops(const codegen::AccessPlan& plan);
  void close_loops(const codegen::AccessPlan& plan);
  static std::string moved(const codegen::AccessPlan& plan, int axis, const std::vector<std::string>& variables);
  static std::string register_index(const codegen::AccessPlan& plan, const std::vector<std::string>& variables,
                                    int64_t divide_by);
  PlaceOf place_global(const ir::Region& region, const codegen::AccessPlan& plan, const std::vector<bool>& guards);
  PlaceOf place_shared(const ir::Region& region, const codegen::AccessPlan& plan);
  PlaceOf place(const ir::Region& region, const codegen::AccessPlan& plan, const std::vector<bool>& guards);
  std::string slot_base(const ir::Region& region);
  bool open_owner(const codegen::AccessPlan& plan);
  void emit_copy(const ir::CopyOp& op);
  void emit_load(const ir::LoadOp& op);
  void emit_ldmatrix(const ir::LoadOp& op);
  void emit_store(const ir::StoreOp& op);
  void emit_red(const ir::RedOp& op);
  [[nodiscard]] ElementType element_of(const ir::Region& region) const;
  [[nodiscard]] std::string pointer_to(const ir::Region& region, const std::string& address, const std::string& type,
                                       bool is_const) const;

  // Computation.
  void emit_block(const ir::Block& block);
  void emit_op(const ir::Op& op);
  void emit_for(const ir::ForOp& op);
  void emit_tiles(const ir::TilesOp& op);
  void emit_if(const ir::IfOp& op);
  void emit_mma(const ir::MmaOp& op);
  void emit_fma(const ir::MmaOp& op);
  void emit_elementwise(const ir::ElementwiseOp& op);
  void emit_reduce(const ir::ReduceOp& op);
  std::string elementwise_text(const ir::ElementwiseOp& op, const std::string& index);
  std::string mma_function(const target::MmaAtom& atom);
  std::string reduce_text(ir::ReduceKind kind, ElementType element, const std::string& a, const std::string& b);
  // A guard around a tile that runs no further than this many times in `index`; "" and no loop for one.
  void open_count(int64_t count, std::string& index);
  void close_count(int64_t count);

  // Host.
  std::string signature(bool is_device) const;
  std::string launcher_text();
  std::string header_text() const;

  const ir::Function& function_;
  EmitOptions options_;
  codegen::LaunchPlan plan_;
  passes::Facts facts_;
  Registers registers_;
  std::unordered_set<ir::ExprId> wide_;
  std::set<std::string> helpers_;
  std::map<std::string, std::string> mma_functions_;
  std::vector<std::pair<std::string, std::string>> hoisted_;
  std::unordered_map<std::string, std::string> hoisted_names_;
  std::unordered_map<ir::SymbolId, std::string> symbol_names_;
  std::unordered_map<uint32_t, std::string> array_names_;
  std::vector<std::unordered_set<uint32_t>> declared_;
  std::set<std::string> names_;
  std::string body_;
  int depth_ = 1;
  std::string last_comment_;
  std::string failure_;
};

// "a * b + c" of text that may be a number: index arithmetic that reads well.
std::string add_text(const std::string& a, const std::string& b);
std::string scaled_text(const std::string& a, int64_t factor);
// ThreadTerms over a register index.
std::string map_index(const codegen::ThreadTerms& terms, const std::string& index);
// A C literal of type float.
std::string float_literal(double value);
std::string double_literal(double value);
bool is_number(const std::string& text);

}  // namespace tw::targets::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/element_type.h"
#include "ir/expr.h"
#include "layout/layout.h"
#include "layout/swizzle.h"
#include "target/machine.h"
#include "target/tv_layout.h"

// The tile IR: one kernel in one configuration (all `const` parameters bound).
//
// One IR serves all stages. sema makes `Stage::Source`; passes lower it to `Stage::Lowered`, where every register tile
// has a thread/value layout, every shared object an address map, every memory access its threads, width and guards,
// pipelines are rings with explicit versions, and all waits and barriers stand in the text. Verifier, emulator and
// emitters read Lowered; the reading (what the program means) is defined on both, by ignoring order, layouts and
// storage.
//
// Register tiles are immutable values (SSA with structured control flow: loops carry values, ifs yield them). Memory is
// objects: global tensors and shared objects. One block is one unit (a sequential process); roles join later as
// regions.
namespace tw::ir {

using ValueId = Id<struct ValueTag>;
using TensorId = Id<struct TensorTag>;
using SharedId = Id<struct SharedTag>;

enum class Stage : uint8_t { Source, Lowered };
enum class Direction : uint8_t { In, Out, InOut, Acc, Work };
// Auto: the compiler adds the order inside one unit that is missing. Manual: adds nothing.
enum class SyncMode : uint8_t { Auto, Manual };
enum class ReduceKind : uint8_t { Add, Max, Min, Or };

// A tag: named integers as functions of an element's coordinates. Names that are absent are not part of the tag.
struct TagMap {
  // One Axis symbol a dimension of the tagged tensor or tile.
  std::vector<SymbolId> axes;
  std::vector<std::pair<std::string, ExprId>> fields;
};

struct Tensor {
  std::string name;
  Direction direction = Direction::In;
  ElementType element = ElementType::F32;
  std::vector<ExprId> extents;
  // In elements; row-major packed unless the program says otherwise.
  std::vector<ExprId> strides;
  // Dimension names, "" where the dimension is an expression; default tags come from them.
  std::vector<std::string> dims;
  // Default: dims' names and coordinates; replaced by `tag(T, lambda ...)`.
  TagMap tag;
  // Acc: how contributions combine.
  std::optional<ReduceKind> acc_op;
  diag::Span span;
};

// Address map of one shared object: byte = offset_bytes + slot * slot_bytes + swizzle(elements(coord) * element bytes).
struct SharedLayout {
  layout::Layout elements;
  // On byte addresses inside a slot; Swizzle<0,4,3> is the identity.
  layout::Swizzle swizzle;
  int64_t slot_bytes = 0;
  int64_t offset_bytes = 0;
};

struct SharedObject {
  std::string name;
  ElementType element = ElementType::F32;
  std::vector<int64_t> shape;
  // Number of slots; 0: the object has one version only. Version v lives in slot v mod ring.
  int ring = 0;
  // What the program asks for: 0 = not stated, 32, 64, 128; `explicit_none`: swizzle=none.
  int swizzle_bytes = 0;
  bool swizzle_none = false;
  // Elements added to each row's stride.
  int64_t pad = 0;
  // The program's own element layout (`layout=`), if any.
  std::optional<layout::Layout> explicit_layout;
  // Shares storage with these (cells stay distinct).
  std::vector<SharedId> aliases;
  // Made by a pass (scratch of a reduction or relayout).
  bool is_scratch = false;
  // Lowered only.
  std::optional<SharedLayout> layout;
  diag::Span span;
};

struct Value {
  std::string name;
  ElementType element = ElementType::F32;
  // Rank 0 to 4; rank 0 is held by every thread.
  std::vector<int64_t> shape;
  // Given by the program (`pin`).
  bool is_pinned = false;
  // Source: only pinned values. Lowered: all values.
  std::optional<target::TvLayout> layout;
  diag::Span span;
};

// One axis of an object in a region: the point `lo`, or the slice [lo, lo + extent).
struct AxisIndex {
  ExprId lo;
  // 0: a point, which drops the axis.
  int64_t extent = 0;
  [[nodiscard]] bool is_point() const { return extent == 0; }
};

// A rectangular part of an object, seen as a tile. Tile axis i is the perm[i]-th sliced axis of the object (`.T`
// swaps). Outside the tensor: reads give the pad value, writes are dropped. Shared objects are never indexed outside
// (obligation 3).
struct Region {
  std::variant<TensorId, SharedId> object;
  // Shared objects with a ring only.
  ExprId version;
  std::vector<AxisIndex> axes;
  std::vector<int> perm;
  diag::Span span;

  [[nodiscard]] bool is_global() const { return std::holds_alternative<TensorId>(object); }
  [[nodiscard]] TensorId tensor() const { return std::get<TensorId>(object); }
  [[nodiscard]] SharedId shared() const { return std::get<SharedId>(object); }
  // Object axis behind tile axis i.
  [[nodiscard]] int object_axis(int tile_axis) const;
  // Extents of the tile axes.
  [[nodiscard]] std::vector<int64_t> tile_shape() const;
};

// Lowered only: how a memory access is carried out. `vector_elems` consecutive values (value digits of the access'
// layout) form one access of that many elements, contiguous in memory. guards[i]: object axis i is compared with the
// tensor's extents before the access (the first element of a vector stands for all of it).
struct Access {
  int vector_elems = 1;
  std::vector<bool> guards;
};

enum class AsyncKind : uint8_t { CpAsync };
enum class SyncScope : uint8_t { Warp, Block };
enum class LoopKind : uint8_t { Range, Pipeline };
enum class RasterKind : uint8_t { RowMajor, Grouped };

// Element-wise functions. Comparisons give Bool; Where takes (condition, a, b); Cast converts to the result's type
// (round to nearest even; to fp8 and integers saturating; f32 to tf32 rounds).
enum class ElementwiseKind : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  Neg,
  Abs,
  Exp,
  Exp2,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Sigmoid,
  Where,
  Cast,
  Eq,
  Ne,
  Lt,
  Le,
  And,
  Or,
  Not,
};
std::string_view name_of(ElementwiseKind kind);

struct Op;
using Block = std::vector<Op>;

// A register tile that a loop hands from iteration to iteration.
struct CarriedValue {
  ValueId init;
  // The value at the head of an iteration, visible in the body.
  ValueId argument;
  // The value at the end of the body.
  ValueId yield;
  // The value after the loop.
  ValueId result;
};
struct CarriedScalar {
  ExprId init;
  SymbolId argument;
  ExprId yield;
  SymbolId result;
};

// for variable in range(begin, end, step); step > 0. Zero iterations when begin >= end.
// Pipeline (Source only): the same meaning; asks for `stages` versions of the shared tiles its body fills.
struct ForOp {
  SymbolId variable;
  ExprId begin, end;
  int64_t step = 1;
  LoopKind kind = LoopKind::Range;
  int stages = 1;
  // Emission hint; 0 = none.
  int unroll = 0;
  std::vector<CarriedValue> values;
  std::vector<CarriedScalar> scalars;
  Block body;
};

// for variables in tiles(extents...): every point of the index space is executed once by some block. Not persistent:
// the grid has one block a point. Lowered: `decode[i]` is variable i as an expression over `linear` and sizes; a
// persistent block runs linear = block, block + grid, ... below the product of the extents.
struct TilesOp {
  std::vector<SymbolId> variables;
  std::vector<ExprId> extents;
  RasterKind raster = RasterKind::RowMajor;
  int64_t raster_group = 1;
  bool persistent = false;
  SymbolId linear;
  std::vector<ExprId> decode;
  Block body;
};

struct IfResult {
  ValueId then_value, else_value, result;
};
struct IfOp {
  ExprId condition;
  Block then_body, else_body;
  std::vector<IfResult> results;
};

// Memory to memory. Lowered: `map` says which thread moves which element of the tile.
struct CopyOp {
  Region source, destination;
  target::CopyAtom atom;
  double fill = 0.0;
  std::optional<target::TvLayout> map;
  // One vector width for both sides; guards of the global side.
  Access access;
};

// Memory to registers; the result's layout says which thread holds what. Ldmatrix: shared to registers.
struct LoadOp {
  Region source;
  target::CopyAtom atom;
  double fill = 0.0;
  ValueId result;
  Access access;
  // Lowered, Ldmatrix: 8x8 matrices an instruction (1, 2, 4) and whether it transposes.
  int matrices = 0;
  bool transposed = false;
};

// Registers to memory. Elements held by several threads or registers are written by the first owner only.
struct StoreOp {
  ValueId value;
  Region destination;
  target::CopyAtom atom;
  Access access;
};

// Atomic combination into global memory (Acc).
struct RedOp {
  ValueId value;
  Region destination;
  ReduceKind kind = ReduceKind::Add;
  Access access;
};

// result[m,n] = c[m,n] + sum_k a[m,k] * b[n,k]. Operands in memory (Source only, and where the atom reads memory).
using MmaOperand = std::variant<ValueId, Region>;
struct MmaOp {
  MmaOperand a, b;
  // Invalid: zeros.
  ValueId c;
  ValueId result;
  // Name as in the target entry ("fma", "mma_m16n8k16"); empty: chosen by layout inference.
  std::string atom;
  // Grid of warps (of threads for fma) over (m, n); 0 = chosen by layout inference.
  int warps_m = 0;
  int warps_n = 0;
};

// All operands and the result have the result's shape (BroadcastOp makes it so).
struct ElementwiseOp {
  ElementwiseKind kind;
  std::vector<ValueId> operands;
  ValueId result;
  bool fast = false;
};

// Operand axis d becomes result axis axis_map[d], of equal extent or extent 1; other result axes repeat.
struct BroadcastOp {
  ValueId operand;
  std::vector<int> axis_map;
  ValueId result;
};

// Every element is `value`, rounded to the element type.
struct ConstantOp {
  double value = 0.0;
  ValueId result;
};

// Element (.., i, ..) is i along `axis`; element type I32.
struct IotaOp {
  int axis = 0;
  ValueId result;
};

// Rank 0: the integer (I32, I64) or truth value (Bool) of a scalar expression.
struct ExprOp {
  ExprId expr;
  ValueId result;
};

// Rank 0: a floating-point scalar argument of the kernel.
struct ScalarArgumentOp {
  int argument = 0;
  ValueId result;
};

// Reduces one axis away. Order unspecified. Lowered: `keep` > 1 leaves one partial result a group, as a last axis in
// place of the reduced one (element c of the axis belongs to group (c / group_stride) % keep): the part inside a warp.
struct ReduceOp {
  ValueId operand;
  int axis = 0;
  ReduceKind kind = ReduceKind::Add;
  int64_t keep = 1;
  int64_t group_stride = 1;
  ValueId result;
};

// The same tile under another layout; the only way elements change threads.
struct RelayoutOp {
  ValueId operand;
  ValueId result;
  bool through_shared = true;
};

// Closes the group of asynchronous operations that the executing threads issued since the last commit (empty groups
// exist).
struct CommitOp {
  AsyncKind kind = AsyncKind::CpAsync;
};

// Waits until all but the newest `pending` groups of the executing threads are complete.
struct DrainOp {
  AsyncKind kind = AsyncKind::CpAsync;
  int pending = 0;
};

// Barrier of the unit's threads (Block) or of each warp (Warp).
struct SyncOp {
  SyncScope scope = SyncScope::Block;
  // Placed by a pass rather than written by the author.
  bool is_inferred = false;
};

// Every non-pad element's tag equals `expected` (fields over the axes and scalars in scope) where `where` holds, and
// each `over` name was covered exactly once for each value of [lo, hi).
struct CoverageRange {
  std::string name;
  ExprId lo, hi;
};
struct CheckOp {
  ValueId value;
  TagMap expected;
  std::vector<CoverageRange> over;
  // Invalid: everywhere.
  ExprId where;
};

using OpBody =
    std::variant<ForOp, TilesOp, IfOp, CopyOp, LoadOp, StoreOp, RedOp, MmaOp, ElementwiseOp, BroadcastOp, ConstantOp,
                 IotaOp, ExprOp, ScalarArgumentOp, ReduceOp, RelayoutOp, CommitOp, DrainOp, SyncOp, CheckOp>;

struct Op {
  // Unique in the function, kept by passes that keep the op; pass-made ops get fresh ones from Function::new_op_id.
  uint32_t id = 0;
  diag::Span span;
  OpBody body;
};

// A floating-point scalar parameter; integer ones are Scalar symbols.
struct ScalarParameter {
  std::string name;
  ElementType element = ElementType::I32;
  // Integer parameters only.
  SymbolId symbol;
};

// `assume(...)`: a condition over sizes and scalars, or finiteness of a tensor's contents.
struct Assumption {
  ExprId condition;
  TensorId finite;
  diag::Span span;
};

struct Function {
  std::string name;
  Stage stage = Stage::Source;
  const target::Machine* machine = nullptr;
  int threads = 128;
  int min_blocks = 0;
  SyncMode sync = SyncMode::Auto;
  // Declared by the program: the kernel must not spill.
  bool no_spills = false;

  ExprPool exprs;
  std::vector<Tensor> tensors;
  // In order of first appearance: the order of the launch ABI.
  std::vector<SymbolId> sizes;
  std::vector<ScalarParameter> scalars;
  // The configuration: const parameters and their values, in declaration order.
  std::vector<std::pair<std::string, int64_t>> constants;
  std::vector<SharedObject> shared;
  std::vector<Value> values;
  std::vector<Assumption> assumptions;
  Block body;
  diag::Span span;

  uint32_t next_op_id = 1;
  // Lowered only: dynamic shared memory of a block.
  int64_t shared_bytes = 0;
  // Lowered only: the scalar expressions that emitters compute as 64-bit integers, sorted; all others are 32-bit.
  std::vector<ExprId> wide_exprs;

  uint32_t new_op_id() { return next_op_id++; }
  ValueId add_value(Value value);
  SharedId add_shared(SharedObject object);
  TensorId add_tensor(Tensor tensor);
  [[nodiscard]] const Value& value(ValueId id) const { return values[id.index]; }
  [[nodiscard]] Value& value(ValueId id) { return values[id.index]; }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[id.index]; }
  [[nodiscard]] Tensor& tensor(TensorId id) { return tensors[id.index]; }
  [[nodiscard]] const SharedObject& shared_object(SharedId id) const { return shared[id.index]; }
  [[nodiscard]] SharedObject& shared_object(SharedId id) { return shared[id.index]; }
};

// Calls visit(op) for every op, parents before children, in program order.
void for_each_op(const Block& block, const std::function<void(const Op&)>& visit);
void for_each_op(Block& block, const std::function<void(Op&)>& visit);

// What the op reads and writes, so that analyses need not know every op. Nested blocks are not descended into.
struct OpUses {
  std::vector<ValueId> values_read;
  std::vector<ValueId> values_defined;
  std::vector<const Region*> regions_read;
  std::vector<const Region*> regions_written;
};
OpUses uses_of(const Op& op);

// Overload set for std::visit.
template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace tw::ir

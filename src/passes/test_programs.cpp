// SPDX-License-Identifier: Apache-2.0
#include "passes/test_programs.h"

#include <limits>

#include "base/check.h"

namespace tw::passes::testing {

using ir::AxisIndex;
using ir::ExprId;
using ir::Region;
using ir::ValueId;

ProgramBuilder::ProgramBuilder(std::string name, int threads, std::string_view machine) {
  function.name = std::move(name);
  function.threads = threads;
  function.machine = target::find_machine(machine);
  TW_CHECK(function.machine != nullptr);
  stack_.push_back(&function.body);
}

ExprId ProgramBuilder::size(const std::string& name) {
  for (ir::SymbolId id : function.sizes) {
    if (function.exprs.symbol(id).name == name) {
      return function.exprs.symbol_ref(id);
    }
  }
  function.sizes.push_back(function.exprs.add_symbol(name, ir::SymbolKind::Size));
  return function.exprs.symbol_ref(function.sizes.back());
}

ir::TensorId ProgramBuilder::tensor(const std::string& name, ir::Direction direction, ElementType element,
                                    std::vector<ExprId> extents, std::vector<std::string> dims) {
  ir::Tensor tensor;
  tensor.name = name;
  tensor.direction = direction;
  tensor.element = element;
  tensor.extents = std::move(extents);
  tensor.dims = std::move(dims);
  tensor.strides.resize(tensor.extents.size());
  ExprId stride = c(1);
  for (size_t i = tensor.extents.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride = function.exprs.mul(stride, tensor.extents[i]);
  }
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    tensor.tag.axes.push_back(function.exprs.add_symbol("axis", ir::SymbolKind::Axis));
    tensor.tag.fields.emplace_back(tensor.dims[i], function.exprs.symbol_ref(tensor.tag.axes[i]));
  }
  return function.add_tensor(std::move(tensor));
}

ir::SharedId ProgramBuilder::shared(const std::string& name, ElementType element, std::vector<int64_t> shape,
                                    int swizzle_bytes, int64_t pad) {
  ir::SharedObject object;
  object.name = name;
  object.element = element;
  object.shape = std::move(shape);
  object.swizzle_bytes = swizzle_bytes;
  object.pad = pad;
  return function.add_shared(std::move(object));
}

void ProgramBuilder::assume_multiple(const std::string& name, int64_t of) {
  ir::Assumption assumption;
  assumption.condition = function.exprs.eq(function.exprs.mod(size(name), c(of)), c(0));
  function.assumptions.push_back(assumption);
}

ValueId ProgramBuilder::value(const std::string& name, ElementType element, std::vector<int64_t> shape) {
  ir::Value value;
  value.name = name;
  value.element = element;
  value.shape = std::move(shape);
  return function.add_value(std::move(value));
}

Region ProgramBuilder::region(ir::TensorId id, std::vector<AxisIndex> axes) {
  Region region;
  region.object = id;
  region.axes = std::move(axes);
  for (const AxisIndex& axis : region.axes) {
    if (!axis.is_point()) {
      region.perm.push_back(static_cast<int>(region.perm.size()));
    }
  }
  return region;
}

Region ProgramBuilder::region(ir::SharedId id, ExprId version) {
  Region region;
  region.object = id;
  region.version = version;
  for (int64_t extent : function.shared_object(id).shape) {
    region.perm.push_back(static_cast<int>(region.axes.size()));
    region.axes.push_back({c(0), extent});
  }
  return region;
}

Region ProgramBuilder::transposed(Region region) {
  std::swap(region.perm[0], region.perm[1]);
  return region;
}

void ProgramBuilder::add(ir::OpBody body) {
  top().push_back({function.new_op_id(), {}, std::move(body)});
}

ValueId ProgramBuilder::constant(double number, ElementType element, std::vector<int64_t> shape) {
  ValueId id = value("", element, std::move(shape));
  add(ir::ConstantOp{number, id});
  return id;
}

ValueId ProgramBuilder::load(const Region& source, target::CopyAtom atom, double fill) {
  ir::LoadOp load;
  load.source = source;
  load.atom = atom;
  load.fill = fill;
  const ElementType element =
      source.is_global() ? function.tensor(source.tensor()).element : function.shared_object(source.shared()).element;
  load.result = value("x", element, source.tile_shape());
  add(load);
  return load.result;
}

void ProgramBuilder::store(ValueId id, const Region& destination) {
  ir::StoreOp store;
  store.value = id;
  store.destination = destination;
  add(store);
}

void ProgramBuilder::copy(const Region& source, const Region& destination, target::CopyKind kind) {
  ir::CopyOp copy;
  copy.source = source;
  copy.destination = destination;
  copy.atom.kind = kind;
  add(copy);
}

ValueId ProgramBuilder::elementwise(ir::ElementwiseKind kind, std::vector<ValueId> operands, ElementType element) {
  ValueId result = value("y", element, function.value(operands.back()).shape);
  add(ir::ElementwiseOp{kind, std::move(operands), result, false});
  return result;
}

ValueId ProgramBuilder::cast(ValueId operand, ElementType element) {
  return elementwise(ir::ElementwiseKind::Cast, {operand}, element);
}

ValueId ProgramBuilder::broadcast(ValueId operand, std::vector<int> axis_map, std::vector<int64_t> shape) {
  ValueId result = value("", function.value(operand).element, std::move(shape));
  add(ir::BroadcastOp{operand, std::move(axis_map), result});
  return result;
}

ValueId ProgramBuilder::reduce(ValueId operand, int axis, ir::ReduceKind kind) {
  std::vector<int64_t> shape = function.value(operand).shape;
  shape.erase(shape.begin() + axis);
  ValueId result = value("total", function.value(operand).element, std::move(shape));
  ir::ReduceOp op;
  op.operand = operand;
  op.axis = axis;
  op.kind = kind;
  op.result = result;
  add(op);
  return result;
}

ValueId ProgramBuilder::mma(ir::MmaOperand a, ir::MmaOperand b, ValueId accumulator, std::vector<int64_t> shape,
                            std::string atom, int warps_m, int warps_n) {
  ValueId result = value("acc", ElementType::F32, std::move(shape));
  ir::MmaOp op;
  op.a = std::move(a);
  op.b = std::move(b);
  op.c = accumulator;
  op.result = result;
  op.atom = std::move(atom);
  op.warps_m = warps_m;
  op.warps_n = warps_n;
  add(op);
  return result;
}

ir::Function gemm(const GemmOptions& o) {
  ProgramBuilder b("gemm", o.threads, o.machine);
  ir::ExprPool& e = b.function.exprs;
  ExprId m = b.size("M");
  ExprId k = b.size("K");
  ir::TensorId a_tensor = b.tensor("A", ir::Direction::In, o.element, {m, k}, {"M", "K"});
  ExprId n = b.size("N");
  ir::TensorId b_tensor = o.is_b_k_major ? b.tensor("B", ir::Direction::In, o.element, {k, n}, {"K", "N"})
                                         : b.tensor("B", ir::Direction::In, o.element, {n, k}, {"N", "K"});
  const ElementType out = o.element == ElementType::Tf32 ? ElementType::F32 : o.element;
  ir::TensorId d_tensor = b.tensor("D", ir::Direction::Out, out, {m, n}, {"M", "N"});
  if (o.has_assumption) {
    b.assume_multiple("K", 8);
    b.assume_multiple("N", 8);
  }
  ir::TilesOp tiles;
  tiles.variables = {e.add_symbol("bm", ir::SymbolKind::TileCoord), e.add_symbol("bn", ir::SymbolKind::TileCoord)};
  tiles.extents = {e.ceil_div(m, b.c(o.bm)), e.ceil_div(n, b.c(o.bn))};
  tiles.persistent = o.is_persistent;
  tiles.raster = o.raster_group > 1 ? ir::RasterKind::Grouped : ir::RasterKind::RowMajor;
  tiles.raster_group = o.raster_group;
  ExprId row = e.mul(e.symbol_ref(tiles.variables[0]), b.c(o.bm));
  ExprId column = e.mul(e.symbol_ref(tiles.variables[1]), b.c(o.bn));
  b.push(tiles.body);
  ValueId zero = b.constant(0.0, ElementType::F32, {o.bm, o.bn});
  ir::ForOp loop;
  loop.variable = e.add_symbol("k", ir::SymbolKind::Loop);
  loop.begin = b.c(0);
  loop.end = e.ceil_div(k, b.c(o.bk));
  loop.kind = o.stages > 0 ? ir::LoopKind::Pipeline : ir::LoopKind::Range;
  loop.stages = std::max(o.stages, 1);
  ExprId depth = e.mul(e.symbol_ref(loop.variable), b.c(o.bk));
  ValueId argument = b.value("acc", ElementType::F32, {o.bm, o.bn});
  Region a_region = b.region(a_tensor, {{row, o.bm}, {depth, o.bk}});
  Region b_region = o.is_b_k_major ? b.region(b_tensor, {{depth, o.bk}, {column, o.bn}})
                                   : b.region(b_tensor, {{column, o.bn}, {depth, o.bk}});
  b.push(loop.body);
  ValueId next;
  if (o.stages == 0) {
    ValueId a = b.load(a_region);
    ValueId w = b.load(o.is_b_k_major ? ProgramBuilder::transposed(b_region) : b_region);
    next = b.mma(a, w, argument, {o.bm, o.bn}, o.atom);
  } else {
    ir::SharedId sa = b.shared("sA", o.element, {o.bm, o.bk}, o.swizzle_bytes, o.pad);
    ir::SharedId sb = o.is_b_k_major ? b.shared("sB", o.element, {o.bk, o.bn}, o.swizzle_bytes, o.pad)
                                     : b.shared("sB", o.element, {o.bn, o.bk}, o.swizzle_bytes, o.pad);
    b.copy(a_region, b.region(sa), o.copy);
    b.copy(b_region, b.region(sb), o.copy);
    Region w = b.region(sb);
    next = b.mma(b.region(sa), o.is_b_k_major ? ProgramBuilder::transposed(w) : w, argument, {o.bm, o.bn}, o.atom);
  }
  b.pop();
  ValueId result = b.value("acc", ElementType::F32, {o.bm, o.bn});
  loop.values.push_back({zero, argument, next, result});
  b.add(std::move(loop));
  b.store(out == ElementType::F32 ? result : b.cast(result, out), b.region(d_tensor, {{row, o.bm}, {column, o.bn}}));
  b.pop();
  b.add(std::move(tiles));
  return std::move(b.function);
}

ir::Function softmax(int64_t rows, int64_t columns, int threads) {
  ProgramBuilder b("softmax", threads);
  ir::ExprPool& e = b.function.exprs;
  ExprId r = b.size("R");
  ExprId n = b.size("C");
  ir::TensorId x = b.tensor("X", ir::Direction::In, ElementType::F32, {r, n}, {"R", "C"});
  ir::TensorId y = b.tensor("Y", ir::Direction::Out, ElementType::F32, {r, n}, {"R", "C"});
  b.assume_multiple("C", 4);
  ir::TilesOp tiles;
  tiles.variables = {e.add_symbol("t", ir::SymbolKind::TileCoord)};
  tiles.extents = {e.ceil_div(r, b.c(rows))};
  ExprId row = e.mul(e.symbol_ref(tiles.variables[0]), b.c(rows));
  b.push(tiles.body);
  ValueId v = b.load(b.region(x, {{row, rows}, {b.c(0), columns}}), {}, -std::numeric_limits<double>::infinity());
  ValueId top = b.reduce(v, 1, ir::ReduceKind::Max);
  ValueId shifted =
      b.elementwise(ir::ElementwiseKind::Sub, {v, b.broadcast(top, {0}, {rows, columns})}, ElementType::F32);
  ValueId p = b.elementwise(ir::ElementwiseKind::Exp, {shifted}, ElementType::F32);
  ValueId sum = b.reduce(p, 1, ir::ReduceKind::Add);
  ValueId out = b.elementwise(ir::ElementwiseKind::Div, {p, b.broadcast(sum, {0}, {rows, columns})}, ElementType::F32);
  b.store(out, b.region(y, {{row, rows}, {b.c(0), columns}}));
  b.pop();
  b.add(std::move(tiles));
  return std::move(b.function);
}

ir::Function add_one(int64_t tile, int threads, bool is_aligned) {
  ProgramBuilder b("add_one", threads);
  ir::ExprPool& e = b.function.exprs;
  ExprId n = b.size("N");
  ir::TensorId x = b.tensor("X", ir::Direction::In, ElementType::Bf16, {n}, {"N"});
  ir::TensorId y = b.tensor("Y", ir::Direction::Out, ElementType::Bf16, {n}, {"N"});
  if (is_aligned) {
    b.assume_multiple("N", 8);
  }
  ir::TilesOp tiles;
  tiles.variables = {e.add_symbol("t", ir::SymbolKind::TileCoord)};
  tiles.extents = {e.ceil_div(n, b.c(tile))};
  ExprId at = e.mul(e.symbol_ref(tiles.variables[0]), b.c(tile));
  b.push(tiles.body);
  ValueId v = b.cast(b.load(b.region(x, {{at, tile}})), ElementType::F32);
  ValueId one = b.broadcast(b.constant(1.0, ElementType::F32, {}), {}, {tile});
  b.store(b.cast(b.elementwise(ir::ElementwiseKind::Add, {v, one}, ElementType::F32), ElementType::Bf16),
          b.region(y, {{at, tile}}));
  b.pop();
  b.add(std::move(tiles));
  return std::move(b.function);
}

}  // namespace tw::passes::testing

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "sema/lowering.h"
#include "syntax/printer.h"

namespace tw::sema {

namespace codes = diag::codes;
using diag::Span;
using ir::ExprId;

namespace {

std::string_view spelling(ir::Direction direction) {
  static constexpr std::string_view kNames[] = {"In", "Out", "InOut", "Acc", "Work"};
  return kNames[static_cast<size_t>(direction)];
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    out += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string Lowering::name_of(const std::variant<ir::TensorId, ir::SharedId>& object) const {
  const auto* tensor = std::get_if<ir::TensorId>(&object);
  return tensor != nullptr ? function_.tensor(*tensor).name
                           : function_.shared_object(std::get<ir::SharedId>(object)).name;
}

ElementType Lowering::element_of(const ir::Region& region) const {
  return region.is_global() ? function_.tensor(region.tensor()).element
                            : function_.shared_object(region.shared()).element;
}

MemoryValue Lowering::whole(std::variant<ir::TensorId, ir::SharedId> object) const {
  const auto* tensor = std::get_if<ir::TensorId>(&object);
  const size_t rank = tensor != nullptr ? function_.tensor(*tensor).extents.size()
                                        : function_.shared_object(std::get<ir::SharedId>(object)).shape.size();
  MemoryValue memory{object, {}, std::vector<MemoryAxis>(rank), {}};
  for (size_t axis = 0; axis < rank; ++axis) {
    memory.perm.push_back(static_cast<int>(axis));
  }
  return memory;
}

Value Lowering::transpose(const Value& value, Span span) {
  const auto* memory = value.as<MemoryValue>();
  if (memory == nullptr) {
    report_not_lowered(span, "`.T` of a register tile",
                       "transpose where it is read: `load(T[..].T)`, or pass a shared tile as `s.T`");
    return PoisonValue{};
  }
  if (memory->perm.size() < 2) {
    note(sink_
             .report(codes::NoAttribute{}, span, fmt::format("{} with {} axes", describe(value), memory->perm.size()),
                     "T")
             .emit());
    return PoisonValue{};
  }
  MemoryValue out = *memory;
  std::swap(out.perm[out.perm.size() - 1], out.perm[out.perm.size() - 2]);
  return out;
}

// Narrows tile axis `axis` (counted after `.T`); a point removes it.
bool Lowering::index_axis(MemoryValue& memory, size_t axis, const syntax::Expr& index, std::string_view name) {
  // Object axis behind the tile axis.
  int visible = memory.perm[axis];
  size_t object_axis = 0;
  for (; object_axis < memory.axes.size(); ++object_axis) {
    if (memory.axes[object_axis].kind != MemoryAxis::Kind::Point && visible-- == 0) {
      break;
    }
  }
  MemoryAxis& target = memory.axes[object_axis];
  const bool is_sliced = target.kind == MemoryAxis::Kind::Slice;
  const bool is_shared = std::holds_alternative<ir::SharedId>(memory.object);
  // The extent where it is known: indices into shared memory are checked here as far as they are constants.
  std::optional<int64_t> extent;
  if (is_sliced) {
    extent = target.extent;
  } else if (is_shared) {
    extent = function_.shared_object(std::get<ir::SharedId>(memory.object)).shape[object_axis];
  }
  ExprId lo;
  int64_t count = 0;
  if (const auto* slice = index.as<syntax::Slice>()) {
    if (slice->lo == nullptr) {
      return true;
    }
    std::optional<ExprId> begin = eval_int(*slice->lo, "the start of a slice");
    std::optional<int64_t> length = eval_const_int(*slice->count, "the number of elements of a slice");
    if (!begin || !length) {
      return false;
    }
    if (*length < 1 || *length > kMaxTileElements) {
      note(sink_
               .report(codes::WrongKind{}, slice->count->span, "the number of elements of a slice", *length,
                       fmt::format("1 to {}", kMaxTileElements))
               .emit());
      return false;
    }
    lo = *begin;
    count = *length;
  } else {
    const Value value = eval(index);
    if (value.is<TileValue>()) {
      const std::vector<int64_t>& shape = function_.value(value.as<TileValue>()->id).shape;
      report_not_lowered(index.span, shape.empty() ? "an index that is read from memory"
                                                   : "an index by a register tile (gather, scatter)");
      return false;
    }
    const auto* integer = value.as<IntValue>();
    if (integer == nullptr) {
      poison_wrong_kind(index.span, "an index", value, "an integer, a slice `lo:+n` or `:`");
      return false;
    }
    lo = integer->expr;
  }
  if (std::optional<int64_t> first = exprs().constant_value(lo); first && extent && (is_shared || is_sliced)) {
    const int64_t last = *first + std::max<int64_t>(count, 1) - 1;
    if (*first < 0 || last >= *extent) {
      note(sink_.report(codes::StaticIndexOutside{}, index.span, *first, last, axis, name, *extent).emit());
      return false;
    }
  }
  if (is_sliced) {
    lo = exprs().add(target.lo, lo);
  }
  target.lo = lo;
  target.extent = count;
  target.kind = count == 0 ? MemoryAxis::Kind::Point : MemoryAxis::Kind::Slice;
  return true;
}

Value Lowering::index_memory(const syntax::Expr& expr, const syntax::Subscript& node, const MemoryValue& memory) {
  MemoryValue out = memory;
  const std::string name = name_of(memory.object);
  size_t next = 0;
  if (const auto* shared = std::get_if<ir::SharedId>(&memory.object);
      shared != nullptr && function_.shared_object(*shared).ring > 0 && !memory.version.is_valid()) {
    const syntax::Expr& index = *node.indices[0];
    if (index.is<syntax::Slice>() || index.is<syntax::NoneLiteral>()) {
      note(sink_.report(codes::MissingVersion{}, index.span, name, function_.shared_object(*shared).ring, "a slice")
               .emit());
      return PoisonValue{};
    }
    std::optional<ExprId> version = eval_int(index, "the version");
    if (!version) {
      return PoisonValue{};
    }
    out.version = *version;
    next = 1;
  }
  const size_t rank = out.perm.size();
  if (node.indices.size() - next > rank) {
    note(sink_.report(codes::IndexCount{}, expr.span, name, rank + next, node.indices.size()).emit());
    return PoisonValue{};
  }
  bool is_good = true;
  size_t axis = 0;
  for (; next < node.indices.size(); ++next) {
    const syntax::Expr& index = *node.indices[next];
    if (index.is<syntax::NoneLiteral>()) {
      note(sink_
               .report(codes::WrongKind{}, index.span, "an index of memory", "`None`",
                       "an integer, a slice `lo:+n` or `:`")
               .note("`None` inserts an axis into a register tile: `load(T[..])[:, None]`")
               .emit());
      return PoisonValue{};
    }
    const int visible = out.perm[axis];
    const size_t before = out.perm.size();
    if (!index_axis(out, axis, index, name)) {
      is_good = false;
      ++axis;
      continue;
    }
    const auto points = static_cast<size_t>(std::ranges::count(out.axes, MemoryAxis::Kind::Point, &MemoryAxis::kind));
    if (out.axes.size() - points < before) {
      // The axis is gone: those behind it move up.
      out.perm.erase(out.perm.begin() + static_cast<std::ptrdiff_t>(axis));
      for (int& p : out.perm) {
        p -= p > visible ? 1 : 0;
      }
    } else {
      ++axis;
    }
  }
  return is_good ? Value(std::move(out)) : Value(PoisonValue{});
}

std::optional<ir::Region> Lowering::to_region(const MemoryValue& memory, Span span) {
  ir::Region region;
  region.object = memory.object;
  region.span = span;
  region.version = memory.version;
  region.perm = memory.perm;
  const std::string name = name_of(memory.object);
  const auto* shared = std::get_if<ir::SharedId>(&memory.object);
  if (shared != nullptr && function_.shared_object(*shared).ring > 0 && !memory.version.is_valid()) {
    note(sink_.report(codes::MissingVersion{}, span, name, function_.shared_object(*shared).ring, "none")
             .note(fmt::format("write `{}[v]` with a running version v; `pipeline(.., stages=S)` makes rings by itself",
                               name))
             .emit());
    return std::nullopt;
  }
  if (region.perm.size() > static_cast<size_t>(target::kMaxTileRank)) {
    note(sink_.report(codes::IndexCount{}, span, name, target::kMaxTileRank, region.perm.size()).emit());
    return std::nullopt;
  }
  for (size_t axis = 0; axis < memory.axes.size(); ++axis) {
    const MemoryAxis& from = memory.axes[axis];
    if (from.kind == MemoryAxis::Kind::Whole) {
      std::optional<int64_t> extent;
      ExprId size;
      if (shared != nullptr) {
        extent = function_.shared_object(*shared).shape[axis];
      } else {
        size = function_.tensor(std::get<ir::TensorId>(memory.object)).extents[axis];
        extent = exprs().constant_value(size);
      }
      if (!extent) {
        note(sink_
                 .report(codes::NotCompileTime{}, span, fmt::format("the extent of axis {} of `{}`", axis, name),
                         text_of(size))
                 .note("take a slice `lo:+n` of it")
                 .emit());
        return std::nullopt;
      }
      region.axes.push_back({exprs().constant(0), *extent});
    } else {
      region.axes.push_back({from.lo, from.kind == MemoryAxis::Kind::Point ? 0 : from.extent});
    }
  }
  return region;
}

std::optional<ir::Region> Lowering::eval_region(const syntax::Expr& expr, std::string_view what) {
  const Value value = eval(expr);
  if (const auto* memory = value.as<MemoryValue>()) {
    return to_region(*memory, expr.span);
  }
  if (value.is<TileValue>()) {
    note(sink_.report(codes::WrongKind{}, expr.span, what, describe(value), "a part of a tensor or shared tile")
             .note("a register tile is written to memory with `store(value, T[..])`")
             .emit());
    return std::nullopt;
  }
  poison_wrong_kind(expr.span, what, value, "a part of a tensor or shared tile");
  return std::nullopt;
}

bool Lowering::check_direction(const ir::Region& region, bool is_write, bool is_red, std::string_view user) {
  if (!region.is_global()) {
    if (is_red) {
      note(
          sink_
              .report(codes::AccessDirection{}, region.span, user, "combine into", name_of(region.object), "shared(..)")
              .note("`red` combines into `Acc` tensors")
              .emit());
      return false;
    }
    return true;
  }
  const ir::Tensor& tensor = function_.tensor(region.tensor());
  const bool is_acc = tensor.direction == ir::Direction::Acc;
  const bool is_good = is_red ? is_acc : is_acc ? false : !is_write || tensor.direction != ir::Direction::In;
  if (is_good) {
    return true;
  }
  diag::Builder builder = sink_.report(codes::AccessDirection{}, region.span, user,
                                       is_red     ? "combine into"
                                       : is_write ? "write"
                                                  : "read",
                                       tensor.name, spelling(tensor.direction));
  builder.label(tensor.span, "declared here");
  if (is_acc) {
    builder.note("an `Acc` tensor is only combined by `red(value, T[..], op=..)`");
  } else if (is_red) {
    builder.note("declare it `Acc[type, dims, op]`");
  } else {
    builder.note("declare it `Out` (every element written once) or `InOut`");
  }
  note(builder.emit());
  return false;
}

std::optional<target::CopyAtom> Lowering::eval_copy_atom(const Arguments& arguments, std::string_view user) {
  const syntax::Expr* via = arguments.find("via");
  if (via == nullptr) {
    return target::CopyAtom{};
  }
  const Value value = eval(*via);
  if (const auto* atom = value.as<CopyAtomValue>()) {
    return atom->atom;
  }
  if (value.is_builtin(BuiltinId::k_plain)) {
    return target::CopyAtom{};
  }
  if (value.is_builtin(BuiltinId::k_cp_async)) {
    return target::CopyAtom{target::CopyKind::CpAsync, 0};
  }
  if (value.is_builtin(BuiltinId::k_ldmatrix)) {
    return target::CopyAtom{target::CopyKind::Ldmatrix, 0};
  }
  poison_wrong_kind(via->span, fmt::format("`via` of `{}`", user), value,
                    "a copy atom such as `vector(16)`, `cp_async` or `ldmatrix`");
  return std::nullopt;
}

bool Lowering::check_copy_atom(target::CopyAtom atom, const ir::Region* source, const ir::Region* destination,
                               ElementType type, std::string_view user, Span span) {
  const std::string name = target::to_string(atom);
  if (!machine_->has(atom.kind)) {
    note(sink_.report(codes::AtomNotOnTarget{}, span, machine_->name, name, "").emit());
    return false;
  }
  auto refuse = [&](std::string_view takes, std::string_view found) {
    note(sink_.report(codes::AtomOperands{}, span, name, takes, found).emit());
    return false;
  };
  const bool is_copy = source != nullptr && destination != nullptr;
  if (atom.kind == target::CopyKind::CpAsync) {
    if (!is_copy) {
      return refuse("copies from memory to memory", fmt::format("`{}`", user));
    }
    if (!source->is_global() || destination->is_global()) {
      return refuse("copies from a tensor to a shared tile",
                    fmt::format("`{}` to `{}`", name_of(source->object), name_of(destination->object)));
    }
  }
  if (atom.kind == target::CopyKind::Ldmatrix) {
    if (is_copy || source == nullptr) {
      return refuse("loads from a shared tile to registers", fmt::format("`{}`", user));
    }
    if (source->is_global()) {
      return refuse("loads from a shared tile", fmt::format("the tensor `{}`", name_of(source->object)));
    }
    if (size_bytes(type) != 2) {
      return refuse("moves elements of 16 bits", tw::name_of(type));
    }
    if (source->perm.size() != 2) {
      return refuse("loads matrices", fmt::format("a tile of {} axes", source->perm.size()));
    }
  }
  if (atom.bytes > 0 && atom.bytes < size_bytes(type)) {
    return refuse("is at least one element wide", fmt::format("{} of {} bytes", tw::name_of(type), size_bytes(type)));
  }
  return true;
}

Value Lowering::call_vector(const Arguments& arguments) {
  const syntax::Expr& width = arguments.get("bytes");
  std::optional<int64_t> bytes = eval_const_int(width, "the width of `vector`");
  if (!bytes) {
    return PoisonValue{};
  }
  if (*bytes != 1 && *bytes != 2 && *bytes != 4 && *bytes != 8 && *bytes != 16) {
    note(
        sink_.report(codes::WrongKind{}, width.span, "the width of `vector`", *bytes, "1, 2, 4, 8 or 16 bytes").emit());
    return PoisonValue{};
  }
  return CopyAtomValue{{target::CopyKind::Vector, static_cast<int>(*bytes)}};
}

Value Lowering::call_shared(const Arguments& arguments, Span span) {
  ir::SharedObject object;
  object.span = span;
  const std::string base_name = name_hint_.empty() ? "shared" : name_hint_;
  object.name = base_name;
  for (int copy = 2;
       std::ranges::find(function_.shared, object.name, &ir::SharedObject::name) != function_.shared.end(); ++copy) {
    object.name = fmt::format("{}_{}", base_name, copy);
  }
  if (run_time_depth_ > (in_tiles_ ? 1 : 0) || branches_ > 0) {
    note(sink_
             .report(codes::Placement{}, span, "`shared(..)`", "inside a run-time loop or branch",
                     "a shared tile exists once a block; declare it outside")
             .emit());
    return PoisonValue{};
  }
  std::optional<ElementType> element = eval_type(arguments.get("t"), "the element type of `shared`");
  std::optional<std::vector<int64_t>> shape = eval_shape(arguments.get("shape"), "the shape of `shared`");
  bool is_good = element && shape;
  if (const syntax::Expr* ring = arguments.find("ring")) {
    const int64_t slots = eval_bounded(*ring, "`ring`", 1, 64, "1 to 64 slots");
    is_good = is_good && slots >= 1;
    object.ring = static_cast<int>(slots);
  }
  if (const syntax::Expr* swizzle = arguments.find("swizzle")) {
    const Value value = eval(*swizzle);
    const int64_t bytes = value.is<IntValue>() ? constant_of(value).value_or(0) : 0;
    if (value.is_builtin(BuiltinId::k_none)) {
      object.swizzle_none = true;
    } else if (bytes == 32 || bytes == 64 || bytes == 128) {
      object.swizzle_bytes = static_cast<int>(bytes);
    } else {
      poison_wrong_kind(swizzle->span, "`swizzle`", value, "32, 64, 128 or `none`");
      is_good = false;
    }
  }
  if (const syntax::Expr* pad = arguments.find("pad")) {
    object.pad = eval_bounded(*pad, "`pad`", 0, 4096, "0 to 4096 elements");
    is_good = is_good && object.pad >= 0;
  }
  if (const syntax::Expr* alias = arguments.find("alias")) {
    Value value = eval(*alias);
    TupleValue list;
    if (auto* tuple = value.as<TupleValue>()) {
      list = std::move(*tuple);
    } else {
      list.elements.push_back(std::move(value));
    }
    for (const Value& entry : list.elements) {
      const auto* memory = entry.as<MemoryValue>();
      const auto* shared = memory != nullptr ? std::get_if<ir::SharedId>(&memory->object) : nullptr;
      if (shared == nullptr) {
        poison_wrong_kind(alias->span, "`alias`", entry, "a shared tile or a tuple of them");
        is_good = false;
      } else {
        object.aliases.push_back(*shared);
      }
    }
  }
  if (const syntax::Expr* explicit_layout = arguments.find("layout")) {
    std::optional<std::string> text = eval_string(*explicit_layout, "`layout`");
    is_good = is_good && text.has_value();
    if (text) {
      auto layout = layout::Layout::parse(*text);
      if (!layout) {
        note(
            sink_.report(codes::SharedLayout{}, explicit_layout->span, object.name, layout.error().to_string()).emit());
        return PoisonValue{};
      }
      if (shape) {
        bool fits = layout->rank() == shape->size();
        for (size_t axis = 0; fits && axis < shape->size(); ++axis) {
          fits = layout->mode(axis).size() == (*shape)[axis];
        }
        if (!fits) {
          note(sink_
                   .report(codes::SharedLayout{}, explicit_layout->span, object.name,
                           fmt::format("`{}` does not have one mode for each axis of the shape {}", *text,
                                       shape_text(*shape)))
                   .emit());
          return PoisonValue{};
        }
      }
      object.explicit_layout = *std::move(layout);
    }
  }
  if (!is_good) {
    return PoisonValue{};
  }
  object.element = *element;
  object.shape = *std::move(shape);
  return whole(function_.add_shared(std::move(object)));
}

Value Lowering::call_copy(const Arguments& arguments, Span span) {
  std::optional<ir::Region> source = eval_region(arguments.get("src"), "the source of `copy`");
  std::optional<ir::Region> destination = eval_region(arguments.get("dst"), "the destination of `copy`");
  std::optional<target::CopyAtom> atom = eval_copy_atom(arguments, "copy");
  double fill = 0;
  if (const syntax::Expr* value = arguments.find("fill")) {
    std::optional<double> number = eval_const_float(*value, "`fill`");
    if (!number) {
      return PoisonValue{};
    }
    fill = *number;
  }
  if (!source || !destination || !atom) {
    return PoisonValue{};
  }
  const ElementType from = element_of(*source);
  const ElementType to = element_of(*destination);
  if (from != to) {
    note(sink_.report(codes::ElementTypeMismatch{}, span, tw::name_of(from), tw::name_of(to), "`copy`")
             .label(source->span, std::string(tw::name_of(from)))
             .label(destination->span, std::string(tw::name_of(to)))
             .note("a copy moves bytes; convert in registers: `store(load(src).to(t), dst)`")
             .emit());
    return PoisonValue{};
  }
  if (source->tile_shape() != destination->tile_shape()) {
    note(sink_
             .report(codes::ShapeMismatch{}, span, shape_text(source->tile_shape()),
                     shape_text(destination->tile_shape()), "`copy`", "both sides have one shape")
             .label(source->span, shape_text(source->tile_shape()))
             .label(destination->span, shape_text(destination->tile_shape()))
             .emit());
    return PoisonValue{};
  }
  const bool can_read = check_direction(*source, false, false, "copy");
  const bool can_write = check_direction(*destination, true, false, "copy");
  if (!can_read || !can_write || !check_copy_atom(*atom, &*source, &*destination, from, "copy", span)) {
    return PoisonValue{};
  }
  guarded(arguments, span, [&] {
    ir::CopyOp op;
    op.source = *source;
    op.destination = *destination;
    op.atom = *atom;
    op.fill = fill;
    emit(span, std::move(op));
    // A statement outside `with group()` is a group of its own.
    if (atom->kind == target::CopyKind::CpAsync && group_depth_ == 0) {
      emit(span, ir::CommitOp{});
    }
  });
  return NoneValue{};
}

Value Lowering::call_load(const Arguments& arguments, Span span) {
  std::optional<ir::Region> source = eval_region(arguments.get("src"), "the source of `load`");
  std::optional<target::CopyAtom> atom = eval_copy_atom(arguments, "load");
  double fill = 0;
  if (const syntax::Expr* value = arguments.find("fill")) {
    std::optional<double> number = eval_const_float(*value, "`fill`");
    if (!number) {
      return PoisonValue{};
    }
    fill = *number;
  }
  if (!source || !atom) {
    return PoisonValue{};
  }
  const ElementType element = element_of(*source);
  if (!check_direction(*source, false, false, "load") ||
      !check_copy_atom(*atom, &*source, nullptr, element, "load", span)) {
    return PoisonValue{};
  }
  ir::LoadOp op;
  op.atom = *atom;
  op.fill = fill;
  op.result = new_value(element, source->tile_shape(), span);
  op.source = *std::move(source);
  ir::ValueId result = op.result;
  emit(span, std::move(op));
  return TileValue{result};
}

Value Lowering::call_store(const Arguments& arguments, Span span) {
  const syntax::Expr& value_expr = arguments.get("val");
  const Value value = eval(value_expr);
  std::optional<ir::Region> destination = eval_region(arguments.get("dst"), "the destination of `store`");
  std::optional<target::CopyAtom> atom = eval_copy_atom(arguments, "store");
  if (value.is_poison() || !destination || !atom) {
    return PoisonValue{};
  }
  const ElementType to = element_of(*destination);
  std::optional<ir::ValueId> tile;
  if ((value.is<FloatValue>() && is_floating(to)) || (value.is<IntValue>() && constant_of(value))) {
    // A literal takes the destination's type, and fills it.
    tile = materialize(value, to, destination->tile_shape(), value_expr.span);
  } else {
    tile = to_tile({value, value_expr.span}, "the value of `store`");
  }
  if (!tile) {
    return PoisonValue{};
  }
  const ir::Value& stored = function_.value(*tile);
  if (stored.element != to) {
    note(sink_.report(codes::ElementTypeMismatch{}, span, tw::name_of(stored.element), tw::name_of(to), "`store`")
             .label(value_expr.span, std::string(tw::name_of(stored.element)))
             .label(destination->span, std::string(tw::name_of(to)))
             .note(fmt::format("convert the value with `.to({})`", tw::name_of(to)))
             .emit());
    return PoisonValue{};
  }
  if (stored.shape != destination->tile_shape()) {
    note(sink_
             .report(codes::ShapeMismatch{}, span, shape_text(stored.shape), shape_text(destination->tile_shape()),
                     "`store`", "the value has the destination's shape")
             .label(value_expr.span, shape_text(stored.shape))
             .label(destination->span, shape_text(destination->tile_shape()))
             .emit());
    return PoisonValue{};
  }
  if (!check_direction(*destination, true, false, "store") ||
      !check_copy_atom(*atom, nullptr, &*destination, to, "store", span)) {
    return PoisonValue{};
  }
  guarded(arguments, span, [&] {
    ir::StoreOp op;
    op.value = *tile;
    op.destination = *destination;
    op.atom = *atom;
    emit(span, std::move(op));
  });
  return NoneValue{};
}

Value Lowering::call_red(const Arguments& arguments, Span span) {
  const syntax::Expr& value_expr = arguments.get("val");
  const Value value = eval(value_expr);
  std::optional<ir::Region> destination = eval_region(arguments.get("dst"), "the destination of `red`");
  const syntax::Expr& op_expr = arguments.get("op");
  std::optional<ir::ReduceKind> kind = eval_reduce_kind(op_expr);
  if (value.is_poison() || !destination || !kind || !check_direction(*destination, true, true, "red")) {
    return PoisonValue{};
  }
  std::optional<ir::ValueId> tile = to_tile({value, value_expr.span}, "the value of `red`");
  if (!tile) {
    return PoisonValue{};
  }
  const ir::Tensor& tensor = function_.tensor(destination->tensor());
  const ir::Value& added = function_.value(*tile);
  if (tensor.acc_op != *kind) {
    note(sink_
             .report(codes::WrongKind{}, op_expr.span, "the operation of `red`", "another",
                     fmt::format("the one that `{}` is declared with", tensor.name))
             .label(tensor.span, "declared here")
             .emit());
    return PoisonValue{};
  }
  if (added.element != tensor.element) {
    note(sink_
             .report(codes::ElementTypeMismatch{}, span, tw::name_of(added.element), tw::name_of(tensor.element),
                     "`red`")
             .emit());
    return PoisonValue{};
  }
  if (added.shape != destination->tile_shape()) {
    note(sink_
             .report(codes::ShapeMismatch{}, span, shape_text(added.shape), shape_text(destination->tile_shape()),
                     "`red`", "the value has the destination's shape")
             .emit());
    return PoisonValue{};
  }
  guarded(arguments, span, [&] {
    ir::RedOp op;
    op.value = *tile;
    op.destination = *destination;
    op.kind = *kind;
    emit(span, std::move(op));
  });
  return NoneValue{};
}

Value Lowering::call_drain(const Arguments& arguments, Span span) {
  const syntax::Expr& kind_expr = arguments.get("kind");
  const Value kind = eval(kind_expr);
  if (!kind.is_builtin(BuiltinId::k_cp_async)) {
    return poison_wrong_kind(kind_expr.span, "what `drain` waits for", kind, "`cp_async`");
  }
  int64_t pending = 0;
  if (const syntax::Expr* count = arguments.find("pending")) {
    pending = eval_bounded(*count, "`pending`", 0, 64, "0 to 64 groups");
    if (pending < 0) {
      return PoisonValue{};
    }
  }
  guarded(arguments, span, [&] { emit(span, ir::DrainOp{ir::AsyncKind::CpAsync, static_cast<int>(pending)}); });
  return NoneValue{};
}

}  // namespace tw::sema

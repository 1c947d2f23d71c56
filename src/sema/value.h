// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/function.h"
#include "sema/builtins.h"
#include "syntax/ast.h"

// What an expression of the source denotes while a kernel is lowered. Scalars are IR expressions (a constant one is a
// compile-time value), register tiles are IR values, everything else exists at compile time only.
namespace tw::sema {

struct Value;
struct Frame;

// An error about it has been reported; whatever uses it stays silent.
struct PoisonValue {};
// A name that exists but has no value on this path.
struct UnavailableValue {
  std::string why;
  diag::Span where;
};
struct NoneValue {};
struct IntValue {
  ir::ExprId expr;
};
struct BoolValue {
  ir::ExprId expr;
};
// Known at compile time; `inf` and `nan` are such.
struct FloatValue {
  double value = 0;
};
struct TileValue {
  ir::ValueId id;
};
struct StringValue {
  std::string text;
};
struct TypeValue {
  ElementType type = ElementType::F32;
};

// A tensor or shared object, or a part of it. `axes` are the object's; tile axis i is the perm[i]-th axis that is no
// point.
struct MemoryAxis {
  enum class Kind : uint8_t { Whole, Slice, Point } kind = Kind::Whole;
  ir::ExprId lo;
  int64_t extent = 0;
};
struct MemoryValue {
  std::variant<ir::TensorId, ir::SharedId> object;
  ir::ExprId version;
  std::vector<MemoryAxis> axes;
  std::vector<int> perm;
};

struct TupleValue {
  std::vector<Value> elements;
};
// `dict(a=.., b=..)`
struct RecordValue {
  std::vector<std::pair<std::string, Value>> fields;
};
struct BuiltinValue {
  const Builtin* entry = nullptr;
};
struct FunctionValue {
  const syntax::FunctionDef* function = nullptr;
};
struct LambdaValue {
  const syntax::Lambda* lambda = nullptr;
  // Where its free names are looked up.
  std::shared_ptr<Frame> frame;
};
struct CopyAtomValue {
  target::CopyAtom atom;
};
// `mma_m16n8k16.C`
struct FragmentValue {
  std::string atom;
  char part = 'C';
};
struct RasterValue {
  ir::RasterKind kind = ir::RasterKind::RowMajor;
  int64_t group = 1;
};

enum class RangeUse : uint8_t { Plain, Unroll, Pipeline };
struct RangeValue {
  ir::ExprId begin;
  ir::ExprId end;
  int64_t step = 1;
  RangeUse use = RangeUse::Plain;
  int stages = 1;
  int factor = 0;
};
struct StaticValue {
  std::vector<Value> items;
};
struct TilesValue {
  std::vector<ir::ExprId> extents;
  RasterValue raster;
  bool is_persistent = false;
  bool is_enumerated = false;
};
struct GroupValue {};
struct FiniteValue {
  ir::TensorId tensor;
};

struct Value {
  using Node = std::variant<PoisonValue, UnavailableValue, NoneValue, IntValue, BoolValue, FloatValue, TileValue,
                            StringValue, TypeValue, MemoryValue, TupleValue, RecordValue, BuiltinValue, FunctionValue,
                            LambdaValue, CopyAtomValue, FragmentValue, RasterValue, RangeValue, StaticValue, TilesValue,
                            GroupValue, FiniteValue>;
  Node node;

  Value() = default;
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, Value>)
  Value(T&& value) : node(std::forward<T>(value)) {}

  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&node);
  }
  template <class T>
  [[nodiscard]] T* as() {
    return std::get_if<T>(&node);
  }
  template <class T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(node);
  }
  [[nodiscard]] bool is_poison() const { return is<PoisonValue>(); }
  [[nodiscard]] bool is_builtin(BuiltinId id) const {
    const auto* builtin = as<BuiltinValue>();
    return builtin != nullptr && builtin->entry->id == id;
  }
};

// The names of one function body (Python has one scope a function).
struct Frame {
  std::map<std::string, Value, std::less<>> names;
};

}  // namespace tw::sema

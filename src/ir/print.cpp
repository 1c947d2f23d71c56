// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/sha256.h"
#include "ir/names.h"

namespace tw::ir {
namespace {

template <class Range, class Fn>
std::string join(const Range& range, Fn to_text, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) {
      out += separator;
    }
    out += to_text(item);
    first = false;
  }
  return out;
}

class Printer {
 public:
  explicit Printer(const Function& function) : f_(function) {
    size_t next = 0;
    for (size_t i = 0; i < function.exprs.symbol_count(); ++i) {
      ordinals_.push_back(next);
      next += is_named_alone(SymbolId(static_cast<uint32_t>(i))) ? 0 : 1;
    }
  }

  std::string run() {
    header();
    line("body {");
    block(f_.body);
    line("}");
    return std::move(out_);
  }

 private:
  // Sizes and scalars are unique by name; other symbols carry a number.
  [[nodiscard]] bool is_named_alone(SymbolId id) const {
    const SymbolKind kind = f_.exprs.symbol(id).kind;
    return kind == SymbolKind::Size || kind == SymbolKind::Scalar;
  }
  [[nodiscard]] std::string symbol(SymbolId id) const {
    const std::string& name = f_.exprs.symbol(id).name;
    return is_named_alone(id) ? name : fmt::format("{}.{}", name, ordinals_[id.index]);
  }
  // Operands of commutative kinds in the order of their text, so that it does not depend on how the pool grew.
  [[nodiscard]] std::string expr(ExprId id) const {
    if (!id.is_valid()) {
      return "_";
    }
    const ExprNode& n = f_.exprs.node(id);
    if (n.kind == ExprKind::Const) {
      return fmt::format("{}", n.value);
    }
    if (n.kind == ExprKind::Symbol) {
      return symbol(n.symbol);
    }
    std::vector<std::string> operands;
    for (ExprId operand : n.operands) {
      if (operand.is_valid()) {
        operands.push_back(expr(operand));
      }
    }
    if (is_commutative(n.kind)) {
      std::ranges::sort(operands);
    }
    return std::string(name_of(n.kind)) + "(" + join(operands, [](const std::string& o) { return o; }) + ")";
  }
  [[nodiscard]] static std::string value(ValueId id) { return id.is_valid() ? fmt::format("%{}", id.index) : "_"; }
  [[nodiscard]] static std::string ints(const std::vector<int64_t>& numbers) {
    return "(" + join(numbers, [](int64_t n) { return fmt::format("{}", n); }) + ")";
  }
  [[nodiscard]] std::string exprs(const std::vector<ExprId>& list) const {
    return "(" + join(list, [this](ExprId e) { return expr(e); }) + ")";
  }
  [[nodiscard]] std::string tag(const TagMap& map) const {
    return fmt::format("({}) {{{}}}", join(map.axes, [this](SymbolId s) { return symbol(s); }),
                       join(map.fields, [this](const auto& field) { return field.first + ": " + expr(field.second); }));
  }
  [[nodiscard]] std::string region(const Region& r) const {
    std::string text = r.is_global() ? f_.tensor(r.tensor()).name : f_.shared_object(r.shared()).name;
    if (r.version.is_valid()) {
      text += "@" + expr(r.version);
    }
    text += "[" +
            join(r.axes,
                 [this](const AxisIndex& axis) {
                   return axis.is_point() ? expr(axis.lo) : fmt::format("{}:+{}", expr(axis.lo), axis.extent);
                 }) +
            "]";
    bool is_identity = true;
    for (size_t i = 0; i < r.perm.size(); ++i) {
      is_identity = is_identity && r.perm[i] == static_cast<int>(i);
    }
    if (!is_identity) {
      text += " perm(" + join(r.perm, [](int p) { return fmt::format("{}", p); }) + ")";
    }
    return text;
  }
  [[nodiscard]] static std::string access(const Access& a) {
    return fmt::format("vector={} guards=({})", a.vector_elems,
                       join(a.guards, [](bool guard) { return std::string(guard ? "1" : "0"); }));
  }
  [[nodiscard]] std::string operand(const MmaOperand& o) const {
    return std::holds_alternative<ValueId>(o) ? value(std::get<ValueId>(o)) : region(std::get<Region>(o));
  }

  void line(const std::string& text) { out_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n"; }
  void nested(const Block& b) {
    ++indent_;
    block(b);
    --indent_;
  }

  void header() {
    line(fmt::format("kernel {} stage={} target={} threads={} min_blocks={} sync={} no_spills={} shared_bytes={}",
                     f_.name, f_.stage == Stage::Source ? "source" : "lowered",
                     f_.machine != nullptr ? f_.machine->name : "_", f_.threads, f_.min_blocks,
                     f_.sync == SyncMode::Auto ? "auto" : "manual", f_.no_spills ? 1 : 0, f_.shared_bytes));
    for (const auto& [name, number] : f_.constants) {
      line(fmt::format("const {} = {}", name, number));
    }
    for (SymbolId size : f_.sizes) {
      line("size " + symbol(size));
    }
    for (size_t i = 0; i < f_.exprs.symbol_count(); ++i) {
      const SymbolId id(static_cast<uint32_t>(i));
      if (!is_named_alone(id)) {
        line(fmt::format("symbol {} {}", symbol(id), name_of(f_.exprs.symbol(id).kind)));
      }
    }
    for (const ScalarParameter& scalar : f_.scalars) {
      line(fmt::format("scalar {} {}", scalar.name, tw::name_of(scalar.element)));
    }
    for (const Tensor& t : f_.tensors) {
      line(fmt::format("tensor {} {}{} {} extents{} strides{} dims({}) tag{}", t.name, name_of(t.direction),
                       t.acc_op ? fmt::format("({})", name_of(*t.acc_op)) : "", tw::name_of(t.element),
                       exprs(t.extents), exprs(t.strides),
                       join(t.dims, [](const std::string& d) { return d.empty() ? std::string("_") : d; }),
                       tag(t.tag)));
    }
    for (const Assumption& a : f_.assumptions) {
      line(a.condition.is_valid() ? "assume " + expr(a.condition) : "assume finite " + f_.tensor(a.finite).name);
    }
    for (const SharedObject& s : f_.shared) {
      shared(s);
    }
    for (size_t i = 0; i < f_.values.size(); ++i) {
      const Value& v = f_.values[i];
      line(fmt::format("value %{} {} {}{}{}", i, tw::name_of(v.element), ints(v.shape), v.is_pinned ? " pinned" : "",
                       v.layout ? " " + v.layout->to_string() : ""));
    }
    wide_exprs();
  }

  // By their text, so that the order does not depend on how the pool grew.
  void wide_exprs() {
    std::set<std::string> texts;
    for (ExprId id : f_.wide_exprs) {
      texts.insert(expr(id));
    }
    for (const std::string& text : texts) {
      line("wide " + text);
    }
  }

  void shared(const SharedObject& s) {
    std::string text = fmt::format(
        "shared {} {} {} ring={} pad={} swizzle={}{}", s.name, tw::name_of(s.element), ints(s.shape), s.ring, s.pad,
        s.swizzle_none ? "none" : fmt::format("{}", s.swizzle_bytes), s.is_scratch ? " scratch" : "");
    if (s.explicit_layout) {
      text += " explicit=" + s.explicit_layout->to_string();
    }
    if (!s.aliases.empty()) {
      text += " alias=(" + join(s.aliases, [this](SharedId id) { return f_.shared_object(id).name; }) + ")";
    }
    if (s.layout) {
      text += fmt::format(" layout={} {} slot_bytes={} offset_bytes={}", s.layout->swizzle.to_string(),
                          s.layout->elements.to_string(), s.layout->slot_bytes, s.layout->offset_bytes);
    }
    line(text);
  }

  void block(const Block& b) {
    ++indent_;
    for (const Op& op : b) {
      std::visit([this](const auto& body) { print(body); }, op.body);
    }
    --indent_;
  }

  void print(const ForOp& op) {
    line(fmt::format("for {} in ({}, {}, {}) kind={} stages={} unroll={} {{", symbol(op.variable), expr(op.begin),
                     expr(op.end), op.step, op.kind == LoopKind::Range ? "range" : "pipeline", op.stages, op.unroll));
    ++indent_;
    for (const CarriedValue& c : op.values) {
      line(fmt::format("carry {} = {} yield {} result {}", value(c.argument), value(c.init), value(c.yield),
                       value(c.result)));
    }
    for (const CarriedScalar& c : op.scalars) {
      line(fmt::format("carry {} = {} yield {} result {}", symbol(c.argument), expr(c.init), expr(c.yield),
                       symbol(c.result)));
    }
    --indent_;
    block(op.body);
    line("}");
  }
  void print(const TilesOp& op) {
    line(fmt::format("tiles ({}) in {} raster={} persistent={} linear={} decode{} {{",
                     join(op.variables, [this](SymbolId s) { return symbol(s); }), exprs(op.extents),
                     op.raster == RasterKind::RowMajor ? "row_major" : fmt::format("grouped({})", op.raster_group),
                     op.persistent ? 1 : 0, op.linear.is_valid() ? symbol(op.linear) : "_", exprs(op.decode)));
    block(op.body);
    line("}");
  }
  void print(const IfOp& op) {
    line(fmt::format("if {} {{", expr(op.condition)));
    block(op.then_body);
    line("} else {");
    block(op.else_body);
    line(fmt::format("}} results({})", join(op.results, [](const IfResult& r) {
                       return fmt::format("{} = {} | {}", value(r.result), value(r.then_value), value(r.else_value));
                     })));
  }
  void print(const CopyOp& op) {
    line(fmt::format("copy {} -> {} via={} fill={} {}{}", region(op.source), region(op.destination),
                     target::to_string(op.atom), op.fill, access(op.access), op.map ? " " + op.map->to_string() : ""));
  }
  void print(const LoadOp& op) {
    line(fmt::format("{} = load {} via={} fill={} {} matrices={} transposed={}", value(op.result), region(op.source),
                     target::to_string(op.atom), op.fill, access(op.access), op.matrices, op.transposed ? 1 : 0));
  }
  void print(const StoreOp& op) {
    line(fmt::format("store {} -> {} via={} {}", value(op.value), region(op.destination), target::to_string(op.atom),
                     access(op.access)));
  }
  void print(const RedOp& op) {
    line(fmt::format("red {} {} -> {} {}", name_of(op.kind), value(op.value), region(op.destination),
                     access(op.access)));
  }
  void print(const MmaOp& op) {
    line(fmt::format("{} = mma {} {} {} via={} warps=({}, {})", value(op.result), operand(op.a), operand(op.b),
                     value(op.c), op.atom.empty() ? "_" : op.atom, op.warps_m, op.warps_n));
  }
  void print(const ElementwiseOp& op) {
    line(fmt::format("{} = {}{} {}", value(op.result), name_of(op.kind), op.fast ? ".fast" : "",
                     join(op.operands, [](ValueId v) { return value(v); }, " ")));
  }
  void print(const BroadcastOp& op) {
    line(fmt::format("{} = broadcast {} axes({})", value(op.result), value(op.operand),
                     join(op.axis_map, [](int a) { return fmt::format("{}", a); })));
  }
  void print(const ConstantOp& op) { line(fmt::format("{} = constant {}", value(op.result), op.value)); }
  void print(const IotaOp& op) { line(fmt::format("{} = iota {}", value(op.result), op.axis)); }
  void print(const ExprOp& op) { line(fmt::format("{} = expr {}", value(op.result), expr(op.expr))); }
  void print(const ScalarArgumentOp& op) { line(fmt::format("{} = argument {}", value(op.result), op.argument)); }
  void print(const ReduceOp& op) {
    line(fmt::format("{} = reduce {} {} axis={} keep={} group_stride={}", value(op.result), name_of(op.kind),
                     value(op.operand), op.axis, op.keep, op.group_stride));
  }
  void print(const RelayoutOp& op) {
    line(fmt::format("{} = relayout {} via={}", value(op.result), value(op.operand),
                     op.through_shared ? "shared" : "shuffle"));
  }
  void print(const CommitOp&) { line("commit cp_async"); }
  void print(const DrainOp& op) { line(fmt::format("drain cp_async pending={}", op.pending)); }
  void print(const SyncOp& op) {
    line(fmt::format("sync {}{}", op.scope == SyncScope::Block ? "block" : "warp", op.is_inferred ? " inferred" : ""));
  }
  void print(const CheckOp& op) {
    line(fmt::format(
        "check {} {} over({}) where={}", value(op.value), tag(op.expected),
        join(op.over,
             [this](const CoverageRange& r) { return fmt::format("{}: {} .. {}", r.name, expr(r.lo), expr(r.hi)); }),
        expr(op.where)));
  }

  const Function& f_;
  // By symbol: how many symbols of its sort come before it.
  std::vector<size_t> ordinals_;
  std::string out_;
  int indent_ = 0;
};

}  // namespace

std::string print(const Function& function) {
  return Printer(function).run();
}

std::string ir_hash(const Function& function) {
  return sha256_hex(print(function));
}

}  // namespace tw::ir

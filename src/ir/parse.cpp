// SPDX-License-Identifier: Apache-2.0
// Reads what print.cpp writes: one statement a line, blocks between braces. Every rule stops at the first thing it does
// not expect; the error names the line and what was expected there.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>

#include "ir/names.h"
#include "ir/print.h"
#include "ir/text_line.h"

namespace tw::ir {
namespace {

constexpr int kMaxDepth = 200;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Function> run() {
    try {
      header();
      while (!peek().accept("body {")) {
        declaration(take());
      }
      take();
      f_.body = block(0);
    } catch (const Stop& stop) {
      return fail(fmt::format("line {}: expected {}", line_number_, stop.expected));
    }
    return std::move(f_);
  }

 private:
  // --- lines

  Line peek() {
    if (position_ >= text_.size()) {
      throw Stop{"more lines"};
    }
    const size_t end = std::min(text_.find('\n', position_), text_.size());
    return {text_.substr(position_, end - position_), line_number_ + 1};
  }
  Line take() {
    Line line = peek();
    position_ = std::min(text_.find('\n', position_), text_.size() - 1) + 1;
    ++line_number_;
    return line;
  }

  template <class Enum, size_t N>
  static Enum one_of(Line& line, const std::array<std::string_view, N>& names, std::string_view what) {
    if (auto found = enum_of<Enum>(names, line.name())) {
      return *found;
    }
    throw Stop{std::string(what)};
  }
  static ElementType element(Line& line) {
    if (auto type = element_type_of(line.name())) {
      return *type;
    }
    throw Stop{"an element type"};
  }
  template <class Fn>
  static auto list(Line& line, Fn item) {
    std::vector<decltype(item())> out;
    line.expect("(");
    if (line.accept(")")) {
      return out;
    }
    do {
      out.push_back(item());
    } while (line.accept(","));
    line.expect(")");
    return out;
  }
  static std::vector<int64_t> ints(Line& line) {
    return list(line, [&] { return line.integer(); });
  }

  // --- names

  SymbolId symbol(Line& line) {
    auto found = symbols_.find(line.name());
    if (found == symbols_.end()) {
      throw Stop{"a declared symbol"};
    }
    return found->second;
  }
  ValueId value(Line& line) {
    if (line.accept("_")) {
      return {};
    }
    line.expect("%");
    const int64_t number = line.integer();
    if (number < 0 || number >= static_cast<int64_t>(f_.values.size())) {
      throw Stop{"a declared value"};
    }
    return ValueId(static_cast<uint32_t>(number));
  }
  SharedId shared_name(Line& line) {
    auto found = shared_.find(line.name());
    if (found == shared_.end()) {
      throw Stop{"a declared shared object"};
    }
    return found->second;
  }

  ExprId expr(Line& line, int depth = 0) {
    if (depth > kMaxDepth) {
      throw Stop{"an expression of smaller depth"};
    }
    if (line.accept("_")) {
      return {};
    }
    const std::string_view rest = line.rest();
    if (!rest.empty() && (std::isdigit(static_cast<unsigned char>(rest[0])) != 0 || rest[0] == '-')) {
      return f_.exprs.constant(line.integer());
    }
    const std::string name = line.name();
    auto kind = enum_of<ExprKind>(kExprNames, name);
    if (!kind || !line.accept("(")) {
      auto found = symbols_.find(name);
      if (found == symbols_.end()) {
        throw Stop{"an expression"};
      }
      return f_.exprs.symbol_ref(found->second);
    }
    std::array<ExprId, 3> operands{};
    for (int i = 0; i < operand_count(*kind); ++i) {
      if (i > 0) {
        line.expect(",");
      }
      operands[i] = expr(line, depth + 1);
      if (!operands[i].is_valid()) {
        throw Stop{"an operand"};
      }
    }
    line.expect(")");
    return f_.exprs.make(*kind, operands[0], operands[1], operands[2]);
  }
  std::vector<ExprId> exprs(Line& line) {
    return list(line, [&] { return expr(line); });
  }
  TagMap tag(Line& line) {
    TagMap map;
    map.axes = list(line, [&] { return symbol(line); });
    line.expect("{");
    while (!line.accept("}")) {
      std::string name = line.name();
      line.expect(":");
      map.fields.emplace_back(std::move(name), expr(line));
      line.accept(",");
    }
    return map;
  }

  static std::vector<target::TvMode> modes(Line& line) {
    return list(line, [&] {
      target::TvMode mode;
      mode.extent = line.small();
      line.expect(":");
      if (!line.accept("_")) {
        mode.stride = line.small();
        line.expect("@");
        mode.axis = line.small();
        if (mode.axis < 0 || mode.axis >= target::kMaxTileRank) {
          throw Stop{"an axis"};
        }
      }
      if (mode.extent < 1) {
        throw Stop{"an extent of 1 or more"};
      }
      return mode;
    });
  }
  static std::optional<target::TvLayout> tv_layout(Line& line) {
    if (!line.accept("threads=")) {
      return std::nullopt;
    }
    target::TvLayout out;
    out.threads = modes(line);
    line.expect("values=");
    out.values = modes(line);
    return out;
  }

  Region region(Line& line) {
    Region r;
    const std::string name = line.name();
    if (auto tensor = tensors_.find(name); tensor != tensors_.end()) {
      r.object = tensor->second;
    } else if (auto shared = shared_.find(name); shared != shared_.end()) {
      r.object = shared->second;
    } else {
      throw Stop{"a tensor or shared object"};
    }
    if (line.accept("@")) {
      r.version = expr(line);
    }
    line.expect("[");
    int sliced = 0;
    while (!line.accept("]")) {
      AxisIndex axis{expr(line), 0};
      if (line.accept(":+")) {
        axis.extent = line.integer();
        r.perm.push_back(sliced++);
      }
      r.axes.push_back(axis);
      line.accept(",");
    }
    if (line.accept("perm")) {
      r.perm = list(line, [&] { return line.small(); });
    }
    return r;
  }
  static Access access(Line& line) {
    Access a;
    line.expect("vector=");
    a.vector_elems = line.small();
    line.expect("guards=");
    for (int guard : list(line, [&] { return line.small(); })) {
      a.guards.push_back(guard != 0);
    }
    return a;
  }
  static target::CopyAtom atom(Line& line) {
    auto bytes = [&] {
      line.expect("(");
      const int n = line.small();
      line.expect(")");
      return n;
    };
    if (line.accept("plain")) {
      return {target::CopyKind::Plain, 0};
    }
    if (line.accept("ldmatrix")) {
      return {target::CopyKind::Ldmatrix, 0};
    }
    if (line.accept("vector")) {
      return {target::CopyKind::Vector, bytes()};
    }
    if (line.accept("cp_async")) {
      return {target::CopyKind::CpAsync, line.rest().starts_with("(") ? bytes() : 0};
    }
    throw Stop{"a copy atom"};
  }

  // --- declarations

  void header() {
    Line line = take();
    line.expect("kernel");
    f_.name = line.name();
    line.expect("stage=");
    f_.stage = line.accept("lowered") ? Stage::Lowered : (line.expect("source"), Stage::Source);
    line.expect("target=");
    if (!line.accept("_")) {
      f_.machine = target::find_machine(line.name());
      if (f_.machine == nullptr) {
        throw Stop{"a known target"};
      }
    }
    line.expect("threads=");
    f_.threads = line.small();
    line.expect("min_blocks=");
    f_.min_blocks = line.small();
    line.expect("sync=");
    f_.sync = line.accept("manual") ? SyncMode::Manual : (line.expect("auto"), SyncMode::Auto);
    line.expect("no_spills=");
    f_.no_spills = line.flag();
    line.expect("shared_bytes=");
    f_.shared_bytes = line.integer();
  }

  void add_symbol(const std::string& printed, SymbolKind kind) {
    const size_t dot = printed.rfind('.');
    const bool is_plain = kind == SymbolKind::Size || kind == SymbolKind::Scalar || dot == std::string::npos;
    symbols_[printed] = f_.exprs.add_symbol(is_plain ? printed : printed.substr(0, dot), kind);
  }

  void declaration(Line line) {
    if (line.accept("const")) {
      std::string name = line.name();
      line.expect("=");
      f_.constants.emplace_back(std::move(name), line.integer());
    } else if (line.accept("size")) {
      const std::string name = line.name();
      add_symbol(name, SymbolKind::Size);
      f_.sizes.push_back(symbols_[name]);
    } else if (line.accept("symbol")) {
      const std::string name = line.name();
      add_symbol(name, one_of<SymbolKind>(line, kSymbolKindNames, "a kind of symbol"));
    } else if (line.accept("scalar")) {
      scalar(line);
    } else if (line.accept("tensor")) {
      tensor(line);
    } else if (line.accept("assume")) {
      assumption(line);
    } else if (line.accept("wide")) {
      wide_expr(line);
    } else if (line.accept("shared")) {
      shared_object(line);
    } else if (line.accept("value")) {
      value_declaration(line);
    } else {
      throw Stop{"a declaration or `body {`"};
    }
  }

  void scalar(Line& line) {
    ScalarParameter p;
    p.name = line.name();
    p.element = element(line);
    if (!is_floating(p.element)) {
      add_symbol(p.name, SymbolKind::Scalar);
      p.symbol = symbols_[p.name];
    }
    f_.scalars.push_back(std::move(p));
  }

  void tensor(Line& line) {
    Tensor t;
    t.name = line.name();
    t.direction = one_of<Direction>(line, kDirectionNames, "a direction");
    if (line.accept("(")) {
      t.acc_op = one_of<ReduceKind>(line, kReduceNames, "a reduction");
      line.expect(")");
    }
    t.element = element(line);
    line.expect("extents");
    t.extents = exprs(line);
    line.expect("strides");
    t.strides = exprs(line);
    line.expect("dims");
    t.dims = list(line, [&] { return line.accept("_") ? std::string() : line.name(); });
    line.expect("tag");
    t.tag = tag(line);
    tensors_[t.name] = f_.add_tensor(t);
  }

  void assumption(Line& line) {
    Assumption a;
    if (line.accept("finite")) {
      auto found = tensors_.find(line.name());
      if (found == tensors_.end()) {
        throw Stop{"a tensor"};
      }
      a.finite = found->second;
    } else {
      a.condition = expr(line);
    }
    f_.assumptions.push_back(a);
  }

  void wide_expr(Line& line) {
    const ExprId id = expr(line);
    if (!id.is_valid()) {
      throw Stop{"an expression"};
    }
    f_.wide_exprs.insert(std::ranges::lower_bound(f_.wide_exprs, id), id);
  }

  void shared_object(Line& line) {
    SharedObject s;
    s.name = line.name();
    s.element = element(line);
    s.shape = ints(line);
    line.expect("ring=");
    s.ring = line.small();
    line.expect("pad=");
    s.pad = line.integer();
    line.expect("swizzle=");
    s.swizzle_none = line.accept("none");
    if (!s.swizzle_none) {
      s.swizzle_bytes = line.small();
    }
    s.is_scratch = line.accept("scratch");
    if (line.accept("explicit=")) {
      s.explicit_layout = element_layout(line);
    }
    if (line.accept("alias=")) {
      // Aliases may name later objects: resolved by name when both exist.
      s.aliases = list(line, [&] { return shared_name(line); });
    }
    if (line.accept("layout=")) {
      SharedLayout layout;
      auto swizzle = layout::Swizzle::parse(line.word());
      if (!swizzle) {
        throw Stop{"a swizzle"};
      }
      layout.swizzle = *swizzle;
      layout.elements = element_layout(line);
      line.expect("slot_bytes=");
      layout.slot_bytes = line.integer();
      line.expect("offset_bytes=");
      layout.offset_bytes = line.integer();
      s.layout = layout;
    }
    shared_[s.name] = f_.add_shared(s);
  }
  static layout::Layout element_layout(Line& line) {
    auto parsed = layout::Layout::parse(line.word());
    if (!parsed) {
      throw Stop{"a layout"};
    }
    return *parsed;
  }

  void value_declaration(Line& line) {
    line.expect("%");
    if (line.integer() != static_cast<int64_t>(f_.values.size())) {
      throw Stop{"values in order"};
    }
    Value v;
    v.element = element(line);
    v.shape = ints(line);
    v.is_pinned = line.accept("pinned");
    v.layout = tv_layout(line);
    f_.add_value(std::move(v));
  }

  // --- ops

  Block block(int depth) {
    if (depth > kMaxDepth) {
      throw Stop{"blocks nested less deeply"};
    }
    Block out;
    while (!peek().accept("}")) {
      Line line = take();
      Op op;
      op.id = f_.new_op_id();
      op.body = statement(line, depth);
      if (!line.is_at_end()) {
        throw Stop{"the end of the line"};
      }
      out.push_back(std::move(op));
    }
    closing_ = take();
    closing_.expect("}");
    return out;
  }

  OpBody statement(Line& line, int depth) {
    if (line.accept("for")) {
      return for_op(line, depth);
    }
    if (line.accept("tiles")) {
      return tiles_op(line, depth);
    }
    if (line.accept("if")) {
      return if_op(line, depth);
    }
    if (line.accept("copy")) {
      CopyOp op;
      op.source = region(line);
      line.expect("->");
      op.destination = region(line);
      line.expect("via=");
      op.atom = atom(line);
      line.expect("fill=");
      op.fill = line.number_f64();
      op.access = access(line);
      op.map = tv_layout(line);
      return op;
    }
    if (line.accept("store")) {
      StoreOp op;
      op.value = value(line);
      line.expect("->");
      op.destination = region(line);
      line.expect("via=");
      op.atom = atom(line);
      op.access = access(line);
      return op;
    }
    if (line.accept("red")) {
      RedOp op;
      op.kind = one_of<ReduceKind>(line, kReduceNames, "a reduction");
      op.value = value(line);
      line.expect("->");
      op.destination = region(line);
      op.access = access(line);
      return op;
    }
    if (line.accept("commit cp_async")) {
      return CommitOp{};
    }
    if (line.accept("drain cp_async pending=")) {
      return DrainOp{AsyncKind::CpAsync, line.small()};
    }
    if (line.accept("sync")) {
      SyncOp op;
      op.scope = line.accept("warp") ? SyncScope::Warp : (line.expect("block"), SyncScope::Block);
      op.is_inferred = line.accept("inferred");
      return op;
    }
    if (line.accept("check")) {
      return check_op(line);
    }
    const ValueId result = value(line);
    line.expect("=");
    return definition(line, result);
  }

  OpBody definition(Line& line, ValueId result) {
    if (line.accept("load")) {
      LoadOp op;
      op.result = result;
      op.source = region(line);
      line.expect("via=");
      op.atom = atom(line);
      line.expect("fill=");
      op.fill = line.number_f64();
      op.access = access(line);
      line.expect("matrices=");
      op.matrices = line.small();
      line.expect("transposed=");
      op.transposed = line.flag();
      return op;
    }
    if (line.accept("mma")) {
      auto operand = [&]() -> MmaOperand {
        return line.rest().starts_with("%") ? MmaOperand(value(line)) : MmaOperand(region(line));
      };
      MmaOp op;
      op.result = result;
      op.a = operand();
      op.b = operand();
      op.c = value(line);
      line.expect("via=");
      op.atom = line.accept("_") ? std::string() : line.name();
      line.expect("warps=");
      const std::vector<int64_t> warps = ints(line);
      if (warps.size() != 2) {
        throw Stop{"two warp counts"};
      }
      op.warps_m = static_cast<int>(warps[0]);
      op.warps_n = static_cast<int>(warps[1]);
      return op;
    }
    if (line.accept("broadcast")) {
      BroadcastOp op;
      op.result = result;
      op.operand = value(line);
      line.expect("axes");
      op.axis_map = list(line, [&] { return line.small(); });
      return op;
    }
    if (line.accept("constant")) {
      return ConstantOp{line.number_f64(), result};
    }
    if (line.accept("iota")) {
      return IotaOp{line.small(), result};
    }
    if (line.accept("expr")) {
      return ExprOp{expr(line), result};
    }
    if (line.accept("argument")) {
      return ScalarArgumentOp{line.small(), result};
    }
    if (line.accept("reduce")) {
      ReduceOp op;
      op.result = result;
      op.kind = one_of<ReduceKind>(line, kReduceNames, "a reduction");
      op.operand = value(line);
      line.expect("axis=");
      op.axis = line.small();
      line.expect("keep=");
      op.keep = line.integer();
      line.expect("group_stride=");
      op.group_stride = line.integer();
      return op;
    }
    if (line.accept("relayout")) {
      RelayoutOp op;
      op.result = result;
      op.operand = value(line);
      line.expect("via=");
      op.through_shared = line.accept("shared") || (line.expect("shuffle"), false);
      return op;
    }
    return elementwise(line, result);
  }

  OpBody elementwise(Line& line, ValueId result) {
    std::string name = line.name();
    ElementwiseOp op;
    op.result = result;
    if (name.ends_with(".fast")) {
      op.fast = true;
      name.resize(name.size() - 5);
    }
    for (int k = 0; k <= static_cast<int>(ElementwiseKind::Not); ++k) {
      if (ir::name_of(static_cast<ElementwiseKind>(k)) == name) {
        op.kind = static_cast<ElementwiseKind>(k);
        while (!line.is_at_end()) {
          op.operands.push_back(value(line));
        }
        return op;
      }
    }
    throw Stop{"an operation"};
  }

  ForOp for_op(Line& line, int depth) {
    ForOp op;
    op.variable = symbol(line);
    line.expect("in (");
    op.begin = expr(line);
    line.expect(",");
    op.end = expr(line);
    line.expect(",");
    op.step = line.integer();
    line.expect(") kind=");
    op.kind = line.accept("pipeline") ? LoopKind::Pipeline : (line.expect("range"), LoopKind::Range);
    line.expect("stages=");
    op.stages = line.small();
    line.expect("unroll=");
    op.unroll = line.small();
    line.expect("{");
    while (peek().accept("carry")) {
      Line carry = take();
      carry.expect("carry");
      if (carry.rest().starts_with("%")) {
        CarriedValue c;
        c.argument = value(carry);
        carry.expect("=");
        c.init = value(carry);
        carry.expect("yield");
        c.yield = value(carry);
        carry.expect("result");
        c.result = value(carry);
        op.values.push_back(c);
      } else {
        CarriedScalar c;
        c.argument = symbol(carry);
        carry.expect("=");
        c.init = expr(carry);
        carry.expect("yield");
        c.yield = expr(carry);
        carry.expect("result");
        c.result = symbol(carry);
        op.scalars.push_back(c);
      }
    }
    op.body = block(depth + 1);
    return op;
  }

  TilesOp tiles_op(Line& line, int depth) {
    TilesOp op;
    op.variables = list(line, [&] { return symbol(line); });
    line.expect("in");
    op.extents = exprs(line);
    line.expect("raster=");
    if (!line.accept("row_major")) {
      line.expect("grouped(");
      op.raster = RasterKind::Grouped;
      op.raster_group = line.integer();
      line.expect(")");
    }
    line.expect("persistent=");
    op.persistent = line.flag();
    line.expect("linear=");
    if (!line.accept("_")) {
      op.linear = symbol(line);
    }
    line.expect("decode");
    op.decode = exprs(line);
    line.expect("{");
    op.body = block(depth + 1);
    return op;
  }

  IfOp if_op(Line& line, int depth) {
    IfOp op;
    op.condition = expr(line);
    line.expect("{");
    op.then_body = block(depth + 1);
    closing_.expect("else {");
    op.else_body = block(depth + 1);
    closing_.expect("results");
    op.results = list(closing_, [&] {
      IfResult r;
      r.result = value(closing_);
      closing_.expect("=");
      r.then_value = value(closing_);
      closing_.expect("|");
      r.else_value = value(closing_);
      return r;
    });
    return op;
  }

  CheckOp check_op(Line& line) {
    CheckOp op;
    op.value = value(line);
    op.expected = tag(line);
    line.expect("over");
    op.over = list(line, [&] {
      CoverageRange range;
      range.name = line.name();
      line.expect(":");
      range.lo = expr(line);
      line.expect("..");
      range.hi = expr(line);
      return range;
    });
    line.expect("where=");
    op.where = expr(line);
    return op;
  }

  std::string_view text_;
  size_t position_ = 0;
  int line_number_ = 0;
  Function f_;
  // The line that closed the last block: `}`, `} else {` or `} results(...)`.
  Line closing_{"", 0};
  std::map<std::string, SymbolId> symbols_;
  std::map<std::string, TensorId> tensors_;
  std::map<std::string, SharedId> shared_;
};

}  // namespace

Result<Function> parse(std::string_view text) {
  return Parser(text).run();
}

}  // namespace tw::ir

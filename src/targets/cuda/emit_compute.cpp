// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"
#include "base/float16.h"
#include "targets/cuda/emitter.h"

namespace tw::targets::cuda {
namespace {

using ir::ElementwiseKind;
using ir::ValueId;
using target::TvMode;

std::string doubled(const std::string& index, int offset) {
  return is_number(index) ? std::to_string(2 * std::stoll(index) + offset)
                          : (offset == 0 ? "2 * " + index : "2 * " + index + " + 1");
}

std::string constant_text(const ir::ConstantOp& op, ElementType element) {
  switch (element) {
    case ElementType::Bf16:
      return float_literal(bf16_to_f32(f64_to_bf16(op.value)));
    case ElementType::F16:
      return float_literal(f16_to_f32(f64_to_f16(op.value)));
    case ElementType::Tf32:
      return float_literal(round_to_tf32(static_cast<float>(op.value)));
    case ElementType::F32:
      return float_literal(op.value);
    case ElementType::F64:
      return double_literal(op.value);
    case ElementType::Bool:
      return op.value != 0 ? "true" : "false";
    default:
      return std::to_string(static_cast<int64_t>(op.value));
  }
}

}  // namespace

std::string Emitter::array(ValueId id) {
  const uint32_t storage = registers_.storage(id);
  auto it = array_names_.find(storage);
  if (it != array_names_.end()) {
    return it->second;
  }
  const std::string& wish = function_.value(id).name;
  return array_names_.emplace(storage, unique(wish.empty() ? "r" : wish)).first->second;
}

void Emitter::declare(ValueId id) {
  const uint32_t storage = registers_.storage(id);
  for (const auto& scope : declared_) {
    if (scope.contains(storage)) {
      return;
    }
  }
  const ir::Value& value = function_.value(id);
  line(fmt::format("{} {}[{}];", register_type(value), array(id), register_count(value)));
  declared_.back().insert(storage);
}

std::string Emitter::broadcast_index(const ir::BroadcastOp& op, const std::string& index) {
  const ir::Value& from = function_.value(op.operand);
  const ir::Value& to = function_.value(op.result);
  std::vector<int> axes = op.axis_map;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (from.shape[d] != to.shape[axes[d]]) {
      axes[d] = target::kMaxTileRank;
    }
  }
  auto terms = codegen::register_map(*to.layout, *from.layout, axes);
  if (!terms) {
    failure_ = fmt::format("the registers of `{}` do not line up with its broadcast", from.name);
    return "0";
  }
  return map_index(*terms, index);
}

std::string Emitter::element(ValueId id, const std::string& index) {
  const ir::Value& value = function_.value(id);
  if (const ir::Op* op = registers_.inline_definition(id)) {
    return std::visit(
        ir::Overloaded{
            [&](const ir::ConstantOp& c) { return constant_text(c, value.element); },
            [&](const ir::IotaOp& iota) {
              codegen::AccessPlan plan = codegen::plan_access(*value.layout, value.shape.size(), 1, false);
              codegen::ThreadTerms digits;
              int64_t position = 1;
              for (const TvMode& mode : value.layout->values) {
                if (mode.axis == iota.axis && mode.extent > 1) {
                  digits.push_back({position, mode.extent, mode.stride});
                }
                position *= mode.extent;
              }
              return "(" + add_text(start(plan, static_cast<size_t>(iota.axis)), map_index(digits, index)) + ")";
            },
            [&](const ir::ExprOp& e) {
              return value.element == ElementType::I64 ? "(" + wide_scalar(e.expr) + ")" : "(" + scalar(e.expr) + ")";
            },
            [&](const ir::ScalarArgumentOp& s) {
              // Parameters: tensors, sizes, scalars.
              return plan_
                  .parameters[function_.tensors.size() + function_.sizes.size() + static_cast<size_t>(s.argument)]
                  .name;
            },
            [&](const ir::BroadcastOp& b) { return element(b.operand, broadcast_index(b, index)); },
            [](const auto&) { return std::string("0"); }},
        op->body);
  }
  switch (value.element) {
    case ElementType::Bf16:
      return fmt::format("{}({})", helper("tw_from_bf16"), bits16(id, index));
    case ElementType::F16:
      return fmt::format("{}({})", helper("tw_from_f16"), bits16(id, index));
    default:
      return fmt::format("{}[{}]", array(id), index);
  }
}

std::string Emitter::bits16(ValueId id, const std::string& index) {
  const ir::Value& value = function_.value(id);
  if (registers_.inline_definition(id) != nullptr) {
    return to_storage(value.element, element(id, index));
  }
  if (!is_packed(value)) {
    return fmt::format("{}[{}]", array(id), index);
  }
  return fmt::format("{}({}, {})", helper("tw_get16"), array(id), index);
}

// Text of the compute type (float, integer, bool) as the storage type of an element.
std::string Emitter::to_storage(ElementType element, const std::string& text) {
  switch (element) {
    case ElementType::Bf16:
      return fmt::format("{}({})", helper("tw_to_bf16"), text);
    case ElementType::F16:
      return fmt::format("{}({})", helper("tw_to_f16"), text);
    default:
      return text;
  }
}

void Emitter::open_count(int64_t count, std::string& index) {
  if (count == 1) {
    index = "0";
    return;
  }
  index = "i";
  line("#pragma unroll");
  open(fmt::format("for (int i = 0; i < {}; ++i)", count));
}

void Emitter::close_count(int64_t count) {
  if (count != 1) {
    close();
  }
}

void Emitter::assign(ValueId result, const std::function<std::string(const std::string&)>& expression) {
  const ir::Value& value = function_.value(result);
  declare(result);
  const std::string name = array(result);
  const int64_t count = register_count(value);
  std::string index;
  open_count(count, index);
  if (is_packed(value)) {
    const std::string pack = helper(value.element == ElementType::Bf16 ? "tw_pack_bf16" : "tw_pack_f16");
    line(fmt::format("{}[{}] = {}({}, {});", name, index, pack, expression(doubled(index, 0)),
                     expression(doubled(index, 1))));
  } else {
    line(fmt::format("{}[{}] = {};", name, index, to_storage(value.element, expression(index))));
  }
  close_count(count);
}

void Emitter::copy_registers(ValueId from, ValueId to) {
  if (registers_.inline_definition(from) == nullptr && registers_.same_storage(from, to)) {
    return;
  }
  if (registers_.inline_definition(from) != nullptr) {
    assign(to, [&](const std::string& index) { return element(from, index); });
    return;
  }
  declare(to);
  const int64_t count = register_count(function_.value(to));
  std::string index;
  open_count(count, index);
  line(fmt::format("{}[{}] = {}[{}];", array(to), index, array(from), index));
  close_count(count);
}

void Emitter::emit_block(const ir::Block& block) {
  for (const ir::Op& op : block) {
    emit_op(op);
  }
}

void Emitter::emit_op(const ir::Op& op) {
  const bool is_silent =
      std::holds_alternative<ir::CheckOp>(op.body) || std::holds_alternative<ir::ConstantOp>(op.body) ||
      std::holds_alternative<ir::IotaOp>(op.body) || std::holds_alternative<ir::ExprOp>(op.body) ||
      std::holds_alternative<ir::ScalarArgumentOp>(op.body) || std::holds_alternative<ir::BroadcastOp>(op.body);
  if (is_silent) {
    return;
  }
  source_comment(op);
  std::visit(
      ir::Overloaded{
          [&](const ir::ForOp& o) { emit_for(o); }, [&](const ir::TilesOp& o) { emit_tiles(o); },
          [&](const ir::IfOp& o) { emit_if(o); }, [&](const ir::CopyOp& o) { emit_copy(o); },
          [&](const ir::LoadOp& o) { emit_load(o); }, [&](const ir::StoreOp& o) { emit_store(o); },
          [&](const ir::RedOp& o) { emit_red(o); }, [&](const ir::MmaOp& o) { emit_mma(o); },
          [&](const ir::ElementwiseOp& o) { emit_elementwise(o); }, [&](const ir::ReduceOp& o) { emit_reduce(o); },
          [&](const ir::CommitOp&) { line(helper("tw_cp_async_commit") + "();"); },
          [&](const ir::DrainOp& o) { line(fmt::format("{}<{}>();", helper("tw_cp_async_wait"), o.pending)); },
          [&](const ir::SyncOp& o) { line(o.scope == ir::SyncScope::Block ? "__syncthreads();" : "__syncwarp();"); },
          [](const auto&) {}},
      op.body);
}

void Emitter::emit_for(const ir::ForOp& op) {
  for (const ir::CarriedValue& carried : op.values) {
    declare(carried.argument);
    copy_registers(carried.init, carried.argument);
  }
  for (const ir::CarriedScalar& s : op.scalars) {
    const ir::ExprId self = [&] {
      for (uint32_t i = 0; i < function_.exprs.size(); ++i) {
        const ir::ExprNode& node = function_.exprs.node(ir::ExprId(i));
        if (node.kind == ir::ExprKind::Symbol && node.symbol == s.argument) {
          return ir::ExprId(i);
        }
      }
      return s.init;
    }();
    line(fmt::format("{} {} = {};", is_wide(self) || is_wide(s.yield) || is_wide(s.init) ? "long long" : "int",
                     symbol_name(s.argument), scalar(s.init)));
  }
  const std::string name = symbol_name(op.variable);
  bool is_wide_counter = is_wide(op.begin) || is_wide(op.end);
  for (ir::ExprId id : wide_) {
    const ir::ExprNode& node = function_.exprs.node(id);
    is_wide_counter |= node.kind == ir::ExprKind::Symbol && node.symbol == op.variable;
  }
  if (op.unroll > 0) {
    line(fmt::format("#pragma unroll {}", op.unroll));
  } else if (!function_.exprs.constant_value(op.end)) {
    line("#pragma unroll 1");
  }
  const std::string step = op.step == 1 ? "++" + name : fmt::format("{} += {}", name, op.step);
  open(fmt::format("for ({} {} = {}; {} < {}; {})", is_wide_counter ? "long long" : "int", name, scalar(op.begin), name,
                   scalar(op.end), step));
  emit_block(op.body);
  // All next values are read before any is written.
  std::vector<std::string> next;
  for (const ir::CarriedScalar& s : op.scalars) {
    next.push_back(op.scalars.size() == 1 ? scalar(s.yield) : unique(symbol_name(s.argument) + "_next"));
    if (op.scalars.size() > 1) {
      line(fmt::format("const auto {} = {};", next.back(), scalar(s.yield)));
    }
  }
  for (size_t i = 0; i < op.scalars.size(); ++i) {
    line(fmt::format("{} = {};", symbol_name(op.scalars[i].argument), next[i]));
  }
  // Values that another carried value still needs go through a copy of their own.
  std::vector<std::pair<std::string, const ir::CarriedValue*>> staged;
  for (const ir::CarriedValue& carried : op.values) {
    if (op.values.size() == 1 || registers_.inline_definition(carried.yield) != nullptr ||
        registers_.same_storage(carried.yield, carried.argument)) {
      continue;
    }
    bool is_read_late = false;
    for (const ir::CarriedValue& other : op.values) {
      is_read_late |= &other != &carried && registers_.same_storage(carried.yield, other.argument);
    }
    if (is_read_late) {
      const ir::Value& value = function_.value(carried.yield);
      const std::string copy = unique(array(carried.yield) + "_now");
      line(fmt::format("{} {}[{}];", register_type(value), copy, register_count(value)));
      std::string index;
      open_count(register_count(value), index);
      line(fmt::format("{}[{}] = {}[{}];", copy, index, array(carried.yield), index));
      close_count(register_count(value));
      staged.emplace_back(copy, &carried);
    }
  }
  for (const ir::CarriedValue& carried : op.values) {
    bool is_staged = false;
    for (const auto& [copy, who] : staged) {
      is_staged |= who == &carried;
    }
    if (!is_staged) {
      copy_registers(carried.yield, carried.argument);
    }
  }
  for (const auto& [copy, carried] : staged) {
    const int64_t count = register_count(function_.value(carried->argument));
    std::string index;
    open_count(count, index);
    line(fmt::format("{}[{}] = {}[{}];", array(carried->argument), index, copy, index));
    close_count(count);
  }
  close();
  for (const ir::CarriedValue& carried : op.values) {
    copy_registers(carried.argument, carried.result);
  }
  for (const ir::CarriedScalar& s : op.scalars) {
    symbol_names_[s.result] = symbol_name(s.argument);
  }
}

void Emitter::emit_tiles(const ir::TilesOp& op) {
  std::string points;
  for (ir::ExprId extent : op.extents) {
    points += (points.empty() ? "" : " * ") + operand(extent, true);
  }
  const std::string name = symbol_name(op.linear);
  if (op.persistent) {
    open(fmt::format("for (long long {0} = blockIdx.x; {0} < {1}; {0} += gridDim.x)", name, points));
  } else if (plan_.spaces.size() > 1) {
    open(fmt::format("if ((long long)blockIdx.x < {})", points));
    line(fmt::format("const int {} = (int)blockIdx.x;", name));
  } else {
    open("");
    line(fmt::format("const int {} = (int)blockIdx.x;", name));
  }
  for (size_t i = 0; i < op.variables.size(); ++i) {
    line(fmt::format("const int {} = {}{};", symbol_name(op.variables[i]), is_wide(op.decode[i]) ? "(int)" : "",
                     is_wide(op.decode[i]) ? "(" + scalar(op.decode[i]) + ")" : scalar(op.decode[i])));
  }
  emit_block(op.body);
  close();
}

void Emitter::emit_if(const ir::IfOp& op) {
  for (const ir::IfResult& result : op.results) {
    declare(result.result);
  }
  open(fmt::format("if ({})", scalar(op.condition)));
  emit_block(op.then_body);
  for (const ir::IfResult& result : op.results) {
    copy_registers(result.then_value, result.result);
  }
  if (!op.else_body.empty() || !op.results.empty()) {
    --depth_;
    declared_.pop_back();
    open("} else");
    emit_block(op.else_body);
    for (const ir::IfResult& result : op.results) {
      copy_registers(result.else_value, result.result);
    }
  }
  close();
}

std::string Emitter::mma_function(const target::MmaAtom& atom) {
  const std::string name = fmt::format("tw_{}_{}", atom.name, tw::name_of(atom.a));
  if (mma_functions_.contains(name)) {
    return name;
  }
  // Values of 32 bits, one to a register; of 16 bits, two.
  auto registers = [](const target::TvLayout& map, ElementType element) {
    return static_cast<int>(map.value_count() * size_bytes(element) / 4);
  };
  const int na = registers(atom.a_map, atom.a);
  const int nb = registers(atom.b_map, atom.b);
  const int nd = registers(atom.c_map, atom.c);
  auto numbers = [](int from, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += fmt::format("{}%{}", i == 0 ? "" : ", ", from + i);
    }
    return out;
  };
  const bool is_float = size_bytes(atom.a) == 4;
  std::string outputs;
  for (int i = 0; i < nd; ++i) {
    outputs += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ", ", i);
  }
  std::string inputs;
  for (int i = 0; i < na; ++i) {
    inputs += fmt::format("{}\"r\"({})", i == 0 ? "" : ", ",
                          is_float ? fmt::format("__float_as_uint(a[{}])", i) : fmt::format("a[{}]", i));
  }
  for (int i = 0; i < nb; ++i) {
    inputs += fmt::format(", \"r\"({})", is_float ? fmt::format("__float_as_uint(b[{}])", i) : fmt::format("b[{}]", i));
  }
  const char* type = is_float ? "float" : "unsigned";
  mma_functions_[name] = fmt::format(
      "// d += a * b for one warp.\n"
      "__device__ __forceinline__ void {}(float* d, const {}* a, const {}* b) {{\n"
      "  asm(\"{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\"\n"
      "      : {}\n"
      "      : {});\n"
      "}}\n",
      name, type, type, atom.ptx, numbers(0, nd), numbers(nd, na), numbers(nd + na, nb), numbers(0, nd), outputs,
      inputs);
  return name;
}

void Emitter::emit_mma(const ir::MmaOp& op) {
  const ValueId a = std::get<ValueId>(op.a);
  const ValueId b = std::get<ValueId>(op.b);
  const ir::Value& a_value = function_.value(a);
  const ir::Value& b_value = function_.value(b);
  const ir::Value& d_value = function_.value(op.result);
  declare(op.result);
  if (op.c.is_valid()) {
    copy_registers(op.c, op.result);
  } else {
    assign(op.result, [](const std::string&) { return std::string("0.0f"); });
  }
  const target::MmaAtom* atom = function_.machine->find_mma(op.atom, a_value.element, b_value.element, d_value.element);
  TW_CHECK(atom != nullptr);
  if (atom->kind == target::MmaKind::Fma) {
    emit_fma(op);
    return;
  }
  for (ValueId operand : {a, b}) {
    if (registers_.inline_definition(operand) != nullptr) {
      failure_ = "an operand of mma is a constant";
      return;
    }
  }
  const std::string call = mma_function(*atom);
  // Repeats of the atom: after its own registers come repeats along the columns, then along the rows
  // (target::tile_mma).
  auto repeats = [](const target::TvLayout& map, const ir::Value& value, int64_t own_columns) {
    const int64_t total = value.layout->value_count() / map.value_count();
    // Columns that one warp's registers span.
    int64_t columns = 0;
    for (int64_t v = 0; v < value.layout->value_count(); ++v) {
      columns = std::max<int64_t>(columns, value.layout->value_offset(v)[1] / own_columns + 1);
    }
    return std::pair<int64_t, int64_t>{total / columns, columns};
  };
  const auto [am, ak] = repeats(atom->a_map, a_value, atom->k);
  const auto [bn, bk] = repeats(atom->b_map, b_value, atom->k);
  TW_CHECK(ak == bk);
  auto per = [](const target::TvLayout& map, ElementType element) {
    return map.value_count() * size_bytes(element) / 4;
  };
  const int64_t pa = per(atom->a_map, atom->a);
  const int64_t pb = per(atom->b_map, atom->b);
  const int64_t pd = per(atom->c_map, atom->c);
  auto loop = [&](const char* name, int64_t count) {
    line("#pragma unroll");
    open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", name, count));
  };
  std::string k = "0";
  if (ak > 1) {
    loop("k_", ak);
    k = "k_";
  }
  loop("m_", am);
  loop("n_", bn);
  auto at = [](const std::string& outer, int64_t count, const std::string& inner, int64_t unit) {
    return add_text(scaled_text(outer, count * unit), scaled_text(inner, unit));
  };
  line(fmt::format("{}(&{}[{}], &{}[{}], &{}[{}]);", call, array(op.result), at("m_", bn, "n_", pd), array(a),
                   at("m_", ak, k, pa), array(b), at("n_", bk, k, pb)));
  close();
  close();
  if (ak > 1) {
    close();
  }
}

void Emitter::emit_fma(const ir::MmaOp& op) {
  const ValueId a = std::get<ValueId>(op.a);
  const ValueId b = std::get<ValueId>(op.b);
  const ir::Value& a_value = function_.value(a);
  const ir::Value& d_value = function_.value(op.result);
  // d's register i needs a's registers of its row and b's of its column; k runs over the digits of axis 1.
  auto a_terms = codegen::register_map(*d_value.layout, *a_value.layout, {0, target::kMaxTileRank});
  auto b_terms = codegen::register_map(*d_value.layout, *function_.value(b).layout, {1, target::kMaxTileRank});
  if (!a_terms || !b_terms) {
    failure_ = "the operands of fma do not line up";
    return;
  }
  const int64_t tile_k = a_value.shape[1];
  auto k_terms = [&](const target::TvLayout& layout) {
    codegen::ThreadTerms terms;
    int64_t position = 1;
    int64_t divisor = 1;
    for (const TvMode& mode : layout.values) {
      if (mode.axis == 1 && mode.extent > 1) {
        TW_CHECK(mode.stride == divisor);
        terms.push_back({divisor, mode.extent, position});
        divisor *= mode.extent;
      }
      position *= mode.extent;
    }
    return terms;
  };
  const codegen::ThreadTerms a_k = k_terms(*a_value.layout);
  const codegen::ThreadTerms b_k = k_terms(*function_.value(b).layout);
  std::string k = "0";
  if (tile_k > 1) {
    line("#pragma unroll");
    open(fmt::format("for (int k_ = 0; k_ < {}; ++k_)", tile_k));
    k = "k_";
  }
  std::string index;
  const int64_t count = register_count(d_value);
  open_count(count, index);
  auto read = [&](ValueId id, const codegen::ThreadTerms& terms, const codegen::ThreadTerms& along) {
    return element(id, add_text(map_index(terms, index), map_index(along, k)));
  };
  line(fmt::format("{0}[{1}] = fmaf({2}, {3}, {0}[{1}]);", array(op.result), index, read(a, *a_terms, a_k),
                   read(b, *b_terms, b_k)));
  close_count(count);
  if (tile_k > 1) {
    close();
  }
}

std::string Emitter::elementwise_text(const ir::ElementwiseOp& op, const std::string& index) {
  std::vector<std::string> x;
  for (ValueId id : op.operands) {
    x.push_back(element(id, index));
  }
  const ElementType from = function_.value(op.operands.back()).element;
  const ElementType to = function_.value(op.result).element;
  const bool is_float = is_floating(from);
  // f64 calls the functions without the suffix.
  const bool is_double = from == ElementType::F64;
  const std::string f = is_double ? "" : "f";
  const bool is_fast = op.fast && !is_double;
  auto call = [&](const std::string& name) { return fmt::format("{}({})", name, x[0]); };
  auto infix = [&](const char* text) { return fmt::format("({} {} {})", x[0], text, x[1]); };
  switch (op.kind) {
    case ElementwiseKind::Add:
      return infix("+");
    case ElementwiseKind::Sub:
      return infix("-");
    case ElementwiseKind::Mul:
      return infix("*");
    case ElementwiseKind::Div:
      return is_fast && is_float ? fmt::format("__fdividef({}, {})", x[0], x[1]) : infix("/");
    case ElementwiseKind::Maximum:
      return is_float ? fmt::format("fmax{}({}, {})", f, x[0], x[1])
                      : fmt::format("{}({}, {})", helper("tw_max"), x[0], x[1]);
    case ElementwiseKind::Minimum:
      return is_float ? fmt::format("fmin{}({}, {})", f, x[0], x[1])
                      : fmt::format("{}({}, {})", helper("tw_min"), x[0], x[1]);
    case ElementwiseKind::Neg:
      return fmt::format("(-{})", x[0]);
    case ElementwiseKind::Abs:
      return is_float ? call("fabs" + f) : fmt::format("({0} < 0 ? -{0} : {0})", x[0]);
    case ElementwiseKind::Exp:
      return call(is_fast ? "__expf" : "exp" + f);
    case ElementwiseKind::Exp2:
      return call(is_fast ? helper("tw_exp2_fast") : "exp2" + f);
    case ElementwiseKind::Log:
      return call(is_fast ? "__logf" : "log" + f);
    case ElementwiseKind::Sqrt:
      return call("sqrt" + f);
    case ElementwiseKind::Rsqrt:
      return call("rsqrt" + f);
    case ElementwiseKind::Tanh:
      return call(is_fast ? helper("tw_tanh_fast") : "tanh" + f);
    case ElementwiseKind::Erf:
      return call("erf" + f);
    case ElementwiseKind::Sigmoid:
      return is_double ? fmt::format("(1.0 / (1.0 + exp(-{})))", x[0])
                       : call(helper(is_fast ? "tw_sigmoid_fast" : "tw_sigmoid"));
    case ElementwiseKind::Where:
      return fmt::format("({} ? {} : {})", x[0], x[1], x[2]);
    case ElementwiseKind::Cast:
      break;
    case ElementwiseKind::Eq:
      return infix("==");
    case ElementwiseKind::Ne:
      return infix("!=");
    case ElementwiseKind::Lt:
      return infix("<");
    case ElementwiseKind::Le:
      return infix("<=");
    case ElementwiseKind::And:
      return infix("&&");
    case ElementwiseKind::Or:
      return infix("||");
    case ElementwiseKind::Not:
      return fmt::format("(!{})", x[0]);
  }
  // Cast: between floats the storage rounds; tf32 and integers are made here.
  if (from == to) {
    return x[0];
  }
  auto clamped = [&](std::string_view type, std::string_view lowest, std::string_view highest) {
    const char* suffix = from == ElementType::I64 ? "LL" : "";
    return fmt::format("{}{}({}(({}), {}{}), {}{})", type, helper("tw_min"), helper("tw_max"), x[0], lowest, suffix,
                       highest, suffix);
  };
  switch (to) {
    case ElementType::Tf32:
      return fmt::format("{}({}{})", helper("tw_to_tf32"), is_float ? "" : "(float)", x[0]);
    case ElementType::Bf16:
    case ElementType::F16:
    case ElementType::F32:
      return is_float && !is_double ? x[0] : fmt::format("(float){}", x[0]);
    case ElementType::F64:
      return fmt::format("(double){}", x[0]);
    // To integers: to nearest even, saturating.
    case ElementType::I8:
      return is_float ? fmt::format("(signed char){}({}, -128.0f, 127.0f)", helper("tw_to_int"), x[0])
                      : clamped("(signed char)", "-128", "127");
    case ElementType::U8:
      return is_float ? fmt::format("(unsigned char){}({}, 0.0f, 255.0f)", helper("tw_to_int"), x[0])
                      : clamped("(unsigned char)", "0", "255");
    case ElementType::I32:
      if (is_double) {
        return fmt::format("__double2int_rn({})", x[0]);
      }
      // 2^31 is no i32; the largest f32 below it is 2^31 - 128, and cvt saturates above.
      return is_float ? fmt::format("{}({}, -2147483648.0f, 2147483648.0f)", helper("tw_to_int"), x[0])
             : from == ElementType::I64 ? clamped("(int)", "-2147483648", "2147483647")
                                        : fmt::format("(int){}", x[0]);
    case ElementType::I64:
      return is_double  ? fmt::format("__double2ll_rn({})", x[0])
             : is_float ? fmt::format("__float2ll_rn({})", x[0])
                        : fmt::format("(long long){}", x[0]);
    case ElementType::Bool:
      return fmt::format("({} != 0)", x[0]);
    default:
      failure_ = fmt::format("a cast from {} to {}", tw::name_of(from), tw::name_of(to));
      return "0";
  }
}

void Emitter::emit_elementwise(const ir::ElementwiseOp& op) {
  assign(op.result, [&](const std::string& index) { return elementwise_text(op, index); });
}

std::string Emitter::reduce_text(ir::ReduceKind kind, ElementType element, const std::string& a, const std::string& b) {
  switch (kind) {
    case ir::ReduceKind::Add:
      return fmt::format("{} + {}", a, b);
    case ir::ReduceKind::Max:
      return is_floating(element) ? fmt::format("{}({}, {})", element == ElementType::F64 ? "fmax" : "fmaxf", a, b)
                                  : fmt::format("{}({}, {})", helper("tw_max"), a, b);
    case ir::ReduceKind::Min:
      return is_floating(element) ? fmt::format("{}({}, {})", element == ElementType::F64 ? "fmin" : "fminf", a, b)
                                  : fmt::format("{}({}, {})", helper("tw_min"), a, b);
    case ir::ReduceKind::Or:
      return fmt::format("{} | {}", a, b);
  }
  return {};
}

void Emitter::emit_reduce(const ir::ReduceOp& op) {
  const ir::Value& from = function_.value(op.operand);
  const ir::Value& to = function_.value(op.result);
  // Registers along the axis, then lanes.
  codegen::ThreadTerms kept;
  codegen::ThreadTerms reduced;
  int64_t position = 1;
  int64_t kept_count = 1;
  int64_t reduced_count = 1;
  for (const TvMode& mode : from.layout->values) {
    if (mode.axis == op.axis) {
      reduced.push_back({reduced_count, mode.extent, position});
      reduced_count *= mode.extent;
    } else if (mode.axis != TvMode::kReplicated) {
      kept.push_back({kept_count, mode.extent, position});
      kept_count *= mode.extent;
    }
    position *= mode.extent;
  }
  std::erase_if(kept, [](const codegen::ThreadTerm& term) { return term.modulus == 1; });
  std::erase_if(reduced, [](const codegen::ThreadTerm& term) { return term.modulus == 1; });
  std::vector<int64_t> masks;
  int64_t divisor = 1;
  for (const TvMode& mode : from.layout->threads) {
    for (int64_t bit = 1; mode.axis == op.axis && bit < mode.extent && divisor * bit < 32; bit *= 2) {
      masks.push_back(divisor * bit);
    }
    divisor *= mode.extent;
  }
  TW_CHECK(kept_count == to.layout->value_count());
  declare(op.result);
  const std::string type = is_floating(from.element) && from.element != ElementType::F64
                               ? "float"
                               : (from.element == ElementType::Bool ? "int" : memory_type(from.element));
  std::string index;
  open_count(kept_count, index);
  const std::string sum = unique("s");
  const std::string base = map_index(kept, index);
  line(fmt::format("{} {} = {};", type, sum, element(op.operand, base)));
  if (reduced_count > 1) {
    line("#pragma unroll");
    open(fmt::format("for (int j = 1; j < {}; ++j)", reduced_count));
    line(fmt::format(
        "{} = {};", sum,
        reduce_text(op.kind, from.element, sum, element(op.operand, add_text(base, map_index(reduced, "j"))))));
    close();
  }
  for (auto mask = masks.rbegin(); mask != masks.rend(); ++mask) {
    line(fmt::format(
        "{} = {};", sum,
        reduce_text(op.kind, from.element, sum, fmt::format("__shfl_xor_sync(0xffffffffu, {}, {})", sum, *mask))));
  }
  if (is_packed(to)) {
    line(fmt::format("{}({}, {}, {});", helper("tw_set16"), array(op.result), index, to_storage(to.element, sum)));
  } else {
    line(fmt::format("{}[{}] = {};", array(op.result), index, to_storage(to.element, sum)));
  }
  close_count(kept_count);
}

}  // namespace tw::targets::cuda

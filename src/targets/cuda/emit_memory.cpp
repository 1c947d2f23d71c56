// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/check.h"
#include "base/float16.h"
#include "targets/cuda/emitter.h"

namespace tw::targets::cuda {
namespace {

using codegen::AccessLoop;
using codegen::AccessPlan;
using ir::Region;

// The type that one access moves and how its components are named.
struct VectorType {
  std::string name;
  // "" for a scalar.
  std::vector<std::string> components;
  int elems_per_component = 1;
};

VectorType vector_type(ElementType element, int elems) {
  static const std::vector<std::string> kNames{"x", "y", "z", "w"};
  const int bytes = elems * size_bytes(element);
  auto make = [&](const std::string& scalar, const std::string& base, int count, int per) {
    VectorType out;
    out.elems_per_component = per;
    out.name = count == 1 ? scalar : base + std::to_string(count);
    out.components =
        count == 1 ? std::vector<std::string>{""} : std::vector<std::string>(kNames.begin(), kNames.begin() + count);
    return out;
  };
  switch (element) {
    case ElementType::F32:
    case ElementType::Tf32:
      return make("float", "float", elems, 1);
    case ElementType::I32:
      return make("int", "int", elems, 1);
    case ElementType::U32:
      return make("unsigned", "uint", elems, 1);
    case ElementType::F64:
      return make("double", "double", elems, 1);
    case ElementType::I64:
      return make("long long", "longlong", elems, 1);
    default:
      break;
  }
  if (bytes >= 4) {
    return make("unsigned", "uint", bytes / 4, 4 / size_bytes(element));
  }
  return bytes == 2 ? make("unsigned short", "ushort", 1, elems) : make(memory_type(element), "", 1, 1);
}

std::string component(const std::string& variable, const std::string& name) {
  return name.empty() ? variable : variable + "." + name;
}

// One component of a vector whose every element is `fill`.
std::string fill_component(ElementType element, const VectorType& type, double fill) {
  auto bits = [&]() -> uint32_t {
    switch (element) {
      case ElementType::Bf16:
        return f64_to_bf16(fill);
      case ElementType::F16:
        return f64_to_f16(fill);
      default:
        return static_cast<uint8_t>(static_cast<int64_t>(fill));
    }
  };
  if (size_bytes(element) == 2 || type.elems_per_component > 1) {
    const int width = 8 * size_bytes(element);
    uint32_t all = 0;
    for (int i = 0; i < type.elems_per_component; ++i) {
      all |= bits() << (i * width);
    }
    return all == 0 ? "0" : fmt::format("0x{:x}u", all);
  }
  return is_floating(element) ? (element == ElementType::F64 ? double_literal(fill) : float_literal(fill))
                              : std::to_string(static_cast<int64_t>(fill));
}

}  // namespace

ElementType Emitter::element_of(const Region& region) const {
  return region.is_global() ? function_.tensor(region.tensor()).element
                            : function_.shared_object(region.shared()).element;
}

std::string Emitter::pointer_to(const Region& region, const std::string& address, const std::string& type,
                                bool is_const) const {
  const char* qualifier = is_const ? "const " : "";
  return region.is_global() ? fmt::format("({}{}*)({})", qualifier, type, address)
                            : fmt::format("({}{}*)(tw_shared + ({}))", qualifier, type, address);
}

std::string Emitter::start(const AccessPlan& plan, size_t axis) {
  const std::string text = codegen::to_text(plan.start[axis], "thread");
  return text == "0" ? text : hoist("const int", "t", text);
}

std::vector<std::string> Emitter::open_loops(const AccessPlan& plan) {
  std::vector<std::string> variables(plan.loops.size());
  for (size_t i = plan.loops.size(); i-- > 0;) {
    variables[i] = fmt::format("i{}", i);
    line("#pragma unroll");
    open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variables[i], plan.loops[i].extent));
  }
  return variables;
}

void Emitter::close_loops(const AccessPlan& plan) {
  for (size_t i = 0; i < plan.loops.size(); ++i) {
    close();
  }
}

std::string Emitter::moved(const AccessPlan& plan, int axis, const std::vector<std::string>& variables) {
  std::string out = "0";
  for (size_t i = plan.loops.size(); i-- > 0;) {
    if (plan.loops[i].axis == axis) {
      out = add_text(out, scaled_text(variables[i], plan.loops[i].stride));
    }
  }
  return out;
}

std::string Emitter::register_index(const AccessPlan& plan, const std::vector<std::string>& variables,
                                    int64_t divide_by) {
  std::string out = "0";
  for (size_t i = plan.loops.size(); i-- > 0;) {
    out = add_text(out, scaled_text(variables[i], plan.loops[i].register_stride / divide_by));
  }
  return out;
}

PlaceOf Emitter::place_global(const Region& region, const AccessPlan& plan, const std::vector<bool>& guards) {
  const ir::Tensor& tensor = function_.tensor(region.tensor());
  const std::string type = memory_type(tensor.element);
  std::vector<int> tile_axis(region.axes.size(), -1);
  for (size_t t = 0; t < region.perm.size(); ++t) {
    tile_axis[region.object_axis(static_cast<int>(t))] = static_cast<int>(t);
  }
  struct Moving {
    int axis;
    std::string factor;
  };
  struct Guard {
    int axis;
    std::string begin;
    std::string room;
    std::string low;
  };
  std::vector<Moving> moving;
  std::vector<Guard> checks;
  std::string fixed_guard;
  std::string base = tensor_name(region.tensor());
  for (size_t i = 0; i < region.axes.size(); ++i) {
    const ir::AxisIndex& axis = region.axes[i];
    const int t = tile_axis[i];
    const bool is_unit = function_.exprs.is_constant(tensor.strides[i], 1);
    const std::string stride = operand(tensor.strides[i], false);
    const std::string begin = t >= 0 ? start(plan, static_cast<size_t>(t)) : "0";
    // lo + begin in 64 bits, then times the stride.
    std::string coordinate = function_.exprs.is_constant(axis.lo, 0) ? "" : wide_scalar(axis.lo);
    if (begin != "0") {
      coordinate = coordinate.empty() ? (is_unit ? begin : "(long long)" + begin) : coordinate + " + " + begin;
    }
    if (!coordinate.empty()) {
      base += is_unit ? " + (" + coordinate + ")" : fmt::format(" + ({}) * {}", coordinate, stride);
    }
    if (t >= 0) {
      moving.push_back({t, is_unit ? "" : stride});
    }
    if (i < guards.size() && guards[i]) {
      const bool may_be_negative = facts_.range(axis.lo).lo < 0;
      const std::string extent = scalar(tensor.extents[i]);
      if (t < 0) {
        const std::string lo = scalar(axis.lo);
        std::string text = fmt::format("({}) < {}", lo, extent);
        if (may_be_negative) {
          text = fmt::format("({}) >= 0 && {}", lo, text);
        }
        fixed_guard += fixed_guard.empty() ? text : " && " + text;
        continue;
      }
      std::string room = unique("room");
      const bool is_simple = !is_wide(axis.lo) && !may_be_negative && !is_wide(tensor.extents[i]);
      line(is_simple
               ? fmt::format("const int {} = {};", room,
                             function_.exprs.is_constant(axis.lo, 0)
                                 ? extent
                                 : fmt::format("{} - {}", operand(tensor.extents[i], false), operand(axis.lo, false)))
               : fmt::format("const int {} = {}({} - {}, {});", room, helper("tw_room"),
                             operand(tensor.extents[i], true), operand(axis.lo, true), axis.extent));
      std::string low;
      if (may_be_negative) {
        low = unique("low");
        // Coordinates below this one are left of the tensor.
        line(fmt::format("const int {} = {}(-({}), {});", low, helper("tw_room"), wide_scalar(axis.lo), axis.extent));
      }
      checks.push_back({t, begin, room, low});
    }
  }
  const std::string pointer = unique(tensor.name + "_at");
  line(fmt::format("{}{}* {} = {};", tensor.direction == ir::Direction::In ? "const " : "", type, pointer, base));
  return [=, &plan](const std::vector<std::string>& variables) {
    Place out;
    out.address = pointer;
    for (const Moving& m : moving) {
      const std::string text = moved(plan, m.axis, variables);
      if (text == "0") {
        continue;
      }
      out.address += m.factor.empty() ? " + " + (text.find(' ') == std::string::npos ? text : "(" + text + ")")
                                      : fmt::format(" + (long long)({}) * {}", text, m.factor);
    }
    out.guard = fixed_guard;
    for (const Guard& g : checks) {
      const std::string at = add_text(g.begin, moved(plan, g.axis, variables));
      std::string text = fmt::format("{} < {}", at, g.room);
      if (!g.low.empty()) {
        text = fmt::format("{} >= {} && {}", at, g.low, text);
      }
      out.guard += out.guard.empty() ? text : " && " + text;
    }
    return out;
  };
}

std::string Emitter::slot_base(const Region& region) {
  const ir::SharedObject& object = function_.shared_object(region.shared());
  const ir::SharedLayout& layout = *object.layout;
  if (object.ring <= 1) {
    return std::to_string(layout.offset_bytes);
  }
  std::string slot;
  if (auto version = function_.exprs.constant_value(region.version)) {
    return std::to_string(layout.offset_bytes +
                          (*version % object.ring + object.ring) % object.ring * layout.slot_bytes);
  }
  if (facts_.range(region.version).lo >= 0) {
    slot = fmt::format("(unsigned)({} % {})", operand(region.version, false), object.ring);
  } else {
    slot = fmt::format("(unsigned){}({}, {})", helper("tw_floor_mod"), scalar(region.version),
                       is_wide(region.version) ? fmt::format("{}LL", object.ring) : std::to_string(object.ring));
  }
  return add_text(std::to_string(layout.offset_bytes), fmt::format("{} * {}u", slot, layout.slot_bytes));
}

PlaceOf Emitter::place_shared(const Region& region, const AccessPlan& plan) {
  const ir::SharedObject& object = function_.shared_object(region.shared());
  const ir::SharedLayout& layout = *object.layout;
  const int64_t size = size_bytes(object.element);
  const std::string base = slot_base(region);
  const bool is_swizzled = !layout.swizzle.is_identity();
  std::vector<int> tile_axis(region.axes.size(), -1);
  for (size_t t = 0; t < region.perm.size(); ++t) {
    tile_axis[region.object_axis(static_cast<int>(t))] = static_cast<int>(t);
  }
  const std::string mask = fmt::format("{}u", layout.swizzle.y_mask());
  const int shift = layout.swizzle.shift();
  if (!codegen::is_affine(layout.elements)) {
    // Nested strides: the coordinate of every access is taken apart.
    return [=, this, &plan, &region](const std::vector<std::string>& variables) {
      std::string offset = "0";
      for (size_t i = 0; i < region.axes.size(); ++i) {
        std::string coordinate = scalar(region.axes[i].lo);
        if (tile_axis[i] >= 0) {
          coordinate = add_text(coordinate, add_text(start(plan, tile_axis[i]), moved(plan, tile_axis[i], variables)));
        }
        for (const codegen::ThreadTerm& term :
             codegen::axis_terms(function_.shared_object(region.shared()).layout->elements, i)) {
          offset = add_text(
              offset, fmt::format("({}) / {} % {} * {}", coordinate, term.divisor, term.modulus, term.stride * size));
        }
      }
      if (is_swizzled) {
        offset = fmt::format("{}({}, {}, {})", helper("tw_swizzle"), offset, mask, shift);
      }
      return Place{add_text(base, offset), ""};
    };
  }
  // One byte stride an axis: offset = thread part + constants of the loops + what lo adds.
  std::vector<int64_t> stride(region.axes.size(), 0);
  int64_t constant = 0;
  std::string dynamic = "0";
  codegen::ThreadTerms thread_terms;
  for (size_t i = 0; i < region.axes.size(); ++i) {
    for (const codegen::ThreadTerm& term : codegen::axis_terms(layout.elements, i)) {
      stride[i] = term.modulus > 1 ? term.stride * size : stride[i];
    }
    if (auto lo = function_.exprs.constant_value(region.axes[i].lo)) {
      constant += *lo * stride[i];
    } else {
      dynamic = add_text(dynamic, scaled_text(scalar(region.axes[i].lo), stride[i]));
    }
    if (tile_axis[i] >= 0) {
      for (codegen::ThreadTerm term : plan.start[tile_axis[i]]) {
        term.stride *= stride[i];
        thread_terms.push_back(term);
      }
    }
  }
  auto loops_text = [=, &plan](const std::vector<std::string>& variables) {
    std::string out = "0";
    for (size_t i = 0; i < stride.size(); ++i) {
      if (tile_axis[i] >= 0) {
        out = add_text(out, scaled_text(moved(plan, tile_axis[i], variables), stride[i]));
      }
    }
    return add_text(std::to_string(constant), out);
  };
  const std::string thread_text = codegen::to_text(thread_terms, "thread");
  if (!is_swizzled) {
    const std::string own = thread_text == "0" ? "0" : hoist("const unsigned", "at", thread_text);
    return [=](const std::vector<std::string>& variables) {
      return Place{add_text(add_text(base, own), add_text(dynamic, loops_text(variables))), ""};
    };
  }
  // A swizzle is linear over xor. Where the bits of the thread part and of the constants below the period never meet,
  // their sum is their xor, and the thread part can be swizzled once for all accesses.
  const int64_t period = layout.swizzle.period();
  int64_t thread_bits = 0;
  for (int64_t thread = 0; thread < function_.threads; ++thread) {
    thread_bits |= codegen::evaluate(thread_terms, thread);
  }
  std::vector<int64_t> constants{constant};
  for (const AccessLoop& loop : plan.loops) {
    int64_t step = 0;
    for (size_t i = 0; i < stride.size(); ++i) {
      step += tile_axis[i] >= 0 && tile_axis[i] == loop.axis ? loop.stride * stride[i] : 0;
    }
    std::vector<int64_t> next;
    for (int64_t c : constants) {
      for (int64_t digit = 0; digit < loop.extent; ++digit) {
        next.push_back(c + digit * step);
      }
    }
    constants = std::move(next);
  }
  bool are_apart = dynamic == "0";
  bool have_low_bits = false;
  for (int64_t c : constants) {
    are_apart &= (c & thread_bits & (period - 1)) == 0;
    have_low_bits |= (c & (period - 1)) != 0;
  }
  if (!are_apart) {
    const std::string own = thread_text == "0" ? "0" : hoist("const unsigned", "at", thread_text);
    return [=, this](const std::vector<std::string>& variables) {
      const std::string offset = add_text(own, add_text(dynamic, loops_text(variables)));
      return Place{add_text(base, fmt::format("{}({}, {}, {})", helper("tw_swizzle"), offset, mask, shift)), ""};
    };
  }
  const std::string own = thread_text == "0"
                              ? "0"
                              : hoist("const unsigned", "at",
                                      fmt::format("{}({}, {}, {})", helper("tw_swizzle"), thread_text, mask, shift));
  return [=, this](const std::vector<std::string>& variables) {
    const std::string c = loops_text(variables);
    if (!have_low_bits) {
      return Place{add_text(add_text(base, own), c), ""};
    }
    if (is_number(c)) {
      const int64_t swizzled = layout.swizzle(std::stoll(c));
      const std::string low = std::to_string(swizzled & (period - 1));
      const std::string high = std::to_string(swizzled & ~(period - 1));
      return Place{add_text(add_text(base, low == "0" ? own : fmt::format("({} ^ {}u)", own, low)), high), ""};
    }
    return Place{add_text(base, fmt::format("({} ^ ({}({}, {}, {}) & {}u)) + (({}) & ~{}u)", own, helper("tw_swizzle"),
                                            c, mask, shift, period - 1, c, period - 1)),
                 ""};
  };
}

PlaceOf Emitter::place(const Region& region, const AccessPlan& plan, const std::vector<bool>& guards) {
  return region.is_global() ? place_global(region, plan, guards) : place_shared(region, plan);
}

bool Emitter::open_owner(const AccessPlan& plan) {
  if (plan.owner.empty()) {
    return false;
  }
  open(fmt::format("if ({} == 0)", hoist("const int", "copy", codegen::to_text(plan.owner, "thread"))));
  return true;
}

void Emitter::emit_copy(const ir::CopyOp& op) {
  const AccessPlan plan = codegen::plan_access(*op.map, op.source.tile_shape().size(), op.access.vector_elems, true);
  const ElementType element = element_of(op.source);
  const int bytes = op.access.vector_elems * size_bytes(element);
  open("");
  PlaceOf from = place(op.source, plan, op.source.is_global() ? op.access.guards : std::vector<bool>{});
  PlaceOf to = place(op.destination, plan, op.source.is_global() ? std::vector<bool>{} : op.access.guards);
  const bool has_owner = open_owner(plan);
  const std::vector<std::string> variables = open_loops(plan);
  const Place source = from(variables);
  const Place destination = to(variables);
  if (op.atom.kind == target::CopyKind::CpAsync) {
    const std::string count =
        source.guard.empty() ? std::to_string(bytes) : fmt::format("{} ? {} : 0", source.guard, bytes);
    line(fmt::format("{}(tw_smem + ({}), {}, {});", helper(fmt::format("tw_cp_async{}", bytes)), destination.address,
                     source.address, count));
  } else {
    const VectorType type = vector_type(element, op.access.vector_elems);
    const std::string load = fmt::format("*{}", pointer_to(op.source, source.address, type.name, true));
    if (source.guard.empty()) {
      line(fmt::format("const {} q = {};", type.name, load));
    } else {
      const std::string one = fill_component(element, type, op.fill);
      std::string fill;
      for (size_t i = 0; i < type.components.size(); ++i) {
        fill += (i == 0 ? "" : ", ") + one;
      }
      line(fmt::format("{} q = {{{}}};", type.name, fill));
      line(fmt::format("if ({}) q = {};", source.guard, load));
    }
    line(fmt::format("{}*{} = q;", destination.guard.empty() ? "" : fmt::format("if ({}) ", destination.guard),
                     pointer_to(op.destination, destination.address, type.name, false)));
  }
  close_loops(plan);
  if (has_owner) {
    close();
  }
  close();
}

void Emitter::emit_ldmatrix(const ir::LoadOp& op) {
  auto plan =
      codegen::plan_ldmatrix(*function_.value(op.result).layout, op.source.perm.size(), op.matrices, op.transposed);
  if (!plan) {
    failure_ = fmt::format("the layout of `{}` is no fragment for ldmatrix", function_.value(op.result).name);
    return;
  }
  declare(op.result);
  open("");
  PlaceOf from = place_shared(op.source, *plan);
  const std::vector<std::string> variables = open_loops(*plan);
  line(fmt::format("{}(&{}[{}], tw_smem + ({}));",
                   helper(fmt::format("tw_ldmatrix_x{}{}", op.matrices, op.transposed ? "_trans" : "")),
                   array(op.result), register_index(*plan, variables, 2), from(variables).address));
  close_loops(*plan);
  close();
}

void Emitter::emit_load(const ir::LoadOp& op) {
  if (op.atom.kind == target::CopyKind::Ldmatrix) {
    emit_ldmatrix(op);
    return;
  }
  const ir::Value& value = function_.value(op.result);
  const AccessPlan plan = codegen::plan_access(*value.layout, value.shape.size(), op.access.vector_elems, false);
  declare(op.result);
  open("");
  PlaceOf from = place(op.source, plan, op.access.guards);
  const std::vector<std::string> variables = open_loops(plan);
  const Place source = from(variables);
  const VectorType type = vector_type(value.element, op.access.vector_elems);
  const std::string load = fmt::format("*{}", pointer_to(op.source, source.address, type.name, true));
  if (source.guard.empty()) {
    line(fmt::format("const {} q = {};", type.name, load));
  } else {
    const std::string one = fill_component(value.element, type, op.fill);
    std::string fill;
    for (size_t i = 0; i < type.components.size(); ++i) {
      fill += (i == 0 ? "" : ", ") + one;
    }
    line(fmt::format("{} q = {{{}}};", type.name, fill));
    line(fmt::format("if ({}) q = {};", source.guard, load));
  }
  const std::string name = array(op.result);
  const bool packed = is_packed(value);
  const int per = type.elems_per_component;
  for (size_t i = 0; i < type.components.size(); ++i) {
    const std::string part = component("q", type.components[i]);
    const std::string at = register_index(plan, variables, packed && per > 1 ? 2 : 1);
    if (packed && per == 2) {
      line(fmt::format("{}[{}] = {};", name, add_text(at, std::to_string(i)), part));
    } else if (packed) {
      line(fmt::format("{}({}, {}, {});", helper("tw_set16"), name, at, part));
    } else if (per == 1) {
      line(fmt::format("{}[{}] = {};", name, add_text(at, std::to_string(i)),
                       value.element == ElementType::Bool ? part + " != 0" : part));
    } else {
      const int bits = 8 * size_bytes(value.element);
      for (int j = 0; j < per; ++j) {
        line(fmt::format("{}[{}] = ({})({} >> {});", name, add_text(at, std::to_string(static_cast<int>(i) * per + j)),
                         register_type(value), part, j * bits));
      }
    }
  }
  close_loops(plan);
  close();
}

void Emitter::emit_store(const ir::StoreOp& op) {
  const ir::Value& value = function_.value(op.value);
  const AccessPlan plan = codegen::plan_access(*value.layout, value.shape.size(), op.access.vector_elems, true);
  open("");
  PlaceOf to = place(op.destination, plan, op.access.guards);
  const bool has_owner = open_owner(plan);
  const std::vector<std::string> variables = open_loops(plan);
  const Place destination = to(variables);
  const VectorType type = vector_type(value.element, op.access.vector_elems);
  const int per = type.elems_per_component;
  const bool has_array = registers_.inline_definition(op.value) == nullptr;
  std::string parts;
  for (size_t i = 0; i < type.components.size(); ++i) {
    const std::string first = register_index(plan, variables, 1);
    auto at = [&](int j) { return add_text(first, std::to_string(static_cast<int>(i) * per + j)); };
    std::string part;
    if (size_bytes(value.element) == 2 && per == 2) {
      part =
          has_array && is_packed(value)
              ? fmt::format("{}[{}]", array(op.value), add_text(register_index(plan, variables, 2), std::to_string(i)))
              : fmt::format("{}({}, {})", helper("tw_pack"), bits16(op.value, at(0)), bits16(op.value, at(1)));
    } else if (size_bytes(value.element) == 2) {
      part = bits16(op.value, at(0));
    } else if (per == 1) {
      part = value.element == ElementType::Bool ? fmt::format("({}) ? 1 : 0", element(op.value, at(0)))
                                                : element(op.value, at(0));
    } else {
      const int bits = 8 * size_bytes(value.element);
      for (int j = 0; j < per; ++j) {
        part +=
            fmt::format("{}(unsigned)(unsigned char){} << {}", j == 0 ? "" : " | ", element(op.value, at(j)), j * bits);
      }
    }
    parts += (i == 0 ? "" : ", ") + part;
  }
  line(fmt::format("const {} q = {{{}}};", type.name, parts));
  line(fmt::format("{}*{} = q;", destination.guard.empty() ? "" : fmt::format("if ({}) ", destination.guard),
                   pointer_to(op.destination, destination.address, type.name, false)));
  close_loops(plan);
  if (has_owner) {
    close();
  }
  close();
}

void Emitter::emit_red(const ir::RedOp& op) {
  const ir::Value& value = function_.value(op.value);
  const AccessPlan plan = codegen::plan_access(*value.layout, value.shape.size(), 1, true);
  if (value.element != ElementType::F32 && value.element != ElementType::I32) {
    failure_ = fmt::format("`red` of {} elements", name_of(value.element));
    return;
  }
  if (value.element == ElementType::F32 && op.kind != ir::ReduceKind::Add) {
    failure_ = "`red` of f32 other than add";
    return;
  }
  const char* call = op.kind == ir::ReduceKind::Add ? "atomicAdd"
                                                    : (op.kind == ir::ReduceKind::Max   ? "atomicMax"
                                                       : op.kind == ir::ReduceKind::Min ? "atomicMin"
                                                                                        : "atomicOr");
  open("");
  PlaceOf to = place(op.destination, plan, op.access.guards);
  const bool has_owner = open_owner(plan);
  const std::vector<std::string> variables = open_loops(plan);
  const Place destination = to(variables);
  line(fmt::format("{}{}({}, {});", destination.guard.empty() ? "" : fmt::format("if ({}) ", destination.guard), call,
                   destination.address, element(op.value, register_index(plan, variables, 1))));
  close_loops(plan);
  if (has_owner) {
    close();
  }
  close();
}

}  // namespace tw::targets::cuda

// SPDX-License-Identifier: Apache-2.0
#include "emulator/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tw::emulator {
namespace {

using ir::ElementwiseKind;

constexpr float kHalfUlp = 0x1p-24F;

// Infinite operands leave nothing to say about the distance.
float as_slack(double bound) {
  return std::isnan(bound) ? std::numeric_limits<float>::infinity() : static_cast<float>(bound);
}

bool any_status(std::span<const TilePtr> operands) {
  return std::ranges::any_of(operands, [](const TilePtr& t) { return !t->status.empty(); });
}
bool any_slack(std::span<const TilePtr> operands) {
  return std::ranges::any_of(operands, [](const TilePtr& t) { return !t->slack.empty(); });
}

// Does operand `which`, a pad of value `pad`, leave the operation's other operand as it is?
bool is_neutral(ElementwiseKind kind, size_t which, double pad) {
  switch (kind) {
    case ElementwiseKind::Add:
    case ElementwiseKind::Or:
      return pad == 0;
    case ElementwiseKind::Sub:
      return which == 1 && pad == 0;
    case ElementwiseKind::Maximum:
      return pad == -std::numeric_limits<double>::infinity();
    case ElementwiseKind::Minimum:
      return pad == std::numeric_limits<double>::infinity();
    default:
      return false;
  }
}

// Does operand `which`, a pad of value `pad`, decide the result alone, whatever finite `other` is?
bool is_absorbing(ElementwiseKind kind, size_t which, double pad, double other) {
  if (!std::isfinite(other)) {
    return false;
  }
  switch (kind) {
    case ElementwiseKind::Mul:
      return pad == 0;
    case ElementwiseKind::Add:
    case ElementwiseKind::Sub:
      return std::isinf(pad);
    case ElementwiseKind::Div:
      return which == 0 && pad == 0 && other != 0;
    case ElementwiseKind::Maximum:
      return pad == std::numeric_limits<double>::infinity();
    case ElementwiseKind::Minimum:
      return pad == -std::numeric_limits<double>::infinity();
    case ElementwiseKind::And:
      return pad == 0;
    default:
      return false;
  }
}

Status status_of_where(std::span<const TilePtr> operands, size_t i) {
  const TilePtr& taken = as_double(operands[0]->data, i) != 0 ? operands[1] : operands[2];
  switch (operands[0]->status_of(i)) {
    case Status::Real:
      return taken->status_of(i);
    case Status::Pad:
      return taken->status_of(i) == Status::Pad || taken->is_constant ? Status::Pad : Status::Tainted;
    case Status::Tainted:
      return Status::Tainted;
  }
  return Status::Tainted;
}

Status status_of_element(ElementwiseKind kind, std::span<const TilePtr> operands, size_t i) {
  if (kind == ElementwiseKind::Where) {
    return status_of_where(operands, i);
  }
  size_t pads = 0;
  size_t constants = 0;
  size_t pad_operand = 0;
  for (size_t o = 0; o < operands.size(); ++o) {
    switch (operands[o]->status_of(i)) {
      case Status::Tainted:
        return Status::Tainted;
      case Status::Pad:
        ++pads;
        pad_operand = o;
        break;
      case Status::Real:
        constants += operands[o]->is_constant ? 1 : 0;
        break;
    }
  }
  if (pads == 0) {
    return Status::Real;
  }
  if (pads + constants == operands.size()) {
    return Status::Pad;
  }
  const size_t other = 1 - pad_operand;
  const double pad = as_double(operands[pad_operand]->data, i);
  if (is_neutral(kind, pad_operand, pad)) {
    return Status::Real;
  }
  return is_absorbing(kind, pad_operand, pad, as_double(operands[other]->data, i)) ? Status::Pad : Status::Tainted;
}

template <class T>
double value_with(ElementwiseKind kind, const Tile& result, std::span<const TilePtr> operands, double a, double b) {
  const T values[2] = {static_cast<T>(a), static_cast<T>(b)};
  const ElementOperand inputs[2] = {{&values[0], operands[0]->type},
                                    {&values[1], operands.size() > 1 ? operands[1]->type : operands[0]->type}};
  double as_f64 = 0;
  float as_f32 = 0;
  int64_t as_i64 = 0;
  switch (rep_of(result.type)) {
    case Rep::F32:
      apply_elementwise(kind, result.type, std::span(inputs, operands.size()), 1, &as_f32);
      return as_f32;
    case Rep::F64:
      apply_elementwise(kind, result.type, std::span(inputs, operands.size()), 1, &as_f64);
      return as_f64;
    case Rep::I64:
      apply_elementwise(kind, result.type, std::span(inputs, operands.size()), 1, &as_i64);
      return static_cast<double>(as_i64);
  }
  return 0;
}

// The operations here are monotone in each operand (on each side of a pole), so the corners of the box of possible
// operands bound the result.
float slack_of_element(ElementwiseKind kind, const Tile& result, std::span<const TilePtr> operands, size_t i) {
  const double value = as_double(result.data, i);
  if (kind == ElementwiseKind::Where) {
    return (as_double(operands[0]->data, i) != 0 ? operands[1] : operands[2])->slack_of(i);
  }
  if (operands.size() > 2 || rep_of(operands[0]->type) == Rep::I64) {
    return 0;
  }
  float slack = 0;
  const double slack_a = operands[0]->slack_of(i);
  const double slack_b = operands.size() > 1 ? operands[1]->slack_of(i) : 0;
  if (slack_a == 0 && slack_b == 0) {
    return 0;
  }
  const double a = as_double(operands[0]->data, i);
  const double b = operands.size() > 1 ? as_double(operands[1]->data, i) : 0;
  for (int corner = 0; corner < 4; ++corner) {
    const double x = a + ((corner & 1) != 0 ? slack_a : -slack_a);
    const double y = b + ((corner & 2) != 0 ? slack_b : -slack_b);
    const double moved = rep_of(operands[0]->type) == Rep::F64 ? value_with<double>(kind, result, operands, x, y)
                                                               : value_with<float>(kind, result, operands, x, y);
    const double distance = std::abs(moved - value);
    // A corner beyond a pole (log of a negative number) bounds nothing.
    slack = std::max(slack, as_slack(distance));
  }
  // The corners are rounded to f32 themselves.
  return slack + static_cast<float>(std::abs(value)) * 4 * kHalfUlp;
}

template <class T>
std::vector<T>& values_of(Tile& tile) {
  return std::get<std::vector<T>>(tile.data);
}
template <class T>
const std::vector<T>& values_of(const Tile& tile) {
  return std::get<std::vector<T>>(tile.data);
}

template <class T>
std::optional<TileFault> reduce_as(const Tile& operand, int axis, ir::ReduceKind kind, int64_t keep,
                                   int64_t group_stride, Tile& result) {
  const std::vector<T>& in = values_of<T>(operand);
  std::vector<T>& out = values_of<T>(result);
  const auto extent = static_cast<size_t>(operand.shape[axis]);
  const size_t inner = element_count(std::span(operand.shape).subspan(axis + 1));
  const size_t outer = element_count(std::span(operand.shape).first(axis));
  const size_t groups = keep > 1 ? static_cast<size_t>(keep) : 1;
  const T neutral = static_cast<T>(neutral_value(kind, operand.type));
  const bool has_pads = !operand.status.empty();
  const bool reassociates = kind == ir::ReduceKind::Add && is_floating(operand.type);
  if (has_pads) {
    result.status.assign(out.size(), Status::Real);
  }
  if (reassociates) {
    result.slack.assign(out.size(), 0.0F);
  }
  std::optional<TileFault> fault;
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      for (size_t g = 0; g < groups; ++g) {
        bool is_first = true;
        T sum = neutral;
        double magnitude = 0;
        double slack = 0;
        size_t terms = 0;
        size_t pads = 0;
        bool tainted = false;
        bool live_pad = false;
        for (size_t x = 0; x < extent; ++x) {
          if (groups > 1 && (x / static_cast<size_t>(group_stride)) % groups != g) {
            continue;
          }
          const size_t index = (o * extent + x) * inner + i;
          ++terms;
          if (has_pads && operand.status[index] != Status::Real) {
            tainted = tainted || operand.status[index] == Status::Tainted;
            pads += operand.status[index] == Status::Pad ? 1 : 0;
            live_pad = live_pad || in[index] != neutral;
          }
          sum = is_first ? in[index] : combine(kind, operand.type, sum, in[index]);
          is_first = false;
          if constexpr (std::is_same_v<T, int64_t>) {
            if (kind == ir::ReduceKind::Add && (sum < lowest_of(operand.type) || sum > highest_of(operand.type))) {
              fault = TileFault{ArithmeticFault::Overflow, index};
            }
          }
          magnitude += std::abs(static_cast<double>(in[index]));
          slack += operand.slack_of(index);
        }
        const size_t at = (o * inner + i) * groups + g;
        out[at] = sum;
        if (has_pads && pads + (tainted ? 1 : 0) > 0) {
          result.status[at] = tainted         ? Status::Tainted
                              : pads == terms ? Status::Pad
                              : live_pad      ? Status::Tainted
                                              : Status::Real;
        }
        if (reassociates) {
          // Any two orders of n additions differ by at most 2 (n - 1) roundings of partial sums below the magnitude.
          const double roundings = 2.0 * static_cast<double>(terms > 0 ? terms - 1 : 0) * kHalfUlp;
          result.slack[at] = as_slack(slack + roundings * (magnitude + slack));
        }
      }
    }
  }
  if (!reassociates && !operand.slack.empty()) {
    const float worst = *std::ranges::max_element(operand.slack);
    result.slack.assign(out.size(), worst);
  }
  return fault;
}

bool is_all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

bool has_live_pad(const Tile& tile) {
  const std::vector<float>& values = values_of<float>(tile);
  for (size_t i = 0; i < tile.status.size(); ++i) {
    if (tile.status[i] == Status::Tainted || (tile.status[i] == Status::Pad && values[i] != 0)) {
      return true;
    }
  }
  return false;
}

// For each row of a tile (rows, k): one bit a k, set where the element is real.
std::vector<uint64_t> real_bits(const Tile& tile, size_t rows, size_t depth, size_t words) {
  std::vector<uint64_t> bits(rows * words, 0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < depth; ++k) {
      if (tile.status_of(r * depth + k) == Status::Real) {
        bits[r * words + k / 64] |= uint64_t{1} << (k % 64);
      }
    }
  }
  return bits;
}

void contract_status(const Tile& a, const Tile& b, const Tile* c, Tile& result, size_t rows, size_t columns,
                     size_t depth) {
  const bool harmless =
      !has_live_pad(a) && !has_live_pad(b) && is_all_finite(values_of<float>(a)) && is_all_finite(values_of<float>(b));
  const size_t words = (depth + 63) / 64;
  const std::vector<uint64_t> real_a = real_bits(a, rows, depth, words);
  const std::vector<uint64_t> real_b = real_bits(b, columns, depth, words);
  result.status.assign(rows * columns, Status::Real);
  for (size_t m = 0; m < rows; ++m) {
    for (size_t n = 0; n < columns; ++n) {
      bool any_real = false;
      for (size_t w = 0; w < words; ++w) {
        any_real = any_real || (real_a[m * words + w] & real_b[n * words + w]) != 0;
      }
      bool tainted = false;
      for (size_t k = 0; !harmless && !tainted && k < depth; ++k) {
        const Status sa = a.status_of(m * depth + k);
        const Status sb = b.status_of(n * depth + k);
        const double va = as_double(a.data, m * depth + k);
        const double vb = as_double(b.data, n * depth + k);
        if (sa == Status::Tainted || sb == Status::Tainted) {
          tainted = true;
        } else if (sa == Status::Pad && sb == Status::Pad) {
          tainted = va * vb != 0;
        } else if (sa == Status::Pad) {
          tainted = va != 0 || !std::isfinite(vb);
        } else if (sb == Status::Pad) {
          tainted = vb != 0 || !std::isfinite(va);
        }
      }
      const Status before = c != nullptr ? c->status_of(m * columns + n) : Status::Pad;
      const bool starts_empty = c == nullptr || before == Status::Pad || c->is_constant;
      const bool live_start = c != nullptr && before == Status::Pad && as_double(c->data, m * columns + n) != 0;
      if (tainted || before == Status::Tainted || (live_start && any_real)) {
        result.status[m * columns + n] = Status::Tainted;
      } else if (!any_real && starts_empty) {
        result.status[m * columns + n] = Status::Pad;
      }
    }
  }
}

void contract_slack(const Tile& a, const Tile& b, const Tile* c, Tile& result, size_t rows, size_t columns,
                    size_t depth) {
  result.slack.assign(rows * columns, 0.0F);
  const std::vector<float>& va = values_of<float>(a);
  const std::vector<float>& vb = values_of<float>(b);
  for (size_t m = 0; m < rows; ++m) {
    for (size_t n = 0; n < columns; ++n) {
      double slack = c != nullptr ? c->slack_of(m * columns + n) : 0;
      double magnitude = std::abs(as_double(result.data, m * columns + n));
      for (size_t k = 0; k < depth; ++k) {
        const size_t i = m * depth + k;
        const size_t j = n * depth + k;
        const double sa = a.slack_of(i);
        const double sb = b.slack_of(j);
        slack += std::abs(static_cast<double>(va[i])) * sb + std::abs(static_cast<double>(vb[j])) * sa + sa * sb;
        magnitude += std::abs(static_cast<double>(va[i]) * vb[j]);
      }
      result.slack[m * columns + n] = as_slack(slack + 2.0 * static_cast<double>(depth) * kHalfUlp * magnitude);
    }
  }
}

template <class T>
void contract_plain(const Tile& a, const Tile& b, Tile& result, size_t rows, size_t columns, size_t depth) {
  std::vector<T>& out = values_of<T>(result);
  for (size_t m = 0; m < rows; ++m) {
    for (size_t n = 0; n < columns; ++n) {
      T sum = out[m * columns + n];
      for (size_t k = 0; k < depth; ++k) {
        sum = combine(ir::ReduceKind::Add, result.type, sum,
                      static_cast<T>(static_cast<T>(as_double(a.data, m * depth + k)) *
                                     static_cast<T>(as_double(b.data, n * depth + k))));
      }
      out[m * columns + n] = sum;
    }
  }
}

}  // namespace

size_t element_count(std::span<const int64_t> shape) {
  return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

Tile make_tile(ElementType type, const std::vector<int64_t>& shape) {
  Tile tile;
  tile.type = type;
  tile.shape = shape;
  tile.data = make_buffer(type, element_count(shape));
  return tile;
}

void set_all(Tile& tile, double value) {
  std::visit(
      [&](auto& values) {
        using T = typename std::decay_t<decltype(values)>::value_type;
        T element{};
        if constexpr (std::is_same_v<T, float>) {
          element = round_f64_to(tile.type, value);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          element = saturate_to(tile.type, value);
        } else {
          element = value;
        }
        std::ranges::fill(values, element);
      },
      tile.data);
}

std::optional<TileFault> elementwise(ElementwiseKind kind, std::span<const TilePtr> operands, Tile& result) {
  ElementOperand inputs[3];
  result.is_constant = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs[i] = {data_of(operands[i]->data), operands[i]->type};
    result.is_constant = result.is_constant && operands[i]->is_constant;
  }
  auto fault =
      apply_elementwise(kind, result.type, std::span(inputs, operands.size()), result.count(), data_of(result.data));
  if (any_status(operands)) {
    result.status.resize(result.count());
    for (size_t i = 0; i < result.count(); ++i) {
      result.status[i] = status_of_element(kind, operands, i);
    }
  }
  if (any_slack(operands)) {
    result.slack.resize(result.count());
    for (size_t i = 0; i < result.count(); ++i) {
      result.slack[i] = slack_of_element(kind, result, operands, i);
    }
  }
  return fault ? std::optional(TileFault{fault->fault, fault->index}) : std::nullopt;
}

void broadcast(const Tile& operand, const std::vector<int>& axis_map, Tile& result) {
  std::vector<size_t> strides(result.shape.size(), 0);
  size_t stride = 1;
  for (size_t d = operand.shape.size(); d-- > 0;) {
    if (operand.shape[d] != 1) {
      strides[axis_map[d]] = stride;
    }
    stride *= static_cast<size_t>(operand.shape[d]);
  }
  const size_t count = result.count();
  result.is_constant = operand.is_constant;
  std::vector<size_t> source(count);
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    for (size_t axis = result.shape.size(); axis-- > 0;) {
      source[i] += (rest % static_cast<size_t>(result.shape[axis])) * strides[axis];
      rest /= static_cast<size_t>(result.shape[axis]);
    }
  }
  std::visit(
      [&](auto& out) {
        const auto& in = std::get<std::decay_t<decltype(out)>>(operand.data);
        for (size_t i = 0; i < count; ++i) {
          out[i] = in[source[i]];
        }
      },
      result.data);
  if (!operand.status.empty()) {
    result.status.resize(count);
    std::ranges::transform(source, result.status.begin(), [&](size_t s) { return operand.status[s]; });
  }
  if (!operand.slack.empty()) {
    result.slack.resize(count);
    std::ranges::transform(source, result.slack.begin(), [&](size_t s) { return operand.slack[s]; });
  }
}

std::optional<TileFault> reduce(const Tile& operand, int axis, ir::ReduceKind kind, int64_t keep, int64_t group_stride,
                                Tile& result) {
  result.is_constant = operand.is_constant;
  switch (rep_of(operand.type)) {
    case Rep::F32:
      return reduce_as<float>(operand, axis, kind, keep, group_stride, result);
    case Rep::F64:
      return reduce_as<double>(operand, axis, kind, keep, group_stride, result);
    case Rep::I64:
      return reduce_as<int64_t>(operand, axis, kind, keep, group_stride, result);
  }
  return std::nullopt;
}

void contract(const Tile& a, const Tile& b, const Tile* c, bool in_any_order, Tile& result) {
  const auto rows = static_cast<size_t>(a.shape[0]);
  const auto columns = static_cast<size_t>(b.shape[0]);
  const auto depth = static_cast<size_t>(a.shape[1]);
  if (c != nullptr) {
    result.data = c->data;
  } else {
    set_all(result, 0);
  }
  switch (rep_of(result.type)) {
    case Rep::F64:
      return contract_plain<double>(a, b, result, rows, columns, depth);
    case Rep::I64:
      return contract_plain<int64_t>(a, b, result, rows, columns, depth);
    case Rep::F32:
      break;
  }
  const std::vector<float>& vb = values_of<float>(b);
  std::vector<float> transposed(depth * columns);
  for (size_t n = 0; n < columns; ++n) {
    for (size_t k = 0; k < depth; ++k) {
      transposed[k * columns + n] = vb[n * depth + k];
    }
  }
  multiply_accumulate(values_of<float>(a).data(), transposed.data(), values_of<float>(result).data(), rows, columns,
                      depth, has_exact_products(a.type, b.type));
  if (!a.status.empty() || !b.status.empty() || (c != nullptr && !c->status.empty())) {
    contract_status(a, b, c, result, rows, columns, depth);
  }
  if (in_any_order || !a.slack.empty() || !b.slack.empty() || (c != nullptr && !c->slack.empty())) {
    contract_slack(a, b, c, result, rows, columns, depth);
  }
}

}  // namespace tw::emulator

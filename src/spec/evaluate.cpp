// SPDX-License-Identifier: Apache-2.0
#include "spec/evaluate.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>

#include "base/float16.h"

namespace tw::spec {
namespace {

// A value for every point of a row: the innermost index runs, all others are fixed.
struct Row {
  std::vector<double> values;
  std::vector<double> errors;
};

// A reduction's results over its free indices.
struct Materialized {
  std::vector<uint32_t> levels;
  Array array;
};

double round_value(double value, ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return round_to_bf16(value);
    case ElementType::F16:
      return round_to_f16(value);
    case ElementType::Tf32:
      return round_to_tf32(value);
    case ElementType::F32:
      return static_cast<double>(static_cast<float>(value));
    case ElementType::E4m3:
      return std::clamp(round_to_format(value, 3, -6, 8), -448.0, 448.0);
    case ElementType::E5m2:
      return std::clamp(round_to_format(value, 2, -14, 15), -57344.0, 57344.0);
    default:
      return value;
  }
}

double relative_step(ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return 0x1p-7;
    case ElementType::F16:
    case ElementType::Tf32:
      return 0x1p-10;
    case ElementType::F32:
      return 0x1p-23;
    case ElementType::E4m3:
      return 0x1p-3;
    case ElementType::E5m2:
      return 0x1p-2;
    default:
      return 0;
  }
}

class Evaluator {
 public:
  Evaluator(const Computation& computation, std::span<const int64_t> extents, std::span<const Array* const> inputs,
            const EvaluateOptions& options)
      : computation_(computation), extents_(extents), inputs_(inputs), options_(options) {
    results_.resize(computation.tensors.size());
  }

  Result<std::vector<Array>> run() {
    for (const Equation& equation : computation_.equations) {
      const Tensor& tensor = computation_.tensor(equation.tensor);
      std::vector<uint32_t> levels;
      level_extents_.clear();
      for (uint32_t i = 0; i < tensor.dims.size(); ++i) {
        levels.push_back(i);
        level_extents_.push_back(extents_[tensor.dims[i].index]);
      }
      materialized_.clear();
      TW_TRY(Array array, tabulate(equation.term, levels));
      results_[equation.tensor.index] = std::move(array);
    }
    return std::move(results_);
  }

 private:
  [[nodiscard]] int64_t extent(uint32_t level) const { return level_extents_.at(level); }
  void set_extent(uint32_t level, int64_t extent) {
    if (level_extents_.size() <= level) {
      level_extents_.resize(level + 1, 1);
    }
    level_extents_[level] = extent;
  }

  Result<Array> allocate(const std::vector<uint32_t>& levels) {
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (uint32_t level : levels) {
      extents.push_back(extent(level));
      if (__builtin_mul_overflow(count, extent(level), &count) || count > options_.max_elements) {
        return fail(fmt::format("an intermediate of the reference has more than {} elements", options_.max_elements));
      }
    }
    Array array = Array::filled(std::move(extents));
    if (options_.with_errors) {
      array.errors.assign(array.values.size(), 0.0);
    }
    return array;
  }

  // The values of `term` over all points of `levels`.
  Result<Array> tabulate(const Term& term, const std::vector<uint32_t>& levels) {
    TW_TRY_STATUS(materialize_reductions(term));
    TW_TRY(Array array, allocate(levels));
    if (array.values.empty()) {
      return array;
    }
    int64_t row_length = levels.empty() ? 1 : extent(levels.back());
    int64_t rows = array.element_count() / row_length;
    begin_walk(levels);
    for (int64_t row = 0; row < rows; ++row) {
      seek(levels, row);
      TW_TRY(Row values, evaluate_row(*term, row_length));
      std::ranges::copy(values.values, array.values.begin() + row * row_length);
      if (options_.with_errors) {
        std::ranges::copy(values.errors, array.errors.begin() + row * row_length);
      }
    }
    return array;
  }

  void begin_walk(const std::vector<uint32_t>& levels) {
    uint32_t highest = 0;
    for (uint32_t level : levels) {
      highest = std::max(highest, level + 1);
    }
    position_.assign(std::max<size_t>(highest, level_extents_.size()), 0);
    inner_ = levels.empty() ? std::nullopt : std::optional<uint32_t>(levels.back());
  }

  // Sets all indices of `levels` but the last to row number `row`, counted row-major.
  void seek(const std::vector<uint32_t>& levels, int64_t row) {
    for (size_t i = levels.size() > 0 ? levels.size() - 1 : 0; i-- > 0;) {
      position_[levels[i]] = row % extent(levels[i]);
      row /= extent(levels[i]);
    }
  }

  // Every reduction inside `term`, innermost first, as a table over the indices it depends on: so `max(j, X[r, j])` is
  // computed once a row and not once an element.
  Status materialize_reductions(const Term& term) {
    if (materialized_.contains(term.get())) {
      return {};
    }
    for (const BoundIndex& bound : term->bound) {
      set_extent(bound.level, extents_[bound.dim.index]);
    }
    for (const Term& operand : term->operands) {
      TW_TRY_STATUS(materialize_reductions(operand));
    }
    if (!is_reduction(term->op)) {
      return {};
    }
    // Siblings reuse levels: what was just visited inside may have another extent.
    for (const BoundIndex& bound : term->bound) {
      set_extent(bound.level, extents_[bound.dim.index]);
    }
    Materialized result;
    result.levels = free_levels(term);
    TW_TRY(result.array, allocate(result.levels));
    bool is_done = false;
    if (term->op == Op::Sum && term->operands[0]->op == Op::Mul) {
      TW_TRY(is_done, try_contraction(*term, result));
    }
    if (!is_done) {
      TW_TRY_STATUS(reduce_rows(*term, result));
    }
    materialized_.emplace(term.get(), std::move(result));
    return {};
  }

  Status reduce_rows(const Node& node, Materialized& result) {
    std::vector<uint32_t> levels = result.levels;
    int64_t inner_rows = 1;
    for (size_t i = 0; i < node.bound.size(); ++i) {
      levels.push_back(node.bound[i].level);
      if (i + 1 < node.bound.size()) {
        inner_rows *= extent(node.bound[i].level);
      }
    }
    int64_t length = extent(levels.back());
    int64_t terms = inner_rows * length;
    double growth = sum_growth(terms);
    begin_walk(levels);
    for (int64_t point = 0; point < result.array.element_count(); ++point) {
      double total = node.op == Op::Sum ? 0 : node.op == Op::Max ? -INFINITY : INFINITY;
      double magnitude = 0;
      double error = 0;
      for (int64_t row = 0; row < inner_rows; ++row) {
        seek(levels, point * inner_rows + row);
        TW_TRY(Row values, evaluate_row(*node.operands[0], length));
        for (int64_t i = 0; i < length; ++i) {
          double value = values.values[i];
          if (node.op == Op::Sum) {
            total += value;
            magnitude += std::abs(value);
          } else if (std::isnan(value) || std::isnan(total)) {
            total = NAN;
          } else {
            total = node.op == Op::Max ? std::max(total, value) : std::min(total, value);
          }
          if (options_.with_errors) {
            error = node.op == Op::Sum ? error + values.errors[i] : std::max(error, values.errors[i]);
          }
        }
      }
      result.array.values[point] = total;
      if (options_.with_errors) {
        result.array.errors[point] = error + (node.op == Op::Sum ? growth * magnitude : 0);
      }
    }
    return {};
  }

  [[nodiscard]] double sum_growth(int64_t terms) const {
    const ErrorModel& model = options_.error_model;
    auto n = static_cast<double>(terms);
    return model.unit * (model.linear * n + model.root * std::sqrt(n));
  }

  // sum(k, f * g) with f and g over different indices: both are tabulated over their own indices, then multiplied as
  // matrices.
  Result<bool> try_contraction(const Node& node, Materialized& result) {
    const Term& left = node.operands[0]->operands[0];
    const Term& right = node.operands[0]->operands[1];
    std::vector<uint32_t> left_levels = free_levels(left);
    std::vector<uint32_t> right_levels = free_levels(right);
    std::vector<uint32_t> batch;
    std::vector<uint32_t> rows;
    std::vector<uint32_t> columns;
    std::vector<uint32_t> contracted;
    for (const BoundIndex& bound : node.bound) {
      if (!std::ranges::binary_search(left_levels, bound.level) ||
          !std::ranges::binary_search(right_levels, bound.level)) {
        return false;
      }
      contracted.push_back(bound.level);
    }
    for (uint32_t level : result.levels) {
      bool in_left = std::ranges::binary_search(left_levels, level);
      bool in_right = std::ranges::binary_search(right_levels, level);
      (in_left && in_right ? batch : in_left ? rows : columns).push_back(level);
    }
    if (rows.empty() && columns.empty()) {
      return false;
    }
    auto joined = [](std::vector<uint32_t> a, const std::vector<uint32_t>& b, const std::vector<uint32_t>& c) {
      a.insert(a.end(), b.begin(), b.end());
      a.insert(a.end(), c.begin(), c.end());
      return a;
    };
    TW_TRY(Array a, tabulate(left, joined(batch, rows, contracted)));
    TW_TRY(Array b, tabulate(right, joined(batch, contracted, columns)));
    std::vector<uint32_t> order = joined(batch, rows, columns);
    int64_t m = volume(rows);
    int64_t n = volume(columns);
    int64_t k = volume(contracted);
    int64_t batches = volume(batch);
    std::vector<double> product(static_cast<size_t>(batches * m * n), 0.0);
    for (int64_t i = 0; i < batches; ++i) {
      multiply(m, n, k, &a.values[i * m * k], &b.values[i * k * n], &product[i * m * n]);
    }
    scatter(product, order, result.levels, result.array.values);
    if (options_.with_errors) {
      contraction_errors(a, b, batches, m, n, k, product);
      scatter(product, order, result.levels, result.array.errors);
    }
    return true;
  }

  // |a b| grows by gamma, and by the errors of its factors: (gamma |a| + da) |b| + |a| db.
  void contraction_errors(Array& a, Array& b, int64_t batches, int64_t m, int64_t n, int64_t k,
                          std::vector<double>& out) {
    double growth = sum_growth(k) + options_.error_model.unit;
    bool has_right_errors = std::ranges::any_of(b.errors, [](double e) { return e != 0; });
    for (size_t i = 0; i < a.values.size(); ++i) {
      a.values[i] = std::abs(a.values[i]);
      a.errors[i] += growth * a.values[i];
    }
    for (double& value : b.values) {
      value = std::abs(value);
    }
    std::ranges::fill(out, 0.0);
    for (int64_t i = 0; i < batches; ++i) {
      multiply(m, n, k, &a.errors[i * m * k], &b.values[i * k * n], &out[i * m * n]);
      if (has_right_errors) {
        multiply(m, n, k, &a.values[i * m * k], &b.errors[i * k * n], &out[i * m * n]);
      }
    }
  }

  [[nodiscard]] int64_t volume(const std::vector<uint32_t>& levels) const {
    int64_t count = 1;
    for (uint32_t level : levels) {
      count *= extent(level);
    }
    return count;
  }

  // c += a b, row-major. Four rows at a time keep a line of b in cache; the inner loop runs along memory.
  static void multiply(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c) {
    constexpr int64_t kRows = 4;
    int64_t i = 0;
    for (; i + kRows <= m; i += kRows) {
      double* c0 = c + i * n;
      double* c1 = c0 + n;
      double* c2 = c1 + n;
      double* c3 = c2 + n;
      for (int64_t x = 0; x < k; ++x) {
        double a0 = a[i * k + x];
        double a1 = a[(i + 1) * k + x];
        double a2 = a[(i + 2) * k + x];
        double a3 = a[(i + 3) * k + x];
        const double* line = b + x * n;
        for (int64_t j = 0; j < n; ++j) {
          double value = line[j];
          c0[j] += a0 * value;
          c1[j] += a1 * value;
          c2[j] += a2 * value;
          c3[j] += a3 * value;
        }
      }
    }
    for (; i < m; ++i) {
      for (int64_t x = 0; x < k; ++x) {
        double factor = a[i * k + x];
        for (int64_t j = 0; j < n; ++j) {
          c[i * n + j] += factor * b[x * n + j];
        }
      }
    }
  }

  // Copies `from`, laid out row-major over `order`, into `to`, laid out row-major over `levels` (the same set).
  void scatter(const std::vector<double>& from, const std::vector<uint32_t>& order, const std::vector<uint32_t>& levels,
               std::vector<double>& to) {
    if (order == levels) {
      to = from;
      return;
    }
    std::vector<int64_t> strides(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      int64_t stride = 1;
      for (size_t j = levels.size(); j-- > 0 && levels[j] != order[i];) {
        stride *= extent(levels[j]);
      }
      strides[i] = stride;
    }
    for (size_t flat = 0; flat < from.size(); ++flat) {
      auto rest = static_cast<int64_t>(flat);
      int64_t offset = 0;
      for (size_t i = order.size(); i-- > 0;) {
        offset += rest % extent(order[i]) * strides[i];
        rest /= extent(order[i]);
      }
      to[offset] = from[flat];
    }
  }

  Result<Row> evaluate_row(const Node& node, int64_t length) {
    if (auto found = materialized_.find(&node); found != materialized_.end()) {
      return lookup(found->second, length);
    }
    switch (node.op) {
      case Op::Constant:
        return filled(node.value, length);
      case Op::Size:
        return filled(static_cast<double>(extents_[node.dim.index]), length);
      case Op::Index:
        return index_row(node.level, length);
      case Op::Element:
        return element_row(node, length);
      default:
        break;
    }
    std::vector<Row> operands;
    operands.reserve(node.operands.size());
    for (const Term& operand : node.operands) {
      TW_TRY(Row row, evaluate_row(*operand, length));
      operands.push_back(std::move(row));
    }
    Row result = std::move(operands[0]);
    for (int64_t i = 0; i < length; ++i) {
      Point a = point(result, i);
      Point b = operands.size() > 1 ? point(operands[1], i) : Point{};
      Point c = operands.size() > 2 ? point(operands[2], i) : Point{};
      Point value = apply(node, a, b, c);
      result.values[i] = value.value;
      if (options_.with_errors) {
        result.errors[i] = value.error;
      }
    }
    if (node.op == Op::FloorDiv || node.op == Op::Mod) {
      for (double value : result.values) {
        if (!std::isfinite(value)) {
          return fail("the reference divides an integer by zero");
        }
      }
    }
    return result;
  }

  Row filled(double value, int64_t length) const {
    Row row{std::vector<double>(static_cast<size_t>(length), value), {}};
    if (options_.with_errors) {
      row.errors.assign(row.values.size(), 0.0);
    }
    return row;
  }

  Row index_row(uint32_t level, int64_t length) const {
    Row row = filled(static_cast<double>(position_[level]), length);
    if (inner_ == level) {
      for (int64_t i = 0; i < length; ++i) {
        row.values[i] = static_cast<double>(i);
      }
    }
    return row;
  }

  Row lookup(const Materialized& table, int64_t length) const {
    int64_t offset = 0;
    int64_t step = 0;
    for (uint32_t level : table.levels) {
      offset = offset * extent(level) + (inner_ == level ? 0 : position_[level]);
      step = step * extent(level) + (inner_ == level ? 1 : 0);
    }
    return gather(table.array, offset, step, length);
  }

  [[nodiscard]] Row gather(const Array& array, int64_t offset, int64_t step, int64_t length) const {
    Row row = filled(0, length);
    for (int64_t i = 0; i < length; ++i) {
      row.values[i] = array.values[offset + i * step];
    }
    if (!array.errors.empty() && options_.with_errors) {
      for (int64_t i = 0; i < length; ++i) {
        row.errors[i] = array.errors[offset + i * step];
      }
    }
    return row;
  }

  Result<Row> element_row(const Node& node, int64_t length) {
    const Tensor& tensor = computation_.tensor(node.tensor);
    const Array* array = tensor.direction == Direction::Let ? &results_[node.tensor.index] : inputs_[node.tensor.index];
    if (array == nullptr) {
      return fail(fmt::format("the reference reads `{}`, which has no values", tensor.name));
    }
    bool is_plain = true;
    int64_t offset = 0;
    int64_t step = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Node& coordinate = *node.operands[i];
      int64_t size = array->extents[i];
      if (coordinate.op != Op::Index || extent(coordinate.level) > size) {
        is_plain = false;
        break;
      }
      bool is_inner = inner_ == coordinate.level;
      offset = offset * size + (is_inner ? 0 : position_[coordinate.level]);
      step = step * size + (is_inner ? 1 : 0);
    }
    if (is_plain) {
      return gather(*array, offset, step, length);
    }
    std::vector<Row> coordinates;
    for (const Term& operand : node.operands) {
      TW_TRY(Row row, evaluate_row(*operand, length));
      coordinates.push_back(std::move(row));
    }
    Row row = filled(0, length);
    for (int64_t i = 0; i < length; ++i) {
      int64_t flat = 0;
      for (size_t axis = 0; axis < coordinates.size(); ++axis) {
        double value = coordinates[axis].values[i];
        int64_t size = array->extents[axis];
        if (!(value >= 0 && value < static_cast<double>(size))) {
          return fail(fmt::format("the reference reads `{}` at {} along axis {}, which has {} elements", tensor.name,
                                  value, axis, size));
        }
        flat = flat * size + static_cast<int64_t>(value);
      }
      row.values[i] = array->values[flat];
      if (options_.with_errors && !array->errors.empty()) {
        row.errors[i] = array->errors[flat];
      }
    }
    return row;
  }

  struct Point {
    double value = 0;
    double error = 0;
  };
  [[nodiscard]] Point point(const Row& row, int64_t i) const {
    return {row.values[i], options_.with_errors ? row.errors[i] : 0.0};
  }

  // One operation and the first-order error of doing it in the model's arithmetic on operands that are off by their
  // errors.
  [[nodiscard]] Point apply(const Node& node, Point a, Point b, Point c) const {
    double unit = node.kind == Kind::Integer ? 0 : options_.error_model.unit;
    double function = unit * options_.error_model.function_units;
    auto rounded = [&](double value, double error) { return Point{value, error + unit * std::abs(value)}; };
    switch (node.op) {
      case Op::Add:
        return rounded(a.value + b.value, a.error + b.error);
      case Op::Sub:
        return rounded(a.value - b.value, a.error + b.error);
      case Op::Mul: {
        // An error bound of 0 stays 0 beside an infinite factor.
        double error =
            (a.error == 0 ? 0 : a.error * std::abs(b.value)) + (b.error == 0 ? 0 : b.error * std::abs(a.value));
        return rounded(a.value * b.value, error);
      }
      case Op::Div: {
        double value = a.value / b.value;
        double error = (a.error + (b.error == 0 ? 0 : std::abs(value) * b.error)) / std::abs(b.value);
        return {value, (std::isfinite(error) ? error : 0) + 2 * unit * std::abs(value)};
      }
      case Op::FloorDiv:
        return {std::floor(a.value / b.value), 0};
      case Op::Mod:
        return {a.value - b.value * std::floor(a.value / b.value), 0};
      case Op::Neg:
        return {-a.value, a.error};
      case Op::Abs:
        return {std::abs(a.value), a.error};
      case Op::Exp: {
        double value = std::exp(a.value);
        double relative = std::expm1(std::min(a.error, 1.0)) + function + 4 * unit * std::abs(a.value);
        return {value, value == 0 || std::isinf(value) ? 0 : value * relative};
      }
      case Op::Exp2: {
        double value = std::exp2(a.value);
        double relative = std::expm1(std::min(a.error, 1.0)) + function;
        return {value, value == 0 || std::isinf(value) ? 0 : value * relative};
      }
      case Op::Log: {
        double value = std::log(a.value);
        return {value, (a.error == 0 ? 0 : a.error / std::abs(a.value)) + function * std::max(1.0, std::abs(value))};
      }
      case Op::Sqrt: {
        double value = std::sqrt(a.value);
        return {value, std::min(a.error == 0 ? 0 : a.error / (2 * value), std::sqrt(a.error)) + function * value};
      }
      case Op::Rsqrt: {
        double value = 1 / std::sqrt(a.value);
        return {value, (a.error == 0 ? 0 : value * a.error / (2 * std::abs(a.value))) + function * value};
      }
      case Op::Tanh: {
        double value = std::tanh(a.value);
        return {value, a.error * (1 - value * value) + function * std::abs(value)};
      }
      case Op::Erf: {
        double value = std::erf(a.value);
        return {value, a.error * (2 / std::sqrt(M_PI)) * std::exp(-a.value * a.value) + function * std::abs(value)};
      }
      case Op::Sigmoid: {
        double value = 1 / (1 + std::exp(-a.value));
        return {value, a.error * value * (1 - value) + function * value * (1 + std::abs(a.value) * (1 - value))};
      }
      case Op::Relu:
        // Surely negative arguments give 0 exactly.
        return {std::isnan(a.value) ? a.value : std::max(a.value, 0.0), a.value + a.error < 0 ? 0 : a.error};
      case Op::Gelu: {
        double gate = 0.5 * (1 + std::erf(a.value * M_SQRT1_2));
        double density = std::exp(-a.value * a.value / 2) / std::sqrt(2 * M_PI);
        // 1 + erf cancels for negative arguments: the error is relative to 1, not to the result.
        // Beyond -8 every erf has reached -1, and what is left of the value may be lost.
        double own = a.value + a.error < -8 ? std::abs(a.value * gate) : function * std::abs(a.value);
        return {a.value * gate, a.error * std::abs(gate + a.value * density) + own};
      }
      case Op::GeluTanh: {
        double inner = std::sqrt(2 / M_PI) * (a.value + 0.044715 * a.value * a.value * a.value);
        double gate = 0.5 * (1 + std::tanh(inner));
        bool is_zero = a.value + a.error < -10;
        return {a.value * gate, is_zero ? std::abs(a.value * gate) : 1.2 * a.error + function * std::abs(a.value)};
      }
      case Op::Silu: {
        double gate = 1 / (1 + std::exp(-a.value));
        double value = std::isinf(a.value) && a.value < 0 ? 0 : a.value * gate;
        return {value, 1.1 * a.error + function * std::abs(value) * (1 + std::abs(a.value) * (1 - gate))};
      }
      case Op::Maximum:
        return {pick(a.value, b.value, std::max(a.value, b.value)), extremum_error(a, b, a.value > b.value)};
      case Op::Minimum:
        return {pick(a.value, b.value, std::min(a.value, b.value)), extremum_error(a, b, a.value < b.value)};
      case Op::Where:
        return a.value != 0 ? b : c;
      case Op::Less:
        return {a.value < b.value ? 1.0 : 0.0, 0};
      case Op::LessEqual:
        return {a.value <= b.value ? 1.0 : 0.0, 0};
      case Op::Equal:
        return {a.value == b.value ? 1.0 : 0.0, 0};
      case Op::And:
        return {a.value != 0 && b.value != 0 ? 1.0 : 0.0, 0};
      case Op::Or:
        return {a.value != 0 || b.value != 0 ? 1.0 : 0.0, 0};
      case Op::Not:
        return {a.value == 0 ? 1.0 : 0.0, 0};
      case Op::Round: {
        double value = round_value(a.value, node.type);
        // A value near a tie may go the other way: one whole step.
        return {value, a.error == 0 ? 0 : a.error + relative_step(node.type) * std::abs(value)};
      }
      default:
        break;
    }
    TW_CHECK_MSG(false, "an operation that is no element-wise one");
    return {};
  }

  // The error of the operand that wins; of both when either may.
  static double extremum_error(Point a, Point b, bool is_first) {
    if (std::abs(a.value - b.value) > a.error + b.error) {
      return is_first ? a.error : b.error;
    }
    return std::max(a.error, b.error);
  }

  // The language's `maximum` ignores NaN.
  static double pick(double a, double b, double otherwise) { return std::isnan(a) ? b : std::isnan(b) ? a : otherwise; }

  const Computation& computation_;
  std::span<const int64_t> extents_;
  std::span<const Array* const> inputs_;
  EvaluateOptions options_;
  std::vector<Array> results_;
  std::vector<int64_t> level_extents_;
  std::vector<int64_t> position_;
  std::optional<uint32_t> inner_;
  std::unordered_map<const Node*, Materialized> materialized_;
};

}  // namespace

Array Array::filled(std::vector<int64_t> extents, double value) {
  Array array;
  size_t count = 1;
  for (int64_t extent : extents) {
    count *= static_cast<size_t>(extent);
  }
  array.extents = std::move(extents);
  array.values.assign(count, value);
  return array;
}

Result<std::vector<Array>> evaluate(const Computation& computation, std::span<const int64_t> extents,
                                    std::span<const Array* const> inputs, const EvaluateOptions& options) {
  TW_CHECK(extents.size() == computation.dims.size());
  TW_CHECK(inputs.size() == computation.tensors.size());
  if (std::ranges::any_of(extents, [](int64_t extent) { return extent < 1; })) {
    return fail("a size of the problem is less than 1");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      continue;
    }
    const Tensor& tensor = computation.tensors[i];
    bool fits = inputs[i]->extents.size() == tensor.dims.size();
    for (size_t axis = 0; fits && axis < tensor.dims.size(); ++axis) {
      fits = inputs[i]->extents[axis] == extents[tensor.dims[axis].index];
    }
    if (!fits) {
      return fail(fmt::format("the values of `{}` do not have its shape", tensor.name));
    }
  }
  return Evaluator(computation, extents, inputs, options).run();
}

}  // namespace tw::spec

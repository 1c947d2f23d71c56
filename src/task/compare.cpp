// SPDX-License-Identifier: Apache-2.0
#include "task/compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <set>

#include "task/inputs.h"

namespace tw::task {
namespace {

struct Format {
  int mantissa_bits = 23;
  int min_exponent = -126;
};

Format format_of(ElementType type) {
  switch (type) {
    case ElementType::Bf16:
      return {7, -126};
    case ElementType::F16:
      return {10, -14};
    case ElementType::Tf32:
      return {10, -126};
    case ElementType::F64:
      return {52, -1022};
    case ElementType::E4m3:
      return {3, -6};
    case ElementType::E5m2:
      return {2, -14};
    default:
      return {23, -126};
  }
}

// Half the distance between neighbours of `value` in the format: what one correct rounding may be off by.
double half_step(double value, ElementType type) {
  if (!is_floating(type) || !std::isfinite(value)) {
    return 0;
  }
  Format format = format_of(type);
  int exponent = value == 0 ? format.min_exponent : std::max(format.min_exponent, std::ilogb(value));
  return std::ldexp(1.0, exponent - format.mantissa_bits - 1);
}

double derived_allowance(const spec::Array& want, int64_t i, ElementType type, double scale) {
  double error = want.errors.empty() || !std::isfinite(want.errors[i]) ? 0 : want.errors[i];
  // The rounding may happen one binade up.
  return scale * (error + half_step(std::abs(want.values[i]) + error, type));
}

std::string ranges_text(const std::vector<int64_t>& sorted, size_t most = 6) {
  std::string result;
  size_t shown = 0;
  for (size_t i = 0; i < sorted.size();) {
    size_t j = i;
    while (j + 1 < sorted.size() && sorted[j + 1] == sorted[j] + 1) {
      ++j;
    }
    if (shown++ == most) {
      return result + ", ...";
    }
    result += (result.empty() ? "" : ", ") +
              (i == j ? fmt::format("{}", sorted[i]) : fmt::format("{}..{}", sorted[i], sorted[j]));
    i = j + 1;
  }
  return result;
}

// Where the wrong elements lie in the last two dims.
class Places {
 public:
  Places(const std::vector<int64_t>& extents, const std::vector<int64_t>& wrong) : wrong_(wrong) {
    columns_ = extents.empty() ? 1 : extents.back();
    rows_ = 1;
    for (size_t i = 0; i + 1 < extents.size(); ++i) {
      rows_ *= extents[i];
    }
  }

  std::vector<std::string> sentences() {
    std::vector<std::string> result;
    if (static_cast<int64_t>(wrong_.size()) == rows_ * columns_) {
      return {"every element"};
    }
    if (std::optional<std::string> tiles = tile_sentence()) {
      result.push_back(*std::move(tiles));
    }
    std::set<int64_t> rows;
    std::set<int64_t> columns;
    for (int64_t flat : wrong_) {
      rows.insert(flat / columns_);
      columns.insert(flat % columns_);
    }
    axis_sentence("row", {rows.begin(), rows.end()}, rows_, columns_, result);
    axis_sentence("column", {columns.begin(), columns.end()}, columns_, rows_, result);
    if (result.empty()) {
      result.push_back("scattered over rows and columns");
    }
    return result;
  }

 private:
  std::optional<std::string> tile_sentence() {
    for (int64_t size : {128, 64, 32, 16, 8}) {
      if (size >= rows_ && size >= columns_) {
        continue;
      }
      std::set<std::pair<int64_t, int64_t>> tiles;
      int64_t area = 0;
      for (int64_t flat : wrong_) {
        int64_t row = flat / columns_ / size;
        int64_t column = flat % columns_ / size;
        if (tiles.insert({row, column}).second) {
          area += std::min(size, rows_ - row * size) * std::min(size, columns_ - column * size);
        }
      }
      int64_t all = ((rows_ + size - 1) / size) * ((columns_ + size - 1) / size);
      bool is_dense = static_cast<double>(wrong_.size()) >= 0.9 * static_cast<double>(area);
      if (is_dense && static_cast<int64_t>(tiles.size()) < all && rows_ > 1) {
        std::string list;
        size_t shown = 0;
        for (const auto& [row, column] : tiles) {
          if (shown++ == 4) {
            list += ", ...";
            break;
          }
          list += fmt::format("{}({}, {})", list.empty() ? "" : ", ", row, column);
        }
        return fmt::format("whole {0}x{0} tiles: {1} of {2}, at {3}", size, tiles.size(), all, list);
      }
    }
    return std::nullopt;
  }

  void axis_sentence(std::string_view name, const std::vector<int64_t>& used, int64_t extent, int64_t across,
                     std::vector<std::string>& result) {
    auto count = static_cast<int64_t>(used.size());
    if (extent == 1 || count == extent) {
      return;
    }
    std::string fully = static_cast<int64_t>(wrong_.size()) == count * across ? "all of " : "only in ";
    // The period that leaves the smallest share of residues says most; among equals the shortest.
    int64_t best_period = 0;
    std::vector<int64_t> best_residues;
    for (int64_t period : {2, 4, 8, 16, 32}) {
      std::set<int64_t> residues;
      for (int64_t value : used) {
        residues.insert(value % period);
      }
      auto left = static_cast<int64_t>(residues.size());
      bool is_periodic = left * 2 <= period && extent >= 2 * period && count > left;
      if (is_periodic &&
          (best_period == 0 || left * best_period < static_cast<int64_t>(best_residues.size()) * period)) {
        best_period = period;
        best_residues.assign(residues.begin(), residues.end());
      }
    }
    if (best_period != 0) {
      result.push_back(fmt::format("{}{}s that are {} mod {}", fully, name, ranges_text(best_residues), best_period));
      return;
    }
    result.push_back(fmt::format("{}{}s {}", fully, name, ranges_text(used)));
  }

  const std::vector<int64_t>& wrong_;
  int64_t rows_ = 1;
  int64_t columns_ = 1;
};

// Index of the element at swapped last two coordinates, or -1.
int64_t swapped(int64_t flat, const std::vector<int64_t>& extents) {
  if (extents.size() < 2) {
    return -1;
  }
  int64_t columns = extents.back();
  int64_t rows = extents[extents.size() - 2];
  int64_t matrix = flat / (rows * columns);
  int64_t row = flat / columns % rows;
  int64_t column = flat % columns;
  if (row == column || column >= rows || row >= columns) {
    return -1;
  }
  return matrix * rows * columns + column * columns + row;
}

class Comparer {
 public:
  Comparer(const Task& task, size_t operand, const spec::Array& got, const spec::Array& want,
           const std::vector<uint8_t>* untouched)
      : task_(task), type_(task.computation.tensors.at(operand).type), got_(got), want_(want), untouched_(untouched) {
    result_.output = task.computation.tensors[operand].name;
  }

  Comparison run() {
    TW_CHECK(got_.values.size() == want_.values.size());
    double difference_squares = 0;
    double want_squares = 0;
    double allowed_squares = 0;
    for (int64_t i = 0; i < want_.element_count(); ++i) {
      double derived = derived_allowance(want_, i, type_, task_.tolerance.scale);
      if (!is_element_ok(i, allowance(i, derived))) {
        add_wrong(i, allowance(i, derived));
      }
      double want = want_.values[i];
      double got = got_.values[i];
      if (std::isfinite(want) && std::isfinite(got)) {
        difference_squares += (got - want) * (got - want);
        want_squares += want * want;
        allowed_squares += derived * derived;
        if (derived > 0) {
          result_.worst_ratio = std::max(result_.worst_ratio, std::abs(got - want) / derived);
        }
      }
    }
    result_.map.compared = want_.element_count();
    if (want_squares > 0) {
      result_.relative_frobenius = std::sqrt(difference_squares / want_squares);
      result_.frobenius_limit = std::sqrt(allowed_squares / want_squares);
    }
    finish_map();
    bool is_frobenius_ok = result_.relative_frobenius <= result_.frobenius_limit * (1 + 1e-9);
    // Nothing compared is not a pass.
    result_.is_ok = result_.map.compared > 0 && result_.map.wrong == 0 && is_frobenius_ok;
    return std::move(result_);
  }

 private:
  [[nodiscard]] double allowance(int64_t i, double derived) const {
    const Tolerance& tolerance = task_.tolerance;
    if (!tolerance.relative.has_value() && !tolerance.absolute.has_value()) {
      return derived;
    }
    return tolerance.absolute.value_or(0) + tolerance.relative.value_or(0) * std::abs(want_.values[i]);
  }

  [[nodiscard]] bool is_element_ok(int64_t i, double allowed) const {
    double want = want_.values[i];
    double got = got_.values[i];
    if (std::isnan(want)) {
      return std::isnan(got);
    }
    if (std::isnan(got)) {
      return false;
    }
    double rounded = is_floating(type_) ? representable(want, type_) : want;
    if (std::isinf(got) || std::isinf(want)) {
      // Both infinite, or the reference is so large that rounding it up to infinity is within the bound.
      bool may_overflow = std::isinf(representable(std::copysign(std::abs(want) + allowed, want), type_));
      return std::isinf(got) && std::signbit(got) == std::signbit(want) && (std::isinf(rounded) || may_overflow);
    }
    return std::abs(got - want) <= allowed;
  }

  void add_wrong(int64_t i, double allowed) {
    MismatchMap& map = result_.map;
    double want = want_.values[i];
    double got = got_.values[i];
    if (map.wrong++ == 0) {
      map.first_index = coordinates(i);
      map.first_got = got;
      map.first_want = want;
      map.first_allowed = allowed;
    }
    wrong_.push_back(i);
    if (untouched_ != nullptr && (*untouched_)[i] != 0) {
      ++map.never_written;
    } else if (std::isnan(got)) {
      ++map.nan;
    } else if (std::isinf(got)) {
      ++map.infinite;
    } else if (got == 0) {
      ++map.zero;
    }
    if (int64_t other = swapped(i, want_.extents);
        other >= 0 && std::abs(got - want_.values[other]) <= derived_allowance(want_, other, type_, 1)) {
      ++map.transposed;
    }
    if (std::isfinite(got) && std::isfinite(want)) {
      double error = std::abs(got - want);
      error_sum_ += error;
      magnitude_sum_ += std::abs(want);
      ++finite_wrong_;
      map.max_error = std::max(map.max_error, error);
      // `got` was rounded too, at its own magnitude.
      double slack = allowed + half_step(got, type_);
      offset_inner_low_ = std::max(offset_inner_low_, got - want - slack);
      offset_inner_high_ = std::min(offset_inner_high_, got - want + slack);
      if (want != 0) {
        slack = slack / std::abs(want) * std::max(1.0, std::abs(got / want));
        ratio_inner_low_ = std::max(ratio_inner_low_, got / want - slack);
        ratio_inner_high_ = std::min(ratio_inner_high_, got / want + slack);
        ++ratios_;
      }
    }
  }

  [[nodiscard]] std::vector<int64_t> coordinates(int64_t flat) const {
    std::vector<int64_t> result(want_.extents.size());
    for (size_t axis = result.size(); axis-- > 0;) {
      result[axis] = flat % want_.extents[axis];
      flat /= want_.extents[axis];
    }
    return result;
  }

  void finish_map() {
    MismatchMap& map = result_.map;
    map.constant_offset = std::numeric_limits<double>::quiet_NaN();
    map.constant_ratio = std::numeric_limits<double>::quiet_NaN();
    if (finite_wrong_ > 0) {
      map.mean_error = error_sum_ / static_cast<double>(finite_wrong_);
      map.mean_magnitude = magnitude_sum_ / static_cast<double>(finite_wrong_);
    }
    // One number lies in every element's interval of possible offsets (ratios). A few elements say nothing.
    constexpr int64_t kEnough = 4;
    if (finite_wrong_ == map.wrong && map.wrong >= kEnough) {
      if (offset_inner_low_ <= offset_inner_high_) {
        map.constant_offset = (offset_inner_low_ + offset_inner_high_) / 2;
      }
      // A ratio of 0 is what `zero` says already.
      if (ratios_ == map.wrong && ratio_inner_low_ <= ratio_inner_high_ && map.zero < map.wrong) {
        map.constant_ratio = (ratio_inner_low_ + ratio_inner_high_) / 2;
      }
    }
    if (map.wrong > 0) {
      map.places = Places(want_.extents, wrong_).sentences();
    }
  }

  const Task& task_;
  ElementType type_;
  const spec::Array& got_;
  const spec::Array& want_;
  const std::vector<uint8_t>* untouched_;
  Comparison result_;
  std::vector<int64_t> wrong_;
  double error_sum_ = 0;
  double magnitude_sum_ = 0;
  int64_t finite_wrong_ = 0;
  int64_t ratios_ = 0;
  double offset_inner_low_ = -std::numeric_limits<double>::infinity();
  double offset_inner_high_ = std::numeric_limits<double>::infinity();
  double ratio_inner_low_ = -std::numeric_limits<double>::infinity();
  double ratio_inner_high_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Comparison compare(const Task& task, size_t operand, const spec::Array& got, const spec::Array& want,
                   const std::vector<uint8_t>* untouched) {
  return Comparer(task, operand, got, want, untouched).run();
}

std::string Comparison::describe() const {
  if (is_ok) {
    return fmt::format("`{}` agrees with the reference in all {} elements (worst at {:.0f} % of its bound)", output,
                       map.compared, 100 * worst_ratio);
  }
  if (map.compared == 0) {
    return fmt::format("`{}`: nothing was compared", output);
  }
  if (map.wrong == 0) {
    return fmt::format("`{}`: relative Frobenius error {:.3g}, allowed {:.3g}", output, relative_frobenius,
                       frobenius_limit);
  }
  std::string result =
      fmt::format("`{}`: {} of {} elements wrong ({:.3g} %)\n", output, map.wrong, map.compared, 100 * map.fraction());
  result += fmt::format("first at [{}]: got {:.7g}, want {:.7g} +- {:.2g}\n", fmt::join(map.first_index, ", "),
                        map.first_got, map.first_want, map.first_allowed);
  result += fmt::format("place: {}\n", fmt::join(map.places, "; "));
  auto share = [&](int64_t count, std::string_view what) {
    if (count > 0) {
      result +=
          count == map.wrong ? fmt::format("all of them {}\n", what) : fmt::format("{} of them {}\n", count, what);
    }
  };
  share(map.never_written, "were never written (still poison)");
  share(map.nan, "are NaN");
  share(map.infinite, "are infinite");
  share(map.zero, "are zero");
  if (map.transposed * 2 > map.wrong) {
    share(map.transposed, "equal the transposed element");
  }
  if (!std::isnan(map.constant_offset)) {
    result += fmt::format("all are off by the same {:.7g}\n", map.constant_offset);
  } else if (!std::isnan(map.constant_ratio)) {
    result += fmt::format("all are {:.7g} times the reference\n", map.constant_ratio);
  }
  result += fmt::format("mean error {:.3g} at mean magnitude {:.3g}", map.mean_error, map.mean_magnitude);
  return result;
}

json::Value Comparison::to_json() const {
  auto number_or_null = [](double value) { return std::isnan(value) ? json::Value(nullptr) : json::Value(value); };
  json::Value result{json::Object{}};
  result.set("output", output);
  result.set("ok", is_ok);
  result.set("compared", map.compared);
  result.set("wrong", map.wrong);
  result.set("fraction_wrong", map.fraction());
  result.set("worst_ratio", worst_ratio);
  result.set("relative_frobenius", relative_frobenius);
  result.set("frobenius_limit", frobenius_limit);
  if (map.wrong == 0) {
    return result;
  }
  json::Value first{json::Object{}};
  json::Array index;
  for (int64_t coordinate : map.first_index) {
    index.emplace_back(coordinate);
  }
  first.set("index", std::move(index));
  first.set("got", map.first_got);
  first.set("want", map.first_want);
  first.set("allowed", map.first_allowed);
  result.set("first", std::move(first));
  json::Value pattern{json::Object{}};
  json::Array places;
  for (const std::string& place : map.places) {
    places.emplace_back(place);
  }
  pattern.set("places", std::move(places));
  pattern.set("never_written", map.never_written);
  pattern.set("nan", map.nan);
  pattern.set("infinite", map.infinite);
  pattern.set("zero", map.zero);
  pattern.set("transposed", map.transposed);
  pattern.set("constant_offset", number_or_null(map.constant_offset));
  pattern.set("constant_ratio", number_or_null(map.constant_ratio));
  result.set("pattern", std::move(pattern));
  result.set("mean_error", map.mean_error);
  result.set("mean_magnitude", map.mean_magnitude);
  result.set("max_error", map.max_error);
  return result;
}

}  // namespace tw::task

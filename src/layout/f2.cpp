// SPDX-License-Identifier: Apache-2.0
#include "layout/f2.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "layout/evaluate.h"

namespace tw::layout {
namespace {

constexpr int kMaxF2Bits = 64;

uint64_t low_mask(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

Checked<int> check_bits(int out_bits, int in_bits) {
  if (out_bits < 0 || in_bits < 0 || out_bits > kMaxF2Bits || in_bits > kMaxF2Bits) {
    return fail_law(Law::F2Size, {{"out_bits", out_bits}, {"in_bits", in_bits}},
                    fmt::format("a {}x{} matrix has more than {} bits", out_bits, in_bits, kMaxF2Bits));
  }
  return 0;
}

// Gauss-Jordan on [matrix | trace]: trace tells which xor of the original rows each reduced row is.
struct Reduced {
  std::vector<uint64_t> rows;
  std::vector<uint64_t> trace;
  // The column of each pivot row, in order.
  std::vector<int> pivots;
};

Reduced reduce(const F2Matrix& a) {
  Reduced r;
  for (int i = 0; i < a.out_bits(); ++i) {
    r.rows.push_back(a.row(i));
    r.trace.push_back(uint64_t{1} << i);
  }
  size_t next = 0;
  for (int j = 0; j < a.in_bits() && next < r.rows.size(); ++j) {
    size_t pivot = next;
    while (pivot < r.rows.size() && (r.rows[pivot] >> j & 1) == 0) {
      ++pivot;
    }
    if (pivot == r.rows.size()) {
      continue;
    }
    std::swap(r.rows[pivot], r.rows[next]);
    std::swap(r.trace[pivot], r.trace[next]);
    for (size_t i = 0; i < r.rows.size(); ++i) {
      if (i != next && (r.rows[i] >> j & 1) != 0) {
        r.rows[i] ^= r.rows[next];
        r.trace[i] ^= r.trace[next];
      }
    }
    r.pivots.push_back(j);
    ++next;
  }
  return r;
}

// The columns for inputs 2^0 .. 2^(in_bits-1), if the layout is linear on them.
Checked<F2Matrix> linear_columns(const Layout& layout, int in_bits) {
  const std::vector<FlatMode> modes = flat_modes(layout);
  for (size_t i = 0; i + 1 < modes.size(); ++i) {
    if (!std::has_single_bit(static_cast<uint64_t>(modes[i].extent))) {
      return fail_law(Law::F2Linear, {{"leaf", static_cast<int64_t>(i)}, {"extent", modes[i].extent}},
                      fmt::format("extent {} of {} is not a power of two", modes[i].extent, layout.to_string()));
    }
  }
  const Evaluator evaluate(layout);
  std::vector<uint64_t> columns;
  uint64_t taken = 0;
  for (int j = 0; j < in_bits; ++j) {
    const int64_t value = evaluate(int64_t{1} << j);
    const auto bits = static_cast<uint64_t>(value);
    if (value < 0 || (taken & bits) != 0) {
      return fail_law(Law::F2Linear, {{"index", int64_t{1} << j}, {"value", value}},
                      fmt::format("in {} the step of {} at index {} carries into other steps, so + is not xor",
                                  layout.to_string(), value, int64_t{1} << j));
    }
    taken |= bits;
    columns.push_back(bits);
  }
  return F2Matrix::from_columns(columns, static_cast<int>(std::bit_width(taken)));
}

}  // namespace

Checked<F2Matrix> F2Matrix::zero(int out_bits, int in_bits) {
  TW_TRY([[maybe_unused]] const int done, check_bits(out_bits, in_bits));
  F2Matrix result;
  result.rows_.assign(static_cast<size_t>(out_bits), 0);
  result.in_bits_ = in_bits;
  return result;
}

Checked<F2Matrix> F2Matrix::identity(int bits) {
  TW_TRY(F2Matrix result, zero(bits, bits));
  for (int i = 0; i < bits; ++i) {
    result.rows_[static_cast<size_t>(i)] = uint64_t{1} << i;
  }
  return result;
}

Checked<F2Matrix> F2Matrix::from_rows(std::vector<uint64_t> rows, int in_bits) {
  TW_TRY([[maybe_unused]] const int done, check_bits(static_cast<int>(std::min<size_t>(rows.size(), 1000)), in_bits));
  for (size_t i = 0; i < rows.size(); ++i) {
    if ((rows[i] & ~low_mask(in_bits)) != 0) {
      return fail_law(Law::F2Size, {{"row", static_cast<int64_t>(i)}, {"in_bits", in_bits}},
                      fmt::format("row {} has bits at or above {}", i, in_bits));
    }
  }
  F2Matrix result;
  result.rows_ = std::move(rows);
  result.in_bits_ = in_bits;
  return result;
}

Checked<F2Matrix> F2Matrix::from_columns(const std::vector<uint64_t>& columns, int out_bits) {
  TW_TRY(F2Matrix result, zero(out_bits, static_cast<int>(std::min<size_t>(columns.size(), 1000))));
  for (size_t j = 0; j < columns.size(); ++j) {
    if ((columns[j] & ~low_mask(out_bits)) != 0) {
      return fail_law(Law::F2Size, {{"column", static_cast<int64_t>(j)}, {"out_bits", out_bits}},
                      fmt::format("column {} has bits at or above {}", j, out_bits));
    }
    for (int i = 0; i < out_bits; ++i) {
      result.rows_[static_cast<size_t>(i)] |= (columns[j] >> i & 1) << j;
    }
  }
  return result;
}

Checked<F2Matrix> F2Matrix::from_layout(const Layout& layout) {
  if (!std::has_single_bit(static_cast<uint64_t>(layout.size()))) {
    return fail_law(Law::F2Linear, {{"size", layout.size()}},
                    fmt::format("the size {} of {} is not a power of two", layout.size(), layout.to_string()));
  }
  return linear_columns(layout, std::countr_zero(static_cast<uint64_t>(layout.size())));
}

Checked<F2Matrix> F2Matrix::from_layout_prefix(const Layout& layout, int min_bits) {
  if (min_bits > 62) {
    return fail_law(Law::F2Size, {{"bits", min_bits}}, "an index has at most 62 bits");
  }
  const int domain_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(layout.size() - 1)));
  return linear_columns(layout, std::max(min_bits, domain_bits));
}

Checked<F2Matrix> F2Matrix::from_swizzle(const Swizzle& swizzle, int bits) {
  TW_TRY(F2Matrix result, identity(bits));
  const auto y = static_cast<uint64_t>(swizzle.y_mask());
  const auto z = static_cast<uint64_t>(swizzle.z_mask());
  if (((y | z) & ~low_mask(bits)) != 0) {
    return fail_law(Law::F2Size, {{"bits", bits}, {"mask", static_cast<int64_t>(y | z)}},
                    fmt::format("{} moves bits at or above {}", swizzle.to_string(), bits));
  }
  for (int i = 0; i < bits; ++i) {
    if ((z >> i & 1) != 0) {
      result.rows_[static_cast<size_t>(i)] |= uint64_t{1} << (i + swizzle.shift());
    }
  }
  return result;
}

uint64_t F2Matrix::column(int j) const {
  uint64_t result = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    result |= (rows_[i] >> j & 1) << i;
  }
  return result;
}

uint64_t F2Matrix::operator()(uint64_t x) const {
  uint64_t result = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    result |= static_cast<uint64_t>(std::popcount(rows_[i] & x) & 1) << i;
  }
  return result;
}

std::string F2Matrix::to_string() const {
  std::string text = fmt::format("{}x{}", out_bits(), in_bits_);
  for (size_t i = rows_.size(); i-- > 0;) {
    text += '\n';
    for (int j = in_bits_; j-- > 0;) {
      text += (rows_[i] >> j & 1) != 0 ? '1' : '.';
    }
  }
  return text;
}

int F2Matrix::rank() const {
  return static_cast<int>(reduce(*this).pivots.size());
}

std::vector<uint64_t> F2Matrix::kernel() const {
  const Reduced r = reduce(*this);
  uint64_t pivot_columns = 0;
  for (int j : r.pivots) {
    pivot_columns |= uint64_t{1} << j;
  }
  std::vector<uint64_t> basis;
  for (int j = 0; j < in_bits_; ++j) {
    if ((pivot_columns >> j & 1) != 0) {
      continue;
    }
    uint64_t x = uint64_t{1} << j;
    for (size_t i = 0; i < r.pivots.size(); ++i) {
      x |= (r.rows[i] >> j & 1) << r.pivots[i];
    }
    basis.push_back(x);
  }
  return basis;
}

std::optional<uint64_t> F2Matrix::solve(uint64_t y) const {
  if ((y & ~low_mask(out_bits())) != 0) {
    return std::nullopt;
  }
  const Reduced r = reduce(*this);
  uint64_t x = 0;
  for (size_t i = 0; i < r.rows.size(); ++i) {
    const bool bit = (std::popcount(r.trace[i] & y) & 1) != 0;
    if (i < r.pivots.size()) {
      x |= uint64_t{bit} << r.pivots[i];
    } else if (bit) {
      return std::nullopt;
    }
  }
  return x;
}

Checked<F2Matrix> multiply(const F2Matrix& a, const F2Matrix& b) {
  if (a.in_bits() < b.out_bits()) {
    return fail_law(Law::F2Size, {{"left_in", a.in_bits()}, {"right_out", b.out_bits()}},
                    fmt::format("a map from {} bits cannot follow one to {} bits", a.in_bits(), b.out_bits()));
  }
  std::vector<uint64_t> rows;
  for (int i = 0; i < a.out_bits(); ++i) {
    uint64_t row = 0;
    for (int k = 0; k < b.out_bits(); ++k) {
      row ^= (a.row(i) >> k & 1) != 0 ? b.row(k) : 0;
    }
    rows.push_back(row);
  }
  return F2Matrix::from_rows(std::move(rows), b.in_bits());
}

Checked<F2Matrix> transpose(const F2Matrix& a) {
  std::vector<uint64_t> rows;
  for (int j = 0; j < a.in_bits(); ++j) {
    rows.push_back(a.column(j));
  }
  return F2Matrix::from_rows(std::move(rows), a.out_bits());
}

Checked<F2Matrix> right_inverse(const F2Matrix& a) {
  const Reduced r = reduce(a);
  const int rank = static_cast<int>(r.pivots.size());
  if (rank != a.out_bits()) {
    return fail_law(Law::F2Singular, {{"rank", rank}, {"out_bits", a.out_bits()}},
                    fmt::format("a right inverse needs rank {}, the matrix has {}", a.out_bits(), rank));
  }
  std::vector<uint64_t> rows(static_cast<size_t>(a.in_bits()), 0);
  for (size_t i = 0; i < r.pivots.size(); ++i) {
    rows[static_cast<size_t>(r.pivots[i])] = r.trace[i];
  }
  return F2Matrix::from_rows(std::move(rows), a.out_bits());
}

Checked<F2Matrix> left_inverse(const F2Matrix& a) {
  const Reduced r = reduce(a);
  const int rank = static_cast<int>(r.pivots.size());
  if (rank != a.in_bits()) {
    return fail_law(Law::F2Singular, {{"rank", rank}, {"in_bits", a.in_bits()}},
                    fmt::format("a left inverse needs rank {}, the matrix has {}", a.in_bits(), rank));
  }
  // Full column rank: pivot i is column i.
  std::vector<uint64_t> rows(r.trace.begin(), r.trace.begin() + rank);
  return F2Matrix::from_rows(std::move(rows), a.out_bits());
}

Checked<F2Matrix> inverse(const F2Matrix& a) {
  if (a.in_bits() != a.out_bits()) {
    return fail_law(Law::F2Size, {{"in_bits", a.in_bits()}, {"out_bits", a.out_bits()}},
                    fmt::format("a {}x{} matrix has no two-sided inverse", a.out_bits(), a.in_bits()));
  }
  return right_inverse(a);
}

Checked<F2Matrix> select_rows(const F2Matrix& a, int first, int count) {
  if (first < 0 || count < 0 || first > kMaxF2Bits || count > kMaxF2Bits) {
    return fail_law(Law::F2Size, {{"first", first}, {"count", count}}, "rows outside the matrix");
  }
  std::vector<uint64_t> rows;
  for (int i = first; i < std::min(first + count, a.out_bits()); ++i) {
    rows.push_back(a.row(i));
  }
  return F2Matrix::from_rows(std::move(rows), a.in_bits());
}

Checked<F2Affine> to_f2(const ComposedLayout& layout) {
  TW_TRY(const F2Matrix inner, F2Matrix::from_layout(layout.inner()));
  const auto offset = static_cast<uint64_t>(layout.offset());
  uint64_t reached = 0;
  for (int j = 0; j < inner.in_bits(); ++j) {
    reached |= inner.column(j);
  }
  if (layout.offset() < 0 || (reached & offset) != 0) {
    return fail_law(
        Law::F2Linear, {{"offset", layout.offset()}, {"reached", static_cast<int64_t>(reached)}},
        fmt::format("the offset {} carries into the values of {}", layout.offset(), layout.inner().to_string()));
  }
  const uint64_t mask = static_cast<uint64_t>(layout.outer().y_mask() | layout.outer().z_mask());
  const int bits = static_cast<int>(std::bit_width(mask | reached));
  TW_TRY(const F2Matrix swizzle, F2Matrix::from_swizzle(layout.outer(), bits));
  TW_TRY(F2Matrix linear, multiply(swizzle, inner));
  return F2Affine{std::move(linear), static_cast<uint64_t>(layout.outer()(layout.offset()))};
}

Checked<int64_t> bank_conflict_ways(std::span<const int64_t> byte_addresses, const BankModel& model) {
  if (model.banks < 1 || model.word_bytes < 1) {
    return fail_law(Law::PositiveExtent, {{"banks", model.banks}, {"word_bytes", model.word_bytes}},
                    "a bank model needs at least one bank and one byte a word");
  }
  std::vector<int64_t> words;
  for (int64_t address : byte_addresses) {
    if (address < 0) {
      return fail_law(Law::NonNegativeStride, {{"address", address}}, fmt::format("address {} is below 0", address));
    }
    words.push_back(address / model.word_bytes);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<int64_t> banks;
  for (int64_t word : words) {
    banks.push_back(word % model.banks);
  }
  std::sort(banks.begin(), banks.end());
  int64_t ways = 0;
  for (size_t i = 0; i < banks.size();) {
    size_t end = i;
    while (end < banks.size() && banks[end] == banks[i]) {
      ++end;
    }
    ways = std::max(ways, static_cast<int64_t>(end - i));
    i = end;
  }
  return ways;
}

Checked<int64_t> bank_conflict_ways(const F2Matrix& byte_address_of_lane, const BankModel& model) {
  if (model.banks < 1 || model.word_bytes < 1 || !std::has_single_bit(static_cast<uint64_t>(model.banks)) ||
      !std::has_single_bit(static_cast<uint64_t>(model.word_bytes))) {
    return fail_law(Law::F2Linear, {{"banks", model.banks}, {"word_bytes", model.word_bytes}},
                    "banks and word size must be powers of two for the closed form");
  }
  const int word_bit = std::countr_zero(static_cast<uint64_t>(model.word_bytes));
  const int bank_bits = std::countr_zero(static_cast<uint64_t>(model.banks));
  TW_TRY(const F2Matrix words, select_rows(byte_address_of_lane, word_bit, kMaxF2Bits));
  TW_TRY(const F2Matrix banks, select_rows(byte_address_of_lane, word_bit, bank_bits));
  const int excess = words.rank() - banks.rank();
  if (excess > 62) {
    return fail_law(Law::Overflow, {{"log2_ways", excess}}, "the number of conflicts does not fit 64 bits");
  }
  return int64_t{1} << excess;
}

}  // namespace tw::layout

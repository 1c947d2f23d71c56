// SPDX-License-Identifier: Apache-2.0
#include "emulator/problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "emulator/elements.h"
#include "emulator/walk.h"

namespace tw::emulator {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

ReadingError problem_error(std::string message, diag::Span span = {}) {
  ReadingError error;
  error.kind = ReadingErrorKind::BadProblem;
  error.message = std::move(message);
  error.span = span;
  return error;
}

// One random element, encoded.
void random_element(ElementType type, Fill fill, uint64_t random, std::byte* out) {
  if (is_floating(type)) {
    double value = 0;
    if (fill == Fill::Grid) {
      value = static_cast<double>(static_cast<int64_t>(random % 17) - 8) / 8;
    } else if (fill != Fill::Zero) {
      value = static_cast<double>(static_cast<int64_t>(random)) * 0x1p-63;
    }
    if (fill == Fill::Special && random % 16 == 0) {
      const double infinity = std::numeric_limits<double>::infinity();
      value = std::array{infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}[(random >> 8) % 3];
    }
    if (type == ElementType::F64) {
      encode_elements(type, &value, 1, out);
    } else {
      const float narrow = round_f64_to(type, value);
      encode_elements(type, &narrow, 1, out);
    }
    return;
  }
  int64_t value = 0;
  if (fill != Fill::Zero) {
    value = type == ElementType::Bool ? static_cast<int64_t>(random & 1) : static_cast<int64_t>(random % 17) - 8;
    value = std::max(value, lowest_of(type));
  }
  encode_elements(type, &value, 1, out);
}

// Not a number in every floating-point type, and unlikely as an integer.
constexpr std::byte kPoison{0xff};

bool has_gaps(const BoundTensor& tensor) {
  return tensor.element_count() != tensor.allocation_elements;
}

Paged<std::byte>::Fill make_fill(const ir::Tensor& tensor, size_t index, const BoundTensor& bound,
                                 const Problem& problem) {
  if (tensor.direction == ir::Direction::Out || tensor.direction == ir::Direction::Work) {
    return [](uint64_t, uint64_t count, std::byte* out) { std::fill_n(out, count, kPoison); };
  }
  auto given = problem.tensors.find(tensor.name);
  if (given != problem.tensors.end() && given->second.bytes) {
    return [bytes = given->second.bytes](uint64_t first, uint64_t count, std::byte* out) {
      std::fill_n(out, count, kPoison);
      if (first < bytes->size()) {
        std::copy_n(bytes->data() + first, std::min<uint64_t>(count, bytes->size() - first), out);
      }
    };
  }
  Fill fill = given != problem.tensors.end() ? given->second.fill : problem.default_fill;
  if (tensor.direction == ir::Direction::Acc && given == problem.tensors.end()) {
    fill = Fill::Zero;
  }
  const uint64_t seed = mix(problem.seed * 1000003 + index);
  const bool gaps = has_gaps(bound);
  return [=, type = tensor.element](uint64_t first, uint64_t count, std::byte* out) {
    const auto size = static_cast<uint64_t>(size_bytes(type));
    for (uint64_t offset = 0; offset < count; offset += size) {
      const uint64_t element = (first + offset) / size;
      if (gaps && !bound.coordinates(static_cast<int64_t>(element))) {
        std::fill_n(out + offset, size, kPoison);
      } else {
        random_element(type, fill, mix(seed ^ element), out + offset);
      }
    }
  };
}

// Of the contents that the problem gives; what `fill` makes is finite unless it says otherwise.
bool is_finite(const ir::Function& function, const BoundProblem& bound, const Problem& problem, ir::TensorId id) {
  const ir::Tensor& tensor = function.tensor(id);
  auto given = problem.tensors.find(tensor.name);
  if (given == problem.tensors.end() || !given->second.bytes) {
    return (given == problem.tensors.end() ? problem.default_fill : given->second.fill) != Fill::Special;
  }
  const BoundTensor& shape = bound.tensors[id.index];
  Buffer one = make_buffer(tensor.element, 1);
  for (int64_t element = 0; element < shape.allocation_elements; ++element) {
    decode_elements(tensor.element, given->second.bytes->data() + element * shape.element_bytes, 1, data_of(one));
    if (!std::isfinite(as_double(one, 0)) && (!has_gaps(shape) || shape.coordinates(element))) {
      return false;
    }
  }
  return true;
}

}  // namespace

int64_t BoundTensor::element_count() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

std::optional<std::vector<int64_t>> BoundTensor::coordinates(int64_t element) const {
  if (element < 0 || element >= allocation_elements) {
    return std::nullopt;
  }
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  std::vector<int64_t> coord(extents.size(), 0);
  for (size_t axis : order) {
    if (strides[axis] > 0 && extents[axis] > 1) {
      coord[axis] = std::min(element / strides[axis], extents[axis] - 1);
      element -= coord[axis] * strides[axis];
    }
  }
  return element == 0 ? std::optional(coord) : std::nullopt;
}

TensorMemory::TensorMemory(const ir::Function& function, size_t tensor, const BoundTensor& bound,
                           const Problem& problem)
    : bytes_(make_fill(function.tensors[tensor], tensor, bound, problem)) {}

Result<BoundProblem, ReadingError> bind(const ir::Function& function, const Problem& problem) {
  BoundProblem bound;
  bound.function = &function;
  bound.symbols.resize(function.exprs.symbol_count());
  for (ir::SymbolId id : function.sizes) {
    const std::string& name = function.exprs.symbol(id).name;
    auto found = problem.sizes.find(name);
    if (found == problem.sizes.end()) {
      return fail(
          problem_error(fmt::format("the problem gives no value for size `{}`", name), function.exprs.symbol(id).span));
    }
    if (found->second < 0) {
      return fail(problem_error(fmt::format("size `{}` is {}; sizes are at least 0", name, found->second)));
    }
    bound.symbols[id.index] = found->second;
  }
  for (const ir::ScalarParameter& scalar : function.scalars) {
    auto found = problem.scalars.find(scalar.name);
    if (found == problem.scalars.end()) {
      return fail(problem_error(fmt::format("the problem gives no value for argument `{}`", scalar.name)));
    }
    bound.scalars.push_back(found->second);
    if (scalar.symbol.is_valid()) {
      bound.symbols[scalar.symbol.index] = static_cast<int64_t>(found->second);
    }
  }
  for (const ir::Assumption& assumption : function.assumptions) {
    if (!assumption.condition.is_valid()) {
      continue;
    }
    TW_TRY(int64_t holds, evaluate(function, assumption.condition, bound.symbols));
    if (holds == 0) {
      return fail(problem_error(
          fmt::format("the problem does not meet `assume({})`", function.exprs.to_string(assumption.condition)),
          assumption.span));
    }
  }
  for (const ir::Tensor& tensor : function.tensors) {
    BoundTensor out;
    out.element_bytes = size_bytes(tensor.element);
    if (tensor.extents.size() != tensor.strides.size() || tensor.extents.size() > kMaxObjectRank) {
      return fail(problem_error(fmt::format("tensor `{}` has {} extents and {} strides", tensor.name,
                                            tensor.extents.size(), tensor.strides.size()),
                                tensor.span));
    }
    int64_t last = 0;
    bool is_empty = false;
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      TW_TRY(int64_t extent, evaluate(function, tensor.extents[axis], bound.symbols));
      TW_TRY(int64_t stride, evaluate(function, tensor.strides[axis], bound.symbols));
      if (extent < 0 || stride < 0) {
        return fail(
            problem_error(fmt::format("axis {} of `{}` has extent {} and stride {}", axis, tensor.name, extent, stride),
                          tensor.span));
      }
      is_empty = is_empty || extent == 0;
      int64_t reach = 0;
      if (__builtin_mul_overflow(extent - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last)) {
        return fail(
            problem_error(fmt::format("tensor `{}` is larger than 64-bit addresses", tensor.name), tensor.span));
      }
      out.extents.push_back(extent);
      out.strides.push_back(stride);
    }
    out.allocation_elements = is_empty ? 0 : last + 1;
    auto given = problem.tensors.find(tensor.name);
    if (given != problem.tensors.end() && given->second.bytes &&
        static_cast<int64_t>(given->second.bytes->size()) != out.allocation_elements * out.element_bytes) {
      return fail(problem_error(fmt::format("`{}` needs {} bytes, the problem gives {}", tensor.name,
                                            out.allocation_elements * out.element_bytes, given->second.bytes->size())));
    }
    bound.tensors.push_back(std::move(out));
  }
  for (const ir::Assumption& assumption : function.assumptions) {
    if (assumption.finite.is_valid() && !is_finite(function, bound, problem, assumption.finite)) {
      return fail(problem_error(
          fmt::format("the problem does not meet `assume(finite({}))`", function.tensor(assumption.finite).name),
          assumption.span));
    }
  }
  TW_TRY(bound.grid, grid_size(bound, problem));
  return bound;
}

Result<std::vector<std::byte>, ReadingError> initial_bytes(const ir::Function& function, const Problem& problem,
                                                           ir::TensorId tensor) {
  TW_TRY(BoundProblem bound, bind(function, problem));
  const BoundTensor& shape = bound.tensors[tensor.index];
  TensorMemory memory(function, tensor.index, shape, problem);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.allocation_elements * shape.element_bytes));
  memory.read(0, static_cast<int64_t>(bytes.size()), bytes.data());
  return bytes;
}

}  // namespace tw::emulator

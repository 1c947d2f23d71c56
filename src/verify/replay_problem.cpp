// SPDX-License-Identifier: Apache-2.0
#include "verify/replay_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float16.h"

namespace tw::verify {

using emulator::Problem;

Problem problem_of(const Counterexample& cex) {
  Problem problem;
  for (const auto& [name, value] : cex.sizes) {
    problem.sizes[name] = value;
    problem.scalars[name] = static_cast<double>(value);
  }
  problem.seed = cex.seed;
  return problem;
}

Problem with_scalars(const ir::Function& f, Problem problem) {
  for (const ir::ScalarParameter& scalar : f.scalars) {
    problem.scalars.try_emplace(scalar.name, 1.0);
  }
  return problem;
}

void encode(ElementType type, double value, std::byte* out) {
  switch (type) {
    case ElementType::Bf16: {
      uint16_t bits = f64_to_bf16(value);
      std::memcpy(out, &bits, sizeof bits);
      return;
    }
    case ElementType::F16: {
      uint16_t bits = f64_to_f16(value);
      std::memcpy(out, &bits, sizeof bits);
      return;
    }
    case ElementType::F32:
    case ElementType::Tf32: {
      auto narrow = static_cast<float>(value);
      std::memcpy(out, &narrow, sizeof narrow);
      return;
    }
    case ElementType::F64:
      std::memcpy(out, &value, sizeof value);
      return;
    case ElementType::I32:
    case ElementType::U32: {
      auto whole = static_cast<int32_t>(value);
      std::memcpy(out, &whole, sizeof whole);
      return;
    }
    default: {
      auto whole = static_cast<int64_t>(value);
      std::memcpy(out, &whole, static_cast<size_t>(size_bytes(type)));
      return;
    }
  }
}

double decode(ElementType type, const std::byte* in) {
  switch (type) {
    case ElementType::Bf16:
    case ElementType::F16: {
      uint16_t bits = 0;
      std::memcpy(&bits, in, sizeof bits);
      return type == ElementType::Bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
    }
    case ElementType::F32:
    case ElementType::Tf32: {
      float value = 0;
      std::memcpy(&value, in, sizeof value);
      return value;
    }
    case ElementType::F64: {
      double value = 0;
      std::memcpy(&value, in, sizeof value);
      return value;
    }
    default: {
      int64_t value = 0;
      std::memcpy(&value, in, static_cast<size_t>(size_bytes(type)));
      return static_cast<double>(value);
    }
  }
}

namespace {

bool is_output(const ir::Tensor& tensor) {
  return tensor.direction != ir::Direction::In && tensor.direction != ir::Direction::Work;
}

}  // namespace

Outputs outputs_of(const ir::Function& f, const Problem& problem, std::optional<emulator::Watch> watch) {
  emulator::ReadingOptions options;
  options.check_coverage = false;
  options.watch = std::move(watch);
  emulator::Reading reading = emulator::run_reading(f, problem, options);
  Outputs out;
  out.error = reading.error;
  for (uint32_t i = 0; i < f.tensors.size(); ++i) {
    out.bytes.push_back(is_output(f.tensors[i]) && !reading.error ? reading.bytes_of(ir::TensorId(i))
                                                                  : std::vector<std::byte>{});
  }
  return out;
}

std::optional<std::string> first_difference(const ir::Function& f, const Outputs& a, const Outputs& b,
                                            double tolerance) {
  for (uint32_t i = 0; i < f.tensors.size(); ++i) {
    const ir::Tensor& tensor = f.tensors[i];
    const int width = size_bytes(tensor.element);
    if (a.bytes[i].size() != b.bytes[i].size()) {
      return "`" + tensor.name + "` has another size";
    }
    for (size_t at = 0; at + width <= a.bytes[i].size(); at += width) {
      double x = decode(tensor.element, a.bytes[i].data() + at), y = decode(tensor.element, b.bytes[i].data() + at);
      bool same = x == y || (std::isnan(x) && std::isnan(y)) ||
                  std::abs(x - y) <= tolerance * std::max({std::abs(x), std::abs(y), tolerance});
      if (!same) {
        return "element " + std::to_string(at / width) + " of `" + tensor.name + "` is " + std::to_string(x) +
               " against " + std::to_string(y);
      }
    }
  }
  return std::nullopt;
}

}  // namespace tw::verify

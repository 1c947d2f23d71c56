// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/elements.h"
#include "ir/function.h"

namespace tw::emulator {

// The arithmetic that both halves use, one element at a time. Floating point: computed in f32 (f64 for f64) and rounded
// to the result's type; transcendental functions are the C library's in f64, rounded once. Integers are exact.

struct ElementOperand {
  const void* data = nullptr;
  ElementType type = ElementType::F32;
};

enum class ArithmeticFault : uint8_t { Overflow, DivisionByZero };
struct FaultAt {
  ArithmeticFault fault = ArithmeticFault::Overflow;
  size_t index = 0;
};

// out[i] = kind(operands...[i]) for i < count; the first integer result that leaves its type is reported (and kept
// modulo 2^64 by the buffer: the caller decides).
std::optional<FaultAt> apply_elementwise(ir::ElementwiseKind kind, ElementType result_type,
                                         std::span<const ElementOperand> operands, size_t count, void* out);

// a combined with b, rounded to the type. Max and Min ignore NaN; -0 is below +0.
float combine(ir::ReduceKind kind, ElementType type, float a, float b);
double combine(ir::ReduceKind kind, ElementType type, double a, double b);
int64_t combine(ir::ReduceKind kind, ElementType type, int64_t a, int64_t b);
// The value that changes nothing.
double neutral_value(ir::ReduceKind kind, ElementType type);

// The model of a multiply-add instruction: c[m][n] += sum over k of a[m][k] * b[k][n], where a product is exact and
// each addition rounds to nearest, in the order of k. `exact_products`: the operands are short enough (at most 12 bits
// of significand) that a product is exact in f32; otherwise each step is one fused multiply-add.
void multiply_accumulate(const float* a, const float* b, float* c, size_t rows, size_t columns, size_t depth,
                         bool exact_products);
bool has_exact_products(ElementType a, ElementType b);

// What the tensor cores of an H200 really do in one mma.sync: measured bit by bit on random normal operands
// (bench/mma_accumulation, docs/emulator.md). The accumulator and the `instruction_depth` products are cut towards zero
// at a common quantum, 25 bits below the leading one of the largest (a product's leading bit counted as the sum of its
// factors' exponents), added exactly, and the sum is cut towards zero to f32.
void tensor_core_accumulate(const float* a, const float* b, float* c, size_t rows, size_t columns, size_t depth,
                            size_t instruction_depth);

}  // namespace tw::emulator

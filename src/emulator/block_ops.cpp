// SPDX-License-Identifier: Apache-2.0
// The register side of the machine half: loads and stores, products, element-wise operations, reductions.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/check.h"
#include "emulator/arithmetic.h"
#include "emulator/block_machine.h"

namespace tw::emulator {
namespace {

constexpr int kMaxVectorBytes = 16;
constexpr std::byte kPoison{0xff};
constexpr int kMatrixRowBytes = 16;

// Calls f(pointer to the buffer's elements) with its type.
template <class F>
void with_elements(Buffer& buffer, F f) {
  std::visit([&](auto& values) { f(values.data()); }, buffer);
}

}  // namespace

void BlockMachine::move_registers(const Instance& instance, int begin, int end) {
  // Moves are parallel: all sources are read before any target is written.
  std::vector<Buffer> kept;
  const bool is_single = instance.moves_end - instance.moves_begin == 1;
  for (uint32_t m = instance.moves_begin; m < instance.moves_end; ++m) {
    const Move& move = walk_.moves[m];
    const int64_t count = plan_.values[move.from.index];
    TW_CHECK(count == plan_.values[move.to.index]);
    std::visit(
        [&](auto& from) {
          using Vector = std::decay_t<decltype(from)>;
          auto& to = std::get<Vector>(registers_[move.to.index]);
          const auto first = from.begin() + begin * count;
          const auto last = from.begin() + end * count;
          if (is_single) {
            std::copy(first, last, to.begin() + begin * count);
          } else {
            kept.emplace_back(Vector(first, last));
          }
        },
        registers_[move.from.index]);
  }
  for (size_t k = 0; k < kept.size(); ++k) {
    const Move& move = walk_.moves[instance.moves_begin + k];
    std::visit(
        [&](auto& from) {
          auto& to = std::get<std::decay_t<decltype(from)>>(registers_[move.to.index]);
          std::ranges::copy(from, to.begin() + begin * plan_.values[move.to.index]);
        },
        kept[k]);
  }
}

void BlockMachine::execute_op(const Instance& instance, const ir::LoadOp& op, int begin, int end) {
  if (op.atom.kind == target::CopyKind::Ldmatrix) {
    ldmatrix(instance, op, begin, end);
    return;
  }
  const auto index = static_cast<uint32_t>(&instance - walk_.instances.data());
  const OpPlan& plan = plan_.ops[instance.op->id];
  const ElementType type = type_of(op.result);
  const int vector = plan.access.vector;
  Tile fill = make_tile(type, {vector});
  set_all(fill, op.fill);
  std::byte filling[kMaxVectorBytes];
  encode_elements(type, data_of(fill.data), static_cast<size_t>(vector), filling);
  for (int t = begin; t < end; ++t) {
    for (int64_t v = 0; v < plan.access.values; v += vector) {
      const Place from = place(index, 0, t, v);
      std::byte bytes[kMaxVectorBytes];
      if (from.side->is_global && is_guarded_out(from)) {
        std::copy_n(filling, kMaxVectorBytes, bytes);
      } else {
        std::fill_n(bytes, kMaxVectorBytes, kPoison);
        read_vector(from, vector, bytes);
      }
      decode_elements(type, bytes, static_cast<size_t>(vector),
                      data_of(registers_[op.result.index], static_cast<size_t>(t * plan.access.values + v)));
    }
  }
}

// Each lane supplies the address of one row of one matrix; every register gets the bytes that the instruction's map
// says, whatever the layout hopes for.
void BlockMachine::ldmatrix(const Instance& instance, const ir::LoadOp& op, int begin, int end) {
  const auto index = static_cast<uint32_t>(&instance - walk_.instances.data());
  const OpPlan& plan = plan_.ops[instance.op->id];
  const LdmatrixTable& table = plan.ldmatrix;
  const ElementType type = type_of(op.result);
  const auto rows = table.first_lane.size();
  std::vector<int64_t> addresses(rows);
  for (int64_t first = 0; first < plan.access.values; first += table.group_values) {
    for (size_t row = 0; row < rows; ++row) {
      const Place start = place(index, 0, begin + table.first_lane[row], first + table.first_value[row]);
      addresses[row] = shared_address(start);
      if (addresses[row] % kMatrixRowBytes != 0) {
        report(ViolationKind::Misaligned, start, addresses[row], kMatrixRowBytes, start.value);
        return;
      }
    }
    for (int t = begin; t < end; ++t) {
      for (int value = 0; value < table.group_values; ++value) {
        const auto entry = static_cast<size_t>((t - begin) * table.group_values + value);
        const Place element = place(index, 0, t, first + value);
        std::byte bytes[kMaxVectorBytes];
        std::fill_n(bytes, kMaxVectorBytes, kPoison);
        read_shared(element, addresses[table.row_of[entry]] + table.byte_of[entry], 1, bytes);
        decode_elements(
            type, bytes, 1,
            data_of(registers_[op.result.index], static_cast<size_t>(t * plan.access.values + first + value)));
      }
    }
  }
}

void BlockMachine::execute_op(const Instance& instance, const ir::StoreOp& op, int begin, int end) {
  const auto index = static_cast<uint32_t>(&instance - walk_.instances.data());
  const OpPlan& plan = plan_.ops[instance.op->id];
  const ElementType type = type_of(op.value);
  const int vector = plan.access.vector;
  for (int t = begin; t < end; ++t) {
    if (plan.access.is_active_thread[static_cast<size_t>(t)] == 0) {
      continue;
    }
    for (int64_t v = 0; v < plan.access.values; v += vector) {
      if (plan.access.is_active_vector[static_cast<size_t>(v / vector)] == 0) {
        continue;
      }
      const Place to = place(index, 0, t, v);
      if (to.side->is_global && is_guarded_out(to)) {
        continue;
      }
      std::byte bytes[kMaxVectorBytes];
      encode_elements(type, data_of(registers_[op.value.index], static_cast<size_t>(t * plan.access.values + v)),
                      static_cast<size_t>(vector), bytes);
      write_vector(to, vector, bytes, false);
    }
  }
}

void BlockMachine::execute_op(const Instance& instance, const ir::RedOp& op, int begin, int end) {
  const auto index = static_cast<uint32_t>(&instance - walk_.instances.data());
  const OpPlan& plan = plan_.ops[instance.op->id];
  const size_t object = plan.sides[0].object;
  const ElementType type = function_.tensors[object].element;
  for (int t = begin; t < end; ++t) {
    if (plan.access.is_active_thread[static_cast<size_t>(t)] == 0) {
      continue;
    }
    for (int64_t v = 0; v < plan.access.values; ++v) {
      const int64_t first = v - v % plan.access.vector;
      const Place to = place(index, 0, t, v);
      if (plan.access.is_active_vector[static_cast<size_t>(first / plan.access.vector)] == 0 ||
          is_guarded_out(place(index, 0, t, first))) {
        continue;
      }
      const int64_t address = to.element * to.side->element_bytes;
      if (to.element < 0 || to.element >= bound_.tensors[object].allocation_elements || !is_inside(to, v)) {
        report(ViolationKind::OutOfBoundsWrite, to, address, to.side->element_bytes, v);
        continue;
      }
      std::byte bytes[kMaxVectorBytes];
      memory_.bytes[object]->read(address, to.side->element_bytes, bytes);
      with_elements(registers_[op.value.index], [&](auto* values) {
        std::decay_t<decltype(*values)> old{};
        decode_elements(type, bytes, 1, &old);
        const auto sum = combine(op.kind, type, old, values[t * plan.access.values + v]);
        encode_elements(type, &sum, 1, bytes);
      });
      memory_.bytes[object]->write(address, to.side->element_bytes, bytes);
      ++memory_.contributions[object].at(static_cast<uint64_t>(to.element));
    }
  }
}

void BlockMachine::execute_op(const Instance& instance, const ir::MmaOp& op, int begin, int end) {
  const MmaTable& table = plan_.ops[instance.op->id].mma;
  const auto a_id = std::get<ir::ValueId>(op.a);
  const auto b_id = std::get<ir::ValueId>(op.b);
  scratch_a_.resize(table.rows * table.depth);
  scratch_b_.resize(table.depth * table.columns);
  scratch_c_.resize(table.rows * table.columns);
  const int group = table.is_per_thread ? 1 : end - begin;
  for (int first = begin; first < end; first += group) {
    const auto last = static_cast<size_t>(first + group);
    auto scatter = [&](const float* registers, const std::vector<int32_t>& places, int64_t values,
                       std::vector<float>& out) {
      const auto count = static_cast<size_t>(values);
      for (size_t r = static_cast<size_t>(first) * count; r < last * count; ++r) {
        out[static_cast<size_t>(places[r])] = registers[r];
      }
    };
    scatter(registers<float>(a_id, 0), table.a, table.a_values, scratch_a_);
    scatter(registers<float>(b_id, 0), table.b, table.b_values, scratch_b_);
    if (op.c.is_valid()) {
      scatter(registers<float>(op.c, 0), table.c, table.c_values, scratch_c_);
    } else {
      std::ranges::fill(scratch_c_, 0.0F);
    }
    if (uses_tensor_core_model && !table.is_per_thread) {
      tensor_core_accumulate(scratch_a_.data(), scratch_b_.data(), scratch_c_.data(), table.rows, table.columns,
                             table.depth, table.instruction_depth);
    } else {
      multiply_accumulate(scratch_a_.data(), scratch_b_.data(), scratch_c_.data(), table.rows, table.columns,
                          table.depth, table.exact_products);
    }
    auto* result = registers<float>(op.result, 0);
    const auto count = static_cast<size_t>(table.c_values);
    for (size_t r = static_cast<size_t>(first) * count; r < last * count; ++r) {
      result[r] = scratch_c_[static_cast<size_t>(table.c[r])];
    }
  }
}

void BlockMachine::execute_op(const Instance&, const ir::ElementwiseOp& op, int begin, int end) {
  const int64_t values = plan_.values[op.result.index];
  ElementOperand operands[3];
  for (size_t i = 0; i < op.operands.size(); ++i) {
    operands[i] = {data_of(registers_[op.operands[i].index], static_cast<size_t>(begin * values)),
                   type_of(op.operands[i])};
  }
  // The reading has already refused integer overflow.
  apply_elementwise(op.kind, type_of(op.result), std::span(operands, op.operands.size()),
                    static_cast<size_t>((end - begin) * values),
                    data_of(registers_[op.result.index], static_cast<size_t>(begin * values)));
}

void BlockMachine::gather(ir::ValueId from, ir::ValueId to, const GatherTable& table, int begin, int end) {
  const int64_t values = plan_.values[to.index];
  std::visit(
      [&](auto& out) {
        const auto& in = std::get<std::decay_t<decltype(out)>>(registers_[from.index]);
        for (int64_t r = begin * values; r < end * values; ++r) {
          out[static_cast<size_t>(r)] = in[static_cast<size_t>(table.source[static_cast<size_t>(r)])];
        }
      },
      registers_[to.index]);
}

void BlockMachine::execute_op(const Instance& instance, const ir::BroadcastOp& op, int begin, int end) {
  gather(op.operand, op.result, plan_.ops[instance.op->id].gather, begin, end);
}
void BlockMachine::execute_op(const Instance& instance, const ir::RelayoutOp& op, int begin, int end) {
  gather(op.operand, op.result, plan_.ops[instance.op->id].gather, begin, end);
}

// First each lane combines its own registers, then the partial results of neighbouring lanes are paired, as a butterfly
// of shuffles does.
void BlockMachine::execute_op(const Instance& instance, const ir::ReduceOp& op, int begin, int end) {
  const ReduceTable& table = plan_.ops[instance.op->id].reduce;
  const int64_t values = plan_.values[op.result.index];
  const int64_t operand_values = plan_.values[op.operand.index];
  const ElementType type = type_of(op.result);
  std::visit(
      [&](auto& out) {
        using Element = typename std::decay_t<decltype(out)>::value_type;
        const auto& in = std::get<std::decay_t<decltype(out)>>(registers_[op.operand.index]);
        std::vector<Element> partial;
        for (int64_t r = begin * values; r < end * values; ++r) {
          partial.clear();
          int64_t lane = -1;
          for (uint32_t i = table.begin[static_cast<size_t>(r)]; i < table.begin[static_cast<size_t>(r) + 1]; ++i) {
            const uint32_t source = table.source[i];
            if (static_cast<int64_t>(source) / operand_values != lane) {
              lane = static_cast<int64_t>(source) / operand_values;
              partial.push_back(in[source]);
            } else {
              partial.back() = combine(op.kind, type, partial.back(), in[source]);
            }
          }
          while (partial.size() > 1) {
            const size_t pairs = partial.size() / 2;
            for (size_t p = 0; p < pairs; ++p) {
              partial[p] = combine(op.kind, type, partial[2 * p], partial[2 * p + 1]);
            }
            if (partial.size() % 2 != 0) {
              partial[pairs] = partial.back();
            }
            partial.resize(partial.size() - pairs);
          }
          out[static_cast<size_t>(r)] =
              partial.empty() ? static_cast<Element>(neutral_value(op.kind, type)) : partial[0];
        }
      },
      registers_[op.result.index]);
}

void BlockMachine::execute_op(const Instance&, const ir::ConstantOp& op, int begin, int end) {
  Tile one = make_tile(type_of(op.result), {1});
  set_all(one, op.value);
  const int64_t values = plan_.values[op.result.index];
  with_elements(registers_[op.result.index], [&](auto* out) {
    std::fill(out + begin * values, out + end * values,
              std::get<std::vector<std::decay_t<decltype(*out)>>>(one.data)[0]);
  });
}

void BlockMachine::execute_op(const Instance&, const ir::IotaOp& op, int begin, int end) {
  const target::TvLayout& layout = *function_.value(op.result).layout;
  const int64_t values = plan_.values[op.result.index];
  auto* out = registers<int64_t>(op.result, 0);
  for (int64_t t = begin; t < end; ++t) {
    for (int64_t v = 0; v < values; ++v) {
      out[t * values + v] = layout.coord(t % layout.thread_count(), v)[static_cast<size_t>(op.axis)];
    }
  }
}

void BlockMachine::execute_op(const Instance& instance, const ir::ExprOp& op, int begin, int end) {
  const int64_t values = plan_.values[op.result.index];
  auto* out = registers<int64_t>(op.result, 0);
  std::fill(out + begin * values, out + end * values, instance.scalar);
}

void BlockMachine::execute_op(const Instance&, const ir::ScalarArgumentOp& op, int begin, int end) {
  Tile one = make_tile(type_of(op.result), {1});
  set_all(one, bound_.scalars[static_cast<size_t>(op.argument)]);
  const int64_t values = plan_.values[op.result.index];
  with_elements(registers_[op.result.index], [&](auto* out) {
    std::fill(out + begin * values, out + end * values,
              std::get<std::vector<std::decay_t<decltype(*out)>>>(one.data)[0]);
  });
}

}  // namespace tw::emulator

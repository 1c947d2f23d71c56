// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace tw::targets::cuda {

// Where register tiles live: each value gets an array, values that continue one another (what a loop carries,
// accumulators) share one when their lifetimes do not overlap; constants, iotas, scalars and broadcasts are written
// inline.
class Registers {
 public:
  explicit Registers(const ir::Function& function);

  // Values of one array have one number.
  [[nodiscard]] uint32_t storage(ir::ValueId id) const { return find(id.index); }
  [[nodiscard]] bool same_storage(ir::ValueId a, ir::ValueId b) const { return storage(a) == storage(b); }
  // The op that makes a value which is written inline; nullptr for values with an array.
  [[nodiscard]] const ir::Op* inline_definition(ir::ValueId id) const;
  [[nodiscard]] bool is_used(ir::ValueId id) const { return used_[id.index]; }

 private:
  struct Interval {
    int begin = -1;
    int end = -1;
  };
  void number(const ir::Block& block, int& next);
  void touch(ir::ValueId id, int position);
  void merge_block(const ir::Block& block);
  void try_merge(ir::ValueId a, ir::ValueId b);
  [[nodiscard]] uint32_t find(uint32_t index) const;

  const ir::Function& function_;
  std::vector<Interval> intervals_;
  struct Loop {
    int begin;
    int end;
  };
  std::vector<Loop> loops_;
  std::vector<uint32_t> parent_;
  std::vector<std::vector<uint32_t>> members_;
  std::vector<bool> used_;
  std::unordered_map<uint32_t, const ir::Op*> inline_;
};

// 16-bit elements lie two in a 32-bit register when their number is even.
bool is_packed(const ir::Value& value);
// Number of array entries.
int64_t register_count(const ir::Value& value);
// "float", "unsigned" for packed pairs, ...
std::string register_type(const ir::Value& value);
// In memory and in the launch ABI.
std::string memory_type(ElementType element);

}  // namespace tw::targets::cuda

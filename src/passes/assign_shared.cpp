// SPDX-License-Identifier: Apache-2.0
#include "passes/assign_shared.h"

#include <algorithm>

#include "base/check.h"
#include "passes/memory.h"

namespace tw::passes {
namespace {

using ir::SharedObject;

constexpr int64_t kAlignment = 128;
// One period of the widest swizzle.
constexpr int64_t kSwizzledAlignment = 1024;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t alignment_of(const SharedObject& object) {
  return object.layout->swizzle.is_identity() ? kAlignment : kSwizzledAlignment;
}

Status set_layout(const ir::Function&, PassContext& context, SharedObject& object) {
  ir::SharedLayout layout;
  layout.elements = planned_elements(object);
  const int64_t size = size_bytes(object.element);
  if (object.swizzle_bytes > 0) {
    const int64_t row = object.shape.empty() ? size : (object.shape.back() + object.pad) * size;
    if (!object.explicit_layout && row % object.swizzle_bytes != 0) {
      return fail(
          context.sink.report(diag::codes::SwizzleDoesNotFit{}, object.span, object.swizzle_bytes, object.name, row)
              .emit());
    }
    const int64_t bits = object.swizzle_bytes == 128 ? 3 : (object.swizzle_bytes == 64 ? 2 : 1);
    auto swizzle = layout::Swizzle::make(bits, 4, 3);
    TW_CHECK(swizzle.has_value());
    layout.swizzle = *swizzle;
  }
  layout.slot_bytes =
      round_up(layout.elements.cosize() * size, layout.swizzle.is_identity() ? kAlignment : kSwizzledAlignment);
  object.layout = layout;
  return {};
}

}  // namespace

int64_t storage_bytes(const SharedObject& object) {
  return object.layout->slot_bytes * std::max(object.ring, 1);
}

Status assign_shared(ir::Function& function, PassContext& context) {
  std::vector<bool> placed(function.shared.size(), false);
  for (SharedObject& object : function.shared) {
    if (Status status = set_layout(function, context, object); !status) {
      return status;
    }
  }
  int64_t next = 0;
  auto place = [&](uint32_t index) {
    SharedObject& object = function.shared[index];
    if (!placed[index]) {
      next = round_up(next, alignment_of(object));
      object.layout->offset_bytes = next;
      next += storage_bytes(object);
      placed[index] = true;
    }
  };
  // Objects that one alias lies over come first and together, in its order.
  for (const SharedObject& object : function.shared) {
    for (ir::SharedId under : object.aliases) {
      if (function.shared_object(under).aliases.empty()) {
        place(under.index);
      }
    }
  }
  for (uint32_t i = 0; i < function.shared.size(); ++i) {
    if (function.shared[i].aliases.empty()) {
      place(i);
    }
  }
  for (SharedObject& object : function.shared) {
    if (object.aliases.empty()) {
      continue;
    }
    int64_t begin = INT64_MAX;
    int64_t end = 0;
    int64_t owned = 0;
    for (ir::SharedId under : object.aliases) {
      const SharedObject& other = function.shared_object(under);
      begin = std::min(begin, other.layout->offset_bytes);
      end = std::max(end, other.layout->offset_bytes + storage_bytes(other));
      owned += storage_bytes(other);
    }
    object.layout->offset_bytes = round_up(begin, alignment_of(object));
    const int64_t own_end = object.layout->offset_bytes + storage_bytes(object);
    // Past the end only where nothing else lies.
    const bool is_last = end == next;
    if (own_end > end && !is_last) {
      return fail(
          context.sink.report(diag::codes::AliasTooLarge{}, object.span, object.name, storage_bytes(object), owned)
              .emit());
    }
    next = std::max(next, own_end);
  }
  function.shared_bytes = next;
  const target::Machine& machine = *function.machine;
  if (next > machine.max_shared_bytes_per_block) {
    auto report = context.sink.report(diag::codes::SharedMemoryOverLimit{}, function.span, next, machine.name,
                                      machine.max_shared_bytes_per_block);
    for (const SharedObject& object : function.shared) {
      report.label(object.span, object.name + ": " + std::to_string(storage_bytes(object)) + " bytes");
    }
    return fail(report.emit());
  }
  return {};
}

}  // namespace tw::passes

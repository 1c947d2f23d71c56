// SPDX-License-Identifier: Apache-2.0
// How the machine half says what went wrong: who wrote the bytes, and which order was missing.
#include <algorithm>
#include <fmt/format.h>

#include "emulator/block_machine.h"

namespace tw::emulator {

Event BlockMachine::event_of(uint32_t instance, int thread) const {
  return {walk_.point(instance), walk_.instances[instance].op->span, thread};
}

uint32_t BlockMachine::written_region(uint32_t instance) const {
  const Instance& i = walk_.instances[instance];
  return std::holds_alternative<ir::CopyOp>(i.op->body) ? i.regions[1] : i.regions[0];
}

CellName BlockMachine::cell_of(uint32_t region_id, int64_t object_element) const {
  const DynamicRegion& region = walk_.regions[region_id];
  CellName cell;
  cell.version = region.version;
  if (region.region->is_global()) {
    const uint32_t tensor = region.region->tensor().index;
    cell.object = function_.tensors[tensor].name;
    cell.element = bound_.tensors[tensor].coordinates(object_element).value_or(std::vector<int64_t>{});
    return cell;
  }
  const ir::SharedObject& object = function_.shared_object(region.region->shared());
  cell.object = object.name;
  cell.element.assign(object.shape.size(), 0);
  for (size_t axis = object.shape.size(); axis-- > 0;) {
    cell.element[axis] = object_element % object.shape[axis];
    object_element /= object.shape[axis];
  }
  return cell;
}

int BlockMachine::writer_thread(uint32_t instance, int64_t object_element) const {
  const OpPlan& plan = plan_.ops[walk_.instances[instance].op->id];
  const int which = std::holds_alternative<ir::CopyOp>(walk_.instances[instance].op->body) ? 1 : 0;
  const SideTable& side = plan.sides[which];
  const int64_t base = placed_[written_region(instance)].frame.base;
  for (int t = 0; t < plan_.threads; ++t) {
    if (plan.access.is_active_thread.empty() || plan.access.is_active_thread[static_cast<size_t>(t)] == 0) {
      continue;
    }
    for (int64_t offset : side.by_value) {
      if (base + side.by_thread[static_cast<size_t>(t)] + offset == object_element) {
        return t;
      }
    }
  }
  return -1;
}

Violation* BlockMachine::report(ViolationKind kind, const Place& place, int64_t address, int64_t size, int64_t value) {
  if (is_stopped()) {
    return nullptr;
  }
  const uint32_t op_id = walk_.instances[place.instance].op->id;
  for (const Violation& known : violations_) {
    if (known.kind == kind && known.access.point.op_id == op_id) {
      return nullptr;
    }
  }
  Violation violation;
  violation.kind = kind;
  violation.block = walk_.block;
  violation.access = event_of(place.instance, place.thread);
  violation.warp = place.thread / plan_.warp_threads;
  violation.lane = place.thread % plan_.warp_threads;
  violation.address_bytes = address;
  violation.size_bytes = size;
  violation.cell = name_cell(function_, walk_.regions[place.region_id], tile_element(place, value));
  violations_.push_back(std::move(violation));
  return &violations_.back();
}

void BlockMachine::report_mismatch(uint32_t instance, int thread, const std::string& why) {
  is_broken_ = true;
  if (violations_.size() >= max_violations_) {
    return;
  }
  Violation violation;
  violation.kind = ViolationKind::LayoutMismatch;
  violation.block = walk_.block;
  violation.access = event_of(instance, thread);
  violation.missing = why;
  violations_.push_back(std::move(violation));
}

void BlockMachine::report_stamp(const Place& place, int64_t address, uint64_t stamp, uint32_t expected, int64_t value) {
  const bool is_pending = stamp >> 63 != 0;
  const auto got = static_cast<uint32_t>((stamp >> 32) & 0x7fffffffU);
  const int64_t named = place.placed->frame.base + place.side->by_thread[static_cast<size_t>(place.thread)] +
                        place.side->by_value[static_cast<size_t>(value)];
  const bool is_async = expected != kIncoming && [&] {
    const auto* copy = std::get_if<ir::CopyOp>(&walk_.instances[expected - 1].op->body);
    return copy != nullptr && copy->atom.kind == target::CopyKind::CpAsync;
  }();
  const int writer = expected != kIncoming ? writer_thread(expected - 1, named) : -1;
  const bool is_issued = writer >= 0 && position[static_cast<size_t>(writer)] > expected - 1;
  ViolationKind kind = ViolationKind::WrongCell;
  std::string missing;
  if (got == expected && is_pending) {
    kind = ViolationKind::PendingRead;
    missing =
        fmt::format("thread {} has issued the copy, but no drain of it by that thread has completed it yet", writer);
  } else if (got > expected) {
    kind = ViolationKind::OverwrittenRead;
    missing = got - 1 < place.instance
                  ? "in program order, too, a later write puts other data into the same bytes before this read"
                  : "nothing makes the later write wait until this read is done";
  } else if (got < expected && !is_issued) {
    kind = ViolationKind::StaleRead;
    missing = fmt::format("thread {} has not reached the write yet, and nothing makes this read wait for it", writer);
  } else if (got < expected && is_async) {
    kind = ViolationKind::StaleRead;
    missing = fmt::format("thread {} has issued the copy and it has not landed yet: its completion is not waited for",
                          writer);
  } else if (got == 0) {
    kind = ViolationKind::UnwrittenRead;
    missing = "the write has been executed and put its data elsewhere: the two sides disagree about addresses";
  } else {
    missing = "the write and the read disagree about where the element lies";
  }
  const int64_t size = int64_t{place.access->vector} * place.side->element_bytes;
  Violation* violation = report(kind, place, address, size, value);
  if (violation == nullptr) {
    return;
  }
  violation->missing = std::move(missing);
  if (expected != kIncoming) {
    violation->expected = event_of(expected - 1, writer);
  }
  if (got == 0) {
    return;
  }
  const uint32_t region = written_region(got - 1);
  if (walk_.regions[region].region->is_global()) {
    violation->got_cell = cell_of(region, named);
    violation->got = event_of(got - 1, writer_thread(got - 1, named));
    return;
  }
  const int pieces = plan_.shared[walk_.regions[region].region->shared().index].element_bytes / plan_.granule;
  const auto element = static_cast<int64_t>((stamp & UINT32_MAX) / static_cast<uint64_t>(pieces));
  violation->got_cell = cell_of(region, element);
  violation->got = event_of(got - 1, writer_thread(got - 1, element));
}

}  // namespace tw::emulator

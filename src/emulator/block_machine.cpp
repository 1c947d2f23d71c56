// SPDX-License-Identifier: Apache-2.0
#include "emulator/block_machine.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/check.h"

namespace tw::emulator {
namespace {

constexpr uint64_t kPendingBit = uint64_t{1} << 63;
constexpr int kMaxVectorBytes = 16;
// What unwritten shared memory holds: not a number in every floating-point type.
constexpr std::byte kPoison{0xff};

uint64_t make_stamp(uint32_t instance, uint64_t piece) {
  return (uint64_t{instance} + 1) << 32 | piece;
}

}  // namespace

MachineMemory make_machine_memory(const BoundProblem& bound, const Problem& problem, const MachineMemory* inputs) {
  MachineMemory memory;
  for (size_t i = 0; i < bound.tensors.size(); ++i) {
    const bool is_shared = inputs != nullptr && bound.function->tensors[i].direction == ir::Direction::In;
    memory.bytes.push_back(is_shared ? inputs->bytes[i]
                                     : std::make_shared<TensorMemory>(*bound.function, i, bound.tensors[i], problem));
  }
  memory.stamps.resize(bound.tensors.size());
  memory.contributions.resize(bound.tensors.size());
  return memory;
}

BlockMachine::BlockMachine(const BoundProblem& bound, const LaunchPlan& plan, const BlockReading& reading,
                           MachineMemory& memory, size_t max_violations, std::vector<Violation>& violations)
    : position(static_cast<size_t>(plan.threads), 0),
      function_(*bound.function),
      bound_(bound),
      plan_(plan),
      reading_(reading),
      walk_(reading.walk),
      memory_(memory),
      max_violations_(max_violations),
      violations_(violations),
      shared_(static_cast<size_t>(plan.shared_bytes), kPoison),
      stamps_(static_cast<size_t>(plan.shared_bytes / plan.granule + 1), 0),
      copies_(static_cast<size_t>(plan.threads)) {
  for (size_t v = 0; v < function_.values.size(); ++v) {
    registers_.push_back(make_buffer(function_.values[v].element, static_cast<size_t>(plan.values[v] * plan.threads)));
  }
  for (const DynamicRegion& region : walk_.regions) {
    PlacedRegion placed;
    placed.frame = tile_frame(function_, bound_, region);
    placed.is_all_inside = placed.frame.is_all_inside();
    if (!region.region->is_global()) {
      const SharedPlan& shared = plan_.shared[region.region->shared().index];
      const int64_t slot = shared.ring > 0 ? region.version % shared.ring : 0;
      placed.slot_base = shared.offset_bytes + slot * shared.slot_bytes;
    }
    placed_.push_back(placed);
  }
}

StepKind BlockMachine::step_of(uint32_t instance) const {
  const Instance& i = walk_.instances[instance];
  return i.is_move() ? StepKind::Thread : plan_.ops[i.op->id].step;
}

void BlockMachine::execute(uint32_t index, int begin, int end) {
  const Instance& instance = walk_.instances[index];
  if (instance.is_move()) {
    move_registers(instance, begin, end);
    return;
  }
  const OpPlan& plan = plan_.ops[instance.op->id];
  if (!plan.mismatch.empty()) {
    report_mismatch(index, begin, plan.mismatch);
    return;
  }
  std::visit([&](const auto& op) { execute_op(instance, op, begin, end); }, instance.op->body);
}

// ---- Places and addresses

BlockMachine::Place BlockMachine::place(uint32_t instance, int which, int thread, int64_t value) const {
  const Instance& i = walk_.instances[instance];
  const OpPlan& plan = plan_.ops[i.op->id];
  Place place;
  place.region_id = i.regions[which];
  place.placed = &placed_[place.region_id];
  place.side = &plan.sides[which];
  place.access = &plan.access;
  place.instance = instance;
  place.thread = thread;
  place.value = value;
  place.element = place.placed->frame.base + place.side->by_thread[static_cast<size_t>(thread)] +
                  place.side->by_value[static_cast<size_t>(value)];
  return place;
}

size_t BlockMachine::tile_element(const Place& place, int64_t value) const {
  return static_cast<size_t>(place.access->tile_by_thread[static_cast<size_t>(place.thread)] +
                             place.access->tile_by_value[static_cast<size_t>(value)]);
}

bool BlockMachine::is_guarded_out(const Place& place) const {
  const TileFrame& frame = place.placed->frame;
  if (place.placed->is_all_inside) {
    return false;
  }
  if (place.access->guards_points && frame.is_outside) {
    return true;
  }
  const target::TileCoord& a = place.access->coord_by_thread[static_cast<size_t>(place.thread)];
  const target::TileCoord& b = place.access->coord_by_value[static_cast<size_t>(place.value)];
  for (int axis : place.access->guarded_tile_axes) {
    const int64_t at = frame.lo[axis] + a[axis] + b[axis];
    if (at < 0 || at >= frame.limit[axis]) {
      return true;
    }
  }
  return false;
}

bool BlockMachine::is_inside(const Place& place, int64_t value) const {
  const TileFrame& frame = place.placed->frame;
  if (frame.is_outside) {
    return false;
  }
  const target::TileCoord& a = place.access->coord_by_thread[static_cast<size_t>(place.thread)];
  const target::TileCoord& b = place.access->coord_by_value[static_cast<size_t>(value)];
  for (int d = 0; d < frame.rank; ++d) {
    const int64_t at = frame.lo[d] + a[d] + b[d];
    if (at < 0 || at >= frame.limit[d]) {
      return false;
    }
  }
  return true;
}

int64_t BlockMachine::shared_address(const Place& place) const {
  const SharedPlan& shared = plan_.shared[place.side->object];
  return place.placed->slot_base + shared.address[static_cast<size_t>(place.element)];
}

// ---- Memory accesses of one thread

bool BlockMachine::read_vector(const Place& place, int count, std::byte* out) {
  return place.side->is_global ? read_global(place, count, out) : read_shared(place, shared_address(place), count, out);
}

bool BlockMachine::read_shared(const Place& place, int64_t address, int count, std::byte* out) {
  const int64_t size = int64_t{count} * place.side->element_bytes;
  if (address < 0 || address + size > plan_.shared_bytes) {
    report(ViolationKind::OutOfBoundsRead, place, address, size, place.value);
    return false;
  }
  if (address % size != 0) {
    report(ViolationKind::Misaligned, place, address, size, place.value);
    return false;
  }
  std::memcpy(out, shared_.data() + address, static_cast<size_t>(size));
  check_stamps(place, address, count);
  return true;
}

void BlockMachine::check_stamps(const Place& place, int64_t address, int count) {
  const int pieces = place.side->element_bytes / plan_.granule;
  const ReadTrace& trace = reading_.traces[place.region_id];
  const uint64_t* stamp = stamps_.data() + address / plan_.granule;
  for (int j = 0; j < count; ++j) {
    const int64_t value = place.value + j;
    const int64_t element = place.placed->frame.base + place.side->by_thread[static_cast<size_t>(place.thread)] +
                            place.side->by_value[static_cast<size_t>(value)];
    const uint32_t writer = trace.uniform != kMixed ? trace.uniform : trace.per_element[tile_element(place, value)];
    const uint64_t expected = uint64_t{writer} << 32 | static_cast<uint64_t>(element * pieces);
    for (int p = 0; p < pieces; ++p, ++stamp) {
      if (*stamp != expected + static_cast<uint64_t>(p)) {
        report_stamp(place, address + (int64_t{j} * pieces + p) * plan_.granule, *stamp, writer, value);
        return;
      }
    }
  }
}

bool BlockMachine::read_global(const Place& place, int count, std::byte* out) {
  const BoundTensor& tensor = bound_.tensors[place.side->object];
  const int64_t size = int64_t{count} * place.side->element_bytes;
  const int64_t address = place.element * place.side->element_bytes;
  if (place.element < 0 || place.element + count > tensor.allocation_elements) {
    report(ViolationKind::OutOfBoundsRead, place, address, size, place.value);
    return false;
  }
  if (address % size != 0) {
    report(ViolationKind::Misaligned, place, address, size, place.value);
    return false;
  }
  memory_.bytes[place.side->object]->read(address, size, out);
  const bool is_written = function_.tensors[place.side->object].direction != ir::Direction::In;
  for (int j = 0; j < count && (count > 1 || is_written); ++j) {
    const int64_t value = place.value + j;
    const int64_t named = place.placed->frame.base + place.side->by_thread[static_cast<size_t>(place.thread)] +
                          place.side->by_value[static_cast<size_t>(value)];
    if (named != place.element + j) {
      if (Violation* v = report(ViolationKind::WrongCell, place, address, size, value)) {
        v->got_cell = cell_of(place.region_id, place.element + j);
        v->missing = "the elements of one vector access are not neighbours in memory";
      }
      return true;
    }
    if (!is_written) {
      continue;
    }
    const uint32_t writer = reading_.traces[place.region_id].writer(tile_element(place, value));
    if (writer == kOutside) {
      continue;
    }
    const uint64_t* found = memory_.stamps[place.side->object].find(static_cast<uint64_t>(named));
    const uint64_t stamp = found != nullptr ? *found : 0;
    const uint64_t expected = writer == kIncoming ? 0 : static_cast<uint64_t>(walk_.block + 1) << 32 | writer;
    if (stamp != expected) {
      // Another block's write cannot be named in this block's terms.
      const bool is_mine = stamp >> 32 == static_cast<uint64_t>(walk_.block + 1);
      report_stamp(place, named * place.side->element_bytes, is_mine ? (stamp & UINT32_MAX) << 32 : 0, writer, value);
      return true;
    }
  }
  return true;
}

void BlockMachine::write_vector(const Place& place, int count, const std::byte* in, bool is_pending) {
  if (place.side->is_global) {
    write_global(place, count, in);
  } else {
    write_shared(place, count, in, is_pending);
  }
}

void BlockMachine::write_shared(const Place& place, int count, const std::byte* in, bool is_pending) {
  const SharedPlan& shared = plan_.shared[place.side->object];
  const int64_t element_bytes = place.side->element_bytes;
  const int64_t size = count * element_bytes;
  const int64_t address = shared_address(place);
  if (address < 0 || address + size > plan_.shared_bytes) {
    report(ViolationKind::OutOfBoundsWrite, place, address, size, place.value);
    return;
  }
  if (address % size != 0) {
    report(ViolationKind::Misaligned, place, address, size, place.value);
    return;
  }
  std::memcpy(shared_.data() + address, in, static_cast<size_t>(size));
  const int pieces = static_cast<int>(element_bytes) / plan_.granule;
  uint64_t* stamp = stamps_.data() + address / plan_.granule;
  const uint64_t base = make_stamp(place.instance, 0) | (is_pending ? kPendingBit : 0);
  for (int j = 0; j < count; ++j) {
    const int64_t named = place.placed->frame.base + place.side->by_thread[static_cast<size_t>(place.thread)] +
                          place.side->by_value[static_cast<size_t>(place.value + j)];
    if (j > 0 && place.placed->slot_base + shared.address[static_cast<size_t>(named)] != address + j * element_bytes) {
      if (Violation* v = report(ViolationKind::WrongCell, place, address, size, place.value + j)) {
        v->missing = "the elements of one vector access are not neighbours in memory";
      }
    }
    for (int p = 0; p < pieces; ++p) {
      *stamp++ = base | static_cast<uint64_t>(named * pieces + p);
    }
  }
}

void BlockMachine::write_global(const Place& place, int count, const std::byte* in) {
  const size_t object = place.side->object;
  const BoundTensor& tensor = bound_.tensors[object];
  const int64_t size = int64_t{count} * place.side->element_bytes;
  const int64_t address = place.element * place.side->element_bytes;
  if (function_.tensors[object].direction == ir::Direction::In) {
    report(ViolationKind::InputWritten, place, address, size, place.value);
    return;
  }
  if (place.element < 0 || place.element + count > tensor.allocation_elements) {
    report(ViolationKind::OutOfBoundsWrite, place, address, size, place.value);
    return;
  }
  if (address % size != 0) {
    report(ViolationKind::Misaligned, place, address, size, place.value);
    return;
  }
  for (int j = 0; j < count; ++j) {
    const int64_t value = place.value + j;
    const int64_t named = place.placed->frame.base + place.side->by_thread[static_cast<size_t>(place.thread)] +
                          place.side->by_value[static_cast<size_t>(value)];
    if (!place.placed->is_all_inside && !is_inside(place, value)) {
      if (Violation* v = report(ViolationKind::OutOfBoundsWrite, place, address, size, value)) {
        v->got_cell = cell_of(place.region_id, place.element + j);
      }
    } else if (named != place.element + j) {
      if (Violation* v = report(ViolationKind::WrongCell, place, address, size, value)) {
        v->got_cell = cell_of(place.region_id, place.element + j);
        v->missing = "the elements of one vector access are not neighbours in memory";
      }
    }
    memory_.stamps[object].at(static_cast<uint64_t>(place.element + j)) =
        static_cast<uint64_t>(walk_.block + 1) << 32 | (uint64_t{place.instance} + 1);
  }
  memory_.bytes[object]->write(address, size, in);
}

// ---- Copies

void BlockMachine::transfer(uint32_t index, int thread, bool is_pending) {
  const auto& op = std::get<ir::CopyOp>(walk_.instances[index].op->body);
  const OpPlan& plan = plan_.ops[walk_.instances[index].op->id];
  const int vector = plan.access.vector;
  std::byte bytes[kMaxVectorBytes];
  for (int64_t v = 0; v < plan.access.values; v += vector) {
    if (plan.access.is_active_vector[static_cast<size_t>(v / vector)] == 0) {
      continue;
    }
    const Place from = place(index, 0, thread, v);
    const Place to = place(index, 1, thread, v);
    if (to.side->is_global && is_guarded_out(to)) {
      continue;
    }
    if (from.side->is_global && is_guarded_out(from)) {
      const ElementType type = function_.tensors[from.side->object].element;
      Tile fill = make_tile(type, {vector});
      set_all(fill, op.fill);
      encode_elements(type, data_of(fill.data), static_cast<size_t>(vector), bytes);
    } else {
      std::fill_n(bytes, kMaxVectorBytes, kPoison);
      read_vector(from, vector, bytes);
    }
    write_vector(to, vector, bytes, is_pending);
  }
}

void BlockMachine::execute_op(const Instance& instance, const ir::CopyOp& op, int begin, int end) {
  const auto index = static_cast<uint32_t>(&instance - walk_.instances.data());
  const OpPlan& plan = plan_.ops[instance.op->id];
  for (int t = begin; t < end; ++t) {
    if (plan.access.is_active_thread[static_cast<size_t>(t)] == 0) {
      continue;
    }
    if (op.atom.kind != target::CopyKind::CpAsync) {
      transfer(index, t, false);
      continue;
    }
    auto& open = copies_[static_cast<size_t>(t)].open;
    open.push_back({index, t, false});
    if (lands_at_issue && lands_at_issue(index, t)) {
      land(open.back());
    }
  }
}

void BlockMachine::land(Pending& pending) {
  if (!pending.has_landed) {
    pending.has_landed = true;
    transfer(pending.instance, pending.thread, true);
  }
}

// The drain: the data is there for good, so its stamps say so where nothing else has overwritten it.
void BlockMachine::complete(Pending& pending) {
  land(pending);
  const OpPlan& plan = plan_.ops[walk_.instances[pending.instance].op->id];
  const int64_t pieces = plan.access.vector * plan.sides[1].element_bytes / plan_.granule;
  const uint64_t mine = make_stamp(pending.instance, 0) | kPendingBit;
  for (int64_t v = 0; v < plan.access.values; v += plan.access.vector) {
    const int64_t address = shared_address(place(pending.instance, 1, pending.thread, v));
    if (address < 0 || address + pieces * plan_.granule > plan_.shared_bytes) {
      continue;
    }
    uint64_t* stamp = stamps_.data() + address / plan_.granule;
    for (int64_t p = 0; p < pieces; ++p) {
      if ((stamp[p] & ~uint64_t{UINT32_MAX}) == mine) {
        stamp[p] &= ~kPendingBit;
      }
    }
  }
}

void BlockMachine::execute_op(const Instance&, const ir::CommitOp&, int begin, int end) {
  for (int t = begin; t < end; ++t) {
    ThreadCopies& mine = copies_[static_cast<size_t>(t)];
    mine.groups.push_back(std::move(mine.open));
    mine.open.clear();
  }
}

void BlockMachine::execute_op(const Instance&, const ir::DrainOp& op, int begin, int end) {
  for (int t = begin; t < end; ++t) {
    auto& groups = copies_[static_cast<size_t>(t)].groups;
    while (groups.size() > static_cast<size_t>(op.pending)) {
      for (Pending& pending : groups.front()) {
        complete(pending);
      }
      groups.pop_front();
    }
  }
}

bool BlockMachine::land_any(uint64_t random) {
  const auto threads = static_cast<uint64_t>(plan_.threads);
  for (uint64_t i = 0; i < threads; ++i) {
    ThreadCopies& copies = copies_[(random + i) % threads];
    std::vector<Pending*> waiting;
    for (auto& group : copies.groups) {
      for (Pending& pending : group) {
        if (!pending.has_landed) {
          waiting.push_back(&pending);
        }
      }
    }
    for (Pending& pending : copies.open) {
      if (!pending.has_landed) {
        waiting.push_back(&pending);
      }
    }
    if (!waiting.empty()) {
      land(*waiting[(random >> 32) % waiting.size()]);
      return true;
    }
  }
  return false;
}

void BlockMachine::land_copy(uint32_t instance, int thread) {
  ThreadCopies& copies = copies_[static_cast<size_t>(thread)];
  for (Pending& pending : copies.open) {
    if (pending.instance == instance) {
      land(pending);
    }
  }
  for (auto& group : copies.groups) {
    for (Pending& pending : group) {
      if (pending.instance == instance) {
        land(pending);
      }
    }
  }
}

void BlockMachine::finish() {
  for (ThreadCopies& copies : copies_) {
    copies.groups.push_back(std::move(copies.open));
    for (auto& group : copies.groups) {
      for (Pending& pending : group) {
        if (pending.has_landed || is_stopped()) {
          continue;
        }
        const OpPlan& plan = plan_.ops[walk_.instances[pending.instance].op->id];
        for (int64_t v = 0; v < plan.access.values; ++v) {
          const Place to = place(pending.instance, 1, pending.thread, v);
          const int64_t address = shared_address(to);
          const uint64_t stamp = stamps_[static_cast<size_t>(address / plan_.granule)] & ~kPendingBit;
          if (stamp >> 32 > uint64_t{pending.instance} + 1) {
            if (Violation* found = report(ViolationKind::PendingAtExit, to, address, to.side->element_bytes, v)) {
              const auto later = static_cast<uint32_t>((stamp >> 32) - 1);
              found->got = event_of(later, -1);
              found->missing = "no drain covers the copy, so it may land after the write that replaced it";
            }
            break;
          }
        }
        pending.has_landed = true;
      }
    }
  }
}

}  // namespace tw::emulator

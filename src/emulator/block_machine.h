// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/machine.h"
#include "emulator/plan.h"
#include "emulator/reading.h"
#include "emulator/region.h"

namespace tw::emulator {

// Global memory of a launch on the machine.
struct MachineMemory {
  std::vector<std::shared_ptr<TensorMemory>> bytes;
  // Writer of each element that the launch wrote: (block + 1) << 32 | (instance + 1).
  std::vector<Paged<uint64_t>> stamps;
  // `red` contributions received.
  std::vector<Paged<uint32_t>> contributions;
};
// `inputs`: take the In tensors, which no run changes, from another launch of the same problem.
MachineMemory make_machine_memory(const BoundProblem& bound, const Problem& problem,
                                  const MachineMemory* inputs = nullptr);

// One block: its registers, shared memory, stamps and pending copies. Executes dynamic ops for ranges of threads; which
// threads, when, is the scheduler's business.
class BlockMachine {
 public:
  BlockMachine(const BoundProblem& bound, const LaunchPlan& plan, const BlockReading& reading, MachineMemory& memory,
               size_t max_violations, std::vector<Violation>& violations);

  // Executes a Thread op for threads [begin, end), or a Warp op for the threads of one warp.
  void execute(uint32_t instance, int begin, int end);

  [[nodiscard]] StepKind step_of(uint32_t instance) const;
  // Nothing more to learn: enough findings, or an op that the machine cannot execute.
  [[nodiscard]] bool is_stopped() const { return is_broken_ || violations_.size() >= max_violations_; }

  // The next instance of each thread: kept by the scheduler, read for messages.
  std::vector<uint32_t> position;
  bool uses_tensor_core_model = false;
  // Does a copy land right at its issue? Otherwise at its drain, unless the scheduler lands it in between.
  std::function<bool(uint32_t instance, int thread)> lands_at_issue;

  // Lands one copy that is still on its way, chosen by `random`; false: there is none.
  bool land_any(uint64_t random);
  void land_copy(uint32_t instance, int thread);
  // The end of the block: what is still pending lands.
  void finish();

 private:
  struct Pending {
    uint32_t instance = 0;
    int thread = 0;
    bool has_landed = false;
  };
  struct ThreadCopies {
    std::vector<Pending> open;
    std::deque<std::vector<Pending>> groups;
  };
  // A region of the block's run, placed.
  struct PlacedRegion {
    TileFrame frame;
    int64_t slot_base = 0;
    bool is_all_inside = true;
  };
  // Where a vector of elements lies and which cells the statement names.
  struct Place {
    const PlacedRegion* placed = nullptr;
    const SideTable* side = nullptr;
    const AccessTable* access = nullptr;
    uint32_t region_id = 0;
    uint32_t instance = 0;
    int thread = 0;
    int64_t value = 0;
    int64_t element = 0;
  };

  void execute_op(const Instance& instance, const ir::CopyOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::LoadOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::StoreOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::RedOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::MmaOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::ElementwiseOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::BroadcastOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::RelayoutOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::ReduceOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::ConstantOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::IotaOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::ExprOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::ScalarArgumentOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::CommitOp& op, int begin, int end);
  void execute_op(const Instance& instance, const ir::DrainOp& op, int begin, int end);
  template <class Control>
  void execute_op(const Instance&, const Control&, int, int) {}

  void ldmatrix(const Instance& instance, const ir::LoadOp& op, int begin, int end);
  void move_registers(const Instance& instance, int begin, int end);
  void gather(ir::ValueId from, ir::ValueId to, const GatherTable& table, int begin, int end);

  [[nodiscard]] Place place(uint32_t instance, int which, int thread, int64_t value) const;
  [[nodiscard]] bool is_guarded_out(const Place& place) const;
  // False: nothing was read (a fault, reported).
  bool read_vector(const Place& place, int count, std::byte* out);
  bool read_shared(const Place& place, int64_t address, int count, std::byte* out);
  bool read_global(const Place& place, int count, std::byte* out);
  void write_vector(const Place& place, int count, const std::byte* in, bool is_pending);
  void write_shared(const Place& place, int count, const std::byte* in, bool is_pending);
  void write_global(const Place& place, int count, const std::byte* in);
  // Moves the data of one thread's copy.
  void transfer(uint32_t instance, int thread, bool is_pending);
  void land(Pending& pending);
  void complete(Pending& pending);
  [[nodiscard]] int64_t shared_address(const Place& place) const;
  [[nodiscard]] bool is_inside(const Place& place, int64_t value) const;

  void check_stamps(const Place& place, int64_t address, int count);
  void report_stamp(const Place& place, int64_t address, uint64_t stamp, uint32_t expected, int64_t value);
  // nullptr: the same finding is already there, or there are enough.
  Violation* report(ViolationKind kind, const Place& place, int64_t address, int64_t size, int64_t value);
  void report_mismatch(uint32_t instance, int thread, const std::string& why);
  [[nodiscard]] Event event_of(uint32_t instance, int thread) const;
  [[nodiscard]] uint32_t written_region(uint32_t instance) const;
  // The thread that writes an object element in this instance, or -1.
  [[nodiscard]] int writer_thread(uint32_t instance, int64_t object_element) const;
  [[nodiscard]] CellName cell_of(uint32_t region, int64_t object_element) const;
  [[nodiscard]] size_t tile_element(const Place& place, int64_t value) const;

  template <class T>
  T* registers(ir::ValueId id, int thread) {
    return static_cast<T*>(data_of(registers_[id.index], static_cast<size_t>(thread * plan_.values[id.index])));
  }
  [[nodiscard]] ElementType type_of(ir::ValueId id) const { return function_.value(id).element; }

  const ir::Function& function_;
  const BoundProblem& bound_;
  const LaunchPlan& plan_;
  const BlockReading& reading_;
  const Walk& walk_;
  MachineMemory& memory_;
  const size_t max_violations_;
  std::vector<Violation>& violations_;
  std::vector<PlacedRegion> placed_;
  std::vector<Buffer> registers_;
  std::vector<std::byte> shared_;
  // One a granule: (instance + 1) << 32 | piece of the element; kPendingBit while an asynchronous copy is incomplete.
  std::vector<uint64_t> stamps_;
  std::vector<ThreadCopies> copies_;
  bool is_broken_ = false;
  std::vector<float> scratch_a_, scratch_b_, scratch_c_;
};

// Runs one block to its end under a schedule.
struct BlockOutcome {
  int64_t steps = 0;
  bool hold_expired = false;
};
BlockOutcome run_schedule(BlockMachine& machine, const Walk& walk, const Schedule& schedule, int threads,
                          int warp_threads, std::vector<Violation>& violations);

}  // namespace tw::emulator

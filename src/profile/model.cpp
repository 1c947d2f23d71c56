// SPDX-License-Identifier: Apache-2.0
#include "profile/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

#include "ir/address.h"

namespace tw::profile {
namespace {

constexpr int kWarpThreads = 32;
constexpr double kSharedBytesPerCycle = 128;
constexpr double kIssuePerCycle = 4;
// Cycles until data from global memory arrives, and from shared memory through a barrier: order of magnitude of the
// published microbenchmarks for Ampere and Hopper (Luo et al. 2024, memory latencies).
constexpr double kGlobalLatency = 600;
constexpr double kBarrierLatency = 40;
// Fraction of the peak bandwidth that a plain copy reaches.
constexpr double kDramEfficiency = 0.9;
constexpr double kL2Efficiency = 0.8;
constexpr double kLaunchUs = 2.0;
// Requests narrower than a sector waste the rest of it.
constexpr double kSectorBytes = 32;

class Counter {
 public:
  Counter(const ir::Function& function, const std::map<std::string, int64_t>& sizes) : f_(function), sizes_(sizes) {}

  Result<Counts> run() {
    TW_TRY_STATUS(block(f_.body, 1.0));
    for (const ir::Tensor& tensor : f_.tensors) {
      double elements = 1;
      for (ir::ExprId extent : tensor.extents) {
        TW_TRY(const double n, value(extent));
        elements *= n;
      }
      counts_.unique_bytes += elements * size_bytes(tensor.element);
    }
    counts_.blocks = std::max(1.0, blocks_);
    counts_.registers = live_registers();
    return counts_;
  }

 private:
  // A loop variable counts as the middle of its range: enough for trip counts that depend on it.
  Result<double> value(ir::ExprId expr) const {
    auto result = f_.exprs.evaluate(expr, [&](ir::SymbolId id) -> std::optional<int64_t> {
      if (auto bound = bound_.find(id); bound != bound_.end()) {
        return bound->second;
      }
      auto found = sizes_.find(f_.exprs.symbol(id).name);
      return found == sizes_.end() ? std::nullopt : std::optional(found->second);
    });
    if (!result) {
      return fail(fmt::format("`{}` has no value at these sizes", f_.exprs.to_string(expr)));
    }
    return static_cast<double>(*result);
  }

  Status block(const ir::Block& ops, double times) {
    for (const ir::Op& op : ops) {
      TW_TRY_STATUS(std::visit([&](const auto& body) { return count(body, times); }, op.body));
    }
    return {};
  }

  [[nodiscard]] double warps() const { return static_cast<double>(f_.threads) / kWarpThreads; }

  Status count(const ir::ForOp& loop, double times) {
    TW_TRY(const double begin, value(loop.begin));
    TW_TRY(const double end, value(loop.end));
    const double trips = std::max(0.0, std::ceil((end - begin) / static_cast<double>(loop.step)));
    bound_[loop.variable] = static_cast<int64_t>((begin + end) / 2);
    counts_.instructions += 4 * warps() * times * trips;
    return block(loop.body, times * trips);
  }

  Status count(const ir::TilesOp& tiles, double times) {
    double points = 1;
    for (size_t i = 0; i < tiles.extents.size(); ++i) {
      TW_TRY(const double extent, value(tiles.extents[i]));
      points *= extent;
      bound_[tiles.variables[i]] = static_cast<int64_t>(extent / 2);
    }
    blocks_ = std::max(blocks_, points);
    return block(tiles.body, times);
  }

  // A condition that cannot be evaluated is taken as true: the common case of guards.
  Status count(const ir::IfOp& branch, double times) {
    auto truth = value(branch.condition);
    return block(truth && *truth == 0 ? branch.else_body : branch.then_body, times);
  }

  // Bytes requested, and instructions, of one access of a tile by its threads.
  void global_access(const ir::Region& region, const target::TvLayout& map, const ir::Access& access, double times,
                     bool is_load) {
    const int64_t element_bytes = size_bytes(f_.tensor(region.tensor()).element);
    const double accesses = static_cast<double>(map.value_count()) / access.vector_elems;
    const double width = static_cast<double>(access.vector_elems * element_bytes);
    // Neighbouring threads that read neighbouring elements share sectors; scattered ones do not.
    const double useful = std::min(kSectorBytes, width * contiguous_threads(region, map, access));
    const double waste = kSectorBytes / std::max(width, useful);
    counts_.global_bytes += times * f_.threads * accesses * width * std::max(1.0, waste);
    counts_.instructions += times * warps() * accesses * (1.5 + guards_of(access));
    static_cast<void>(is_load);
  }

  static double guards_of(const ir::Access& access) {
    return static_cast<double>(std::ranges::count(access.guards, true));
  }

  // Threads next to each other whose accesses continue one another along the contiguous axis.
  double contiguous_threads(const ir::Region& region, const target::TvLayout& map, const ir::Access& access) const {
    const ir::Tensor& tensor = f_.tensor(region.tensor());
    double run = 1;
    int64_t expected = access.vector_elems;
    for (const target::TvMode& mode : map.threads) {
      if (mode.extent == 1) {
        continue;
      }
      const bool is_contiguous =
          mode.axis >= 0 && f_.exprs.is_constant(tensor.strides[region.object_axis(mode.axis)], 1);
      if (!is_contiguous || mode.stride != expected) {
        break;
      }
      run *= mode.extent;
      expected *= mode.extent;
    }
    return run;
  }

  // Cycles of the first warp's access, over all values, times the warps.
  void shared_access(const ir::Region& region, const target::TvLayout& map, int vector_elems, double times) {
    const ir::SharedObject& object = f_.shared_object(region.shared());
    const ir::SlotAddress address(object);
    const int64_t element_bytes = size_bytes(object.element);
    const int64_t width = element_bytes * vector_elems;
    double cycles = 0;
    double accesses = 0;
    for (int64_t v = 0; v < map.value_count(); v += vector_elems) {
      // Wide accesses go in phases of 128 bytes.
      const int64_t threads_a_phase = std::min<int64_t>(kWarpThreads, std::max<int64_t>(1, 128 / width));
      for (int64_t first = 0; first < std::min<int64_t>(kWarpThreads, map.thread_count()); first += threads_a_phase) {
        std::array<std::set<int64_t>, 32> words;
        for (int64_t t = first; t < std::min(first + threads_a_phase, map.thread_count()); ++t) {
          const int64_t byte = address(object_coord(region, map.coord(t, v)));
          for (int64_t b = 0; b < width; b += 4) {
            words[static_cast<size_t>((byte + b) / 4 % 32)].insert((byte + b) / 4);
          }
        }
        size_t ways = 1;
        for (const auto& bank : words) {
          ways = std::max(ways, bank.size());
        }
        cycles += static_cast<double>(ways);
      }
      accesses += 1;
    }
    counts_.shared_cycles += times * warps() * cycles;
    counts_.instructions += times * warps() * accesses;
  }

  [[nodiscard]] target::TileCoord object_coord(const ir::Region& region, const target::TileCoord& tile) const {
    target::TileCoord coord{};
    for (size_t axis = 0; axis < region.axes.size(); ++axis) {
      const int64_t start = f_.exprs.constant_value(region.axes[axis].lo).value_or(0);
      coord[axis] = static_cast<int32_t>(start);
    }
    for (size_t i = 0; i < region.perm.size(); ++i) {
      coord[region.object_axis(static_cast<int>(i))] += tile[i];
    }
    return coord;
  }

  Status count(const ir::CopyOp& copy, double times) {
    for (const ir::Region* region : {&copy.source, &copy.destination}) {
      if (region->is_global()) {
        global_access(*region, *copy.map, copy.access, times, region == &copy.source);
      } else {
        shared_access(*region, *copy.map, copy.access.vector_elems, times);
      }
    }
    const bool is_async = copy.atom.kind == target::CopyKind::CpAsync;
    if (copy.source.is_global() && !is_async) {
      wait_for_load(times);
    }
    return {};
  }

  Status count(const ir::LoadOp& load, double times) {
    const target::TvLayout& map = *f_.value(load.result).layout;
    if (load.source.is_global()) {
      global_access(load.source, map, load.access, times, true);
      wait_for_load(times);
    } else if (load.atom.kind == target::CopyKind::Ldmatrix) {
      ldmatrix(load, map, times);
    } else {
      shared_access(load.source, map, load.access.vector_elems, times);
    }
    return {};
  }

  // Eight rows of 16 bytes a matrix: one cycle without conflicts.
  void ldmatrix(const ir::LoadOp& load, const target::TvLayout& map, double times) {
    const ir::SharedObject& object = f_.shared_object(load.source.shared());
    const ir::SlotAddress address(object);
    double cycles = 0;
    for (int64_t v = 0; v < map.value_count(); v += 2) {
      std::array<std::set<int64_t>, 8> chunks;
      for (int lane = 0; lane < kWarpThreads; ++lane) {
        for (int e = 0; e < 2; ++e) {
          const target::LdmatrixElement element = target::ldmatrix_element(lane, e, load.transposed);
          if (element.column == 0) {
            const int64_t byte = address(object_coord(load.source, map.coord(lane, v + e)));
            chunks[static_cast<size_t>(byte / 16 % 8)].insert(byte / 16);
          }
        }
      }
      size_t ways = 1;
      for (const auto& chunk : chunks) {
        ways = std::max(ways, chunk.size());
      }
      cycles += static_cast<double>(ways);
    }
    counts_.shared_cycles += times * warps() * cycles;
    counts_.instructions += times * warps() * static_cast<double>(map.value_count()) / std::max(1, 2 * load.matrices);
  }

  // Loads between two barriers overlap: the first of them waits for all.
  void wait_for_load(double times) {
    if (!has_waited_) {
      counts_.exposed_latencies += times;
      has_waited_ = true;
    }
  }

  Status count(const ir::StoreOp& store, double times) {
    const target::TvLayout& map = *f_.value(store.value).layout;
    if (store.destination.is_global()) {
      global_access(store.destination, map, store.access, times, false);
    } else {
      shared_access(store.destination, map, store.access.vector_elems, times);
    }
    return {};
  }
  Status count(const ir::RedOp& red, double times) {
    global_access(red.destination, *f_.value(red.value).layout, red.access, times, false);
    return {};
  }

  Status count(const ir::MmaOp& mma, double times) {
    const auto* a = std::get_if<ir::ValueId>(&mma.a);
    if (a == nullptr) {
      return fail("an mma reads memory");
    }
    const std::vector<int64_t>& result = f_.value(mma.result).shape;
    const double work = static_cast<double>(result[0] * result[1] * f_.value(*a).shape[1]);
    const bool is_simt = mma.atom == "fma";
    (is_simt ? counts_.simt_fma : counts_.mma_fma) += times * work;
    if (is_simt) {
      counts_.instructions += times * work / kWarpThreads;
    } else {
      const target::MmaAtom* atom =
          f_.machine->find_mma(mma.atom, f_.value(*a).element, f_.value(*a).element, f_.value(mma.result).element);
      tensor_rate_ = atom != nullptr ? atom->fma_per_sm_cycle : tensor_rate_;
      counts_.instructions += times * work / (atom != nullptr ? atom->m * atom->n * atom->k : 2048);
    }
    return {};
  }

  void element_work(ir::ValueId result, double per_element, double times) {
    const ir::Value& value = f_.value(result);
    if (value.layout) {
      counts_.instructions += times * warps() * static_cast<double>(value.layout->value_count()) * per_element;
    }
  }

  Status count(const ir::ElementwiseOp& e, double times) {
    double cost = 1;
    switch (e.kind) {
      case ir::ElementwiseKind::Div:
      case ir::ElementwiseKind::Sqrt:
      case ir::ElementwiseKind::Rsqrt:
        cost = 8;
        break;
      case ir::ElementwiseKind::Exp:
      case ir::ElementwiseKind::Exp2:
      case ir::ElementwiseKind::Log:
        cost = e.fast ? 3 : 8;
        break;
      case ir::ElementwiseKind::Tanh:
      case ir::ElementwiseKind::Erf:
      case ir::ElementwiseKind::Sigmoid:
        cost = e.fast ? 4 : 20;
        break;
      default:
        break;
    }
    element_work(e.result, cost, times);
    return {};
  }
  Status count(const ir::ReduceOp& r, double times) {
    element_work(r.operand, 1, times);
    // Shuffles across the lanes, five steps for each result register.
    element_work(r.result, 10, times);
    return {};
  }
  Status count(const ir::SyncOp&, double times) {
    counts_.barriers += times;
    counts_.instructions += times * warps();
    has_waited_ = false;
    return {};
  }
  // A wait for all groups right after their issue exposes the latency; waits that leave groups in flight hide it.
  Status count(const ir::DrainOp& drain, double times) {
    if (drain.pending == 0 && times > 0) {
      counts_.exposed_latencies += times;
    }
    return {};
  }
  Status count(const ir::BroadcastOp&, double) { return {}; }
  Status count(const ir::ConstantOp&, double) { return {}; }
  Status count(const ir::IotaOp&, double) { return {}; }
  Status count(const ir::ExprOp&, double) { return {}; }
  Status count(const ir::ScalarArgumentOp&, double) { return {}; }
  Status count(const ir::RelayoutOp&, double) { return {}; }
  Status count(const ir::CommitOp&, double) { return {}; }
  Status count(const ir::CheckOp&, double) { return {}; }

  // Values that loops carry live through everything inside; the largest other tile lives beside them.
  [[nodiscard]] double live_registers() const {
    auto registers = [&](ir::ValueId id) {
      const ir::Value& v = f_.value(id);
      return v.layout ? static_cast<double>(v.layout->value_count() * size_bytes(v.element)) / 4 : 0.0;
    };
    double carried = 0;
    double largest = 0;
    ir::for_each_op(f_.body, [&](const ir::Op& op) {
      if (const auto* loop = std::get_if<ir::ForOp>(&op.body)) {
        double sum = 0;
        for (const ir::CarriedValue& c : loop->values) {
          sum += registers(c.argument);
        }
        carried = std::max(carried, sum);
      }
      if (const auto* mma = std::get_if<ir::MmaOp>(&op.body)) {
        double sum = 0;
        for (const ir::MmaOperand* operand : {&mma->a, &mma->b}) {
          if (const auto* id = std::get_if<ir::ValueId>(operand)) {
            sum += registers(*id);
          }
        }
        largest = std::max(largest, sum);
      }
      for (ir::ValueId id : ir::uses_of(op).values_defined) {
        largest = std::max(largest, registers(id));
      }
    });
    return carried + largest + 32;
  }

 public:
  [[nodiscard]] double tensor_rate() const { return tensor_rate_; }

 private:
  const ir::Function& f_;
  const std::map<std::string, int64_t>& sizes_;
  std::unordered_map<ir::SymbolId, int64_t> bound_;
  Counts counts_;
  double blocks_ = 0;
  double tensor_rate_ = 1024;
  bool has_waited_ = false;
};

int resident_blocks(const ir::Function& f, const Counts& counts) {
  const target::Machine& m = *f.machine;
  int64_t blocks = std::min<int64_t>(m.max_blocks_per_sm, m.max_threads_per_sm / std::max(1, f.threads));
  if (f.shared_bytes > 0) {
    // The system takes 1 KiB of shared memory a block.
    blocks = std::min<int64_t>(blocks, m.shared_bytes_per_sm / (f.shared_bytes + 1024));
  }
  const double registers = std::min<double>(m.max_registers_per_thread, std::ceil(counts.registers / 8) * 8);
  blocks = std::min<int64_t>(blocks,
                             static_cast<int64_t>(static_cast<double>(m.registers_per_sm) / (registers * f.threads)));
  return static_cast<int>(std::max<int64_t>(1, blocks));
}

}  // namespace

std::string_view name_of(Bound bound) {
  constexpr std::string_view kNames[] = {"dram", "l2", "shared", "tensor", "fma", "issue", "latency"};
  return kNames[static_cast<int>(bound)];
}

Result<Estimate> estimate(const ir::Function& lowered, const std::map<std::string, int64_t>& sizes) {
  Counter counter(lowered, sizes);
  TW_TRY(const Counts counts, counter.run());
  const target::Machine& m = *lowered.machine;
  Estimate out;
  out.counts = counts;
  out.resident_blocks = resident_blocks(lowered, counts);
  const double slots = static_cast<double>(m.sm_count) * out.resident_blocks;
  out.waves = std::ceil(counts.blocks / slots);
  const double per_sm = std::min<double>(out.resident_blocks, std::max(1.0, counts.blocks / m.sm_count));
  const double cycle_us = 1e-3 / m.clock_ghz;
  // Throughput of one SM with its resident blocks, in cycles a wave; latencies run once a block, side by side.
  const std::pair<Bound, double> limits[] = {
      {Bound::Shared, per_sm * counts.shared_cycles},
      {Bound::Tensor, per_sm * counts.mma_fma / counter.tensor_rate()},
      {Bound::Fma, per_sm * counts.simt_fma / 128},
      {Bound::Issue, per_sm * counts.instructions / kIssuePerCycle},
      {Bound::Latency, counts.exposed_latencies * kGlobalLatency + counts.barriers * kBarrierLatency},
  };
  double wave_cycles = 0;
  double all_cycles = 0;
  for (const auto& [bound, cycles] : limits) {
    all_cycles += cycles;
    if (cycles > wave_cycles) {
      wave_cycles = cycles;
      out.bound = bound;
    }
  }
  // What overlaps does not overlap perfectly: a fifth of the rest shows.
  wave_cycles += 0.2 * (all_cycles - wave_cycles);
  double us = out.waves * wave_cycles * cycle_us;
  const double dram_us = counts.unique_bytes / (m.dram_gb_per_s * kDramEfficiency) * 1e-3;
  const double l2_us = counts.blocks * counts.global_bytes / (m.l2_gb_per_s * kL2Efficiency) * 1e-3;
  if (dram_us > us) {
    us = dram_us;
    out.bound = Bound::Dram;
  }
  if (l2_us > us) {
    us = l2_us;
    out.bound = Bound::L2;
  }
  out.us = us + kLaunchUs;
  return out;
}

}  // namespace tw::profile

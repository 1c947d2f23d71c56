// SPDX-License-Identifier: Apache-2.0
#include "emulator/reading.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "emulator/region.h"

namespace tw::emulator {
namespace {

using Done = Result<void, ReadingError>;
using Loaded = Result<TilePtr, ReadingError>;

// One version of a shared object: cells in row-major order of the object's shape.
struct SharedCells {
  Buffer data;
  std::vector<uint32_t> writer;
  std::vector<Status> status;
  std::vector<float> slack;
};

class BlockRun {
 public:
  BlockRun(const BoundProblem& bound, const ReadingOptions& options, bool with_trace, ReadingMemory& memory,
           BlockReading& out)
      : function_(*bound.function),
        bound_(bound),
        options_(options),
        with_trace_(with_trace),
        memory_(memory),
        out_(out),
        walk_(out.walk) {
    values_.resize(function_.values.size());
    if (with_trace_) {
      out_.traces.resize(walk_.regions.size());
    }
  }

  Done run() {
    for (instance_ = 0; instance_ < walk_.instances.size(); ++instance_) {
      const Instance& instance = walk_.instances[instance_];
      op_ = instance.op;
      if (instance.is_move()) {
        move(instance);
        continue;
      }
      auto done = std::visit([&](const auto& body) { return execute(instance, body); }, op_->body);
      if (!done) {
        ReadingError error = std::move(done).error();
        error.block = walk_.block;
        error.point = walk_.point(instance_);
        if (!error.span.is_valid()) {
          error.span = op_->span;
        }
        return fail(std::move(error));
      }
      if (options_.watch && options_.watch->op_id == op_->id && values_[options_.watch->value.index] != nullptr) {
        options_.watch->seen(values_[options_.watch->value.index]);
      }
    }
    return {};
  }

 private:
  static ReadingError make_error(ReadingErrorKind kind, std::string message) {
    ReadingError error;
    error.kind = kind;
    error.message = std::move(message);
    return error;
  }

  void move(const Instance& instance) {
    std::vector<TilePtr> moved;
    for (uint32_t m = instance.moves_begin; m < instance.moves_end; ++m) {
      moved.push_back(values_[walk_.moves[m].from.index]);
    }
    for (uint32_t m = instance.moves_begin; m < instance.moves_end; ++m) {
      values_[walk_.moves[m].to.index] = moved[m - instance.moves_begin];
    }
  }

  Tile result_tile(ir::ValueId id) const { return make_tile(function_.value(id).element, function_.value(id).shape); }
  void define(ir::ValueId id, Tile tile) { values_[id.index] = std::make_shared<const Tile>(std::move(tile)); }

  CellName cell_name(const DynamicRegion& region, size_t tile_element) const {
    return name_cell(function_, region, tile_element);
  }

  ReadingError cell_error(ReadingErrorKind kind, const DynamicRegion& region, size_t element,
                          std::string_view what) const {
    const CellName cell = cell_name(region, element);
    ReadingError error = make_error(kind, fmt::format("{} {}", to_string(cell), what));
    error.cell = cell;
    error.span = region.region->span;
    return error;
  }

  Done check_shared_bounds(const DynamicRegion& region) const {
    const ir::SharedObject& object = function_.shared_object(region.region->shared());
    for (size_t axis = 0; axis < region.region->axes.size(); ++axis) {
      const int64_t extent = std::max<int64_t>(region.region->axes[axis].extent, 1);
      if (region.lo[axis] < 0 || region.lo[axis] + extent > object.shape[axis]) {
        ReadingError error =
            make_error(ReadingErrorKind::OutOfBounds,
                       fmt::format("axis {} of `{}` is indexed from {} to {}, its extent is {}", axis, object.name,
                                   region.lo[axis], region.lo[axis] + extent - 1, object.shape[axis]));
        error.span = region.region->span;
        return fail(std::move(error));
      }
    }
    if (object.ring > 0 && region.version < 0) {
      ReadingError error = make_error(ReadingErrorKind::OutOfBounds,
                                      fmt::format("version {} of `{}` does not exist", region.version, object.name));
      error.span = region.region->span;
      return fail(std::move(error));
    }
    return {};
  }

  Result<SharedCells*, ReadingError> cells_of(const DynamicRegion& region) {
    const uint32_t index = region.region->shared().index;
    const ir::SharedObject& object = function_.shared_object(region.region->shared());
    auto [found, inserted] = shared_.try_emplace({index, region.version});
    if (inserted) {
      const size_t count = element_count(object.shape);
      shared_bytes_ += count * (static_cast<size_t>(size_bytes(object.element)) + sizeof(uint32_t));
      if (shared_bytes_ > options_.shared_cell_bytes) {
        return fail(make_error(
            ReadingErrorKind::Limit,
            fmt::format("the versions of shared cells take more than {} bytes", options_.shared_cell_bytes)));
      }
      found->second.data = make_buffer(object.element, count);
      found->second.writer.assign(count, 0);
    }
    return &found->second;
  }

  void set_trace(uint32_t region_id, size_t count, const std::vector<uint32_t>& writers) {
    if (!with_trace_) {
      return;
    }
    ReadTrace& trace = out_.traces[region_id];
    trace.uniform = count > 0 ? writers[0] : kIncoming;
    if (std::ranges::any_of(writers, [&](uint32_t w) { return w != trace.uniform; })) {
      trace.uniform = kMixed;
      trace.per_element = writers;
    }
  }

  Loaded load(uint32_t region_id, double fill) {
    const DynamicRegion& region = walk_.regions[region_id];
    return region.region->is_global() ? load_global(region_id, region, fill) : load_shared(region_id, region);
  }

  Loaded load_shared(uint32_t region_id, const DynamicRegion& region) {
    TW_TRY_STATUS(check_shared_bounds(region));
    TW_TRY(SharedCells * cells, cells_of(region));
    const ir::SharedObject& object = function_.shared_object(region.region->shared());
    Tile tile = make_tile(object.element, region.region->tile_shape());
    std::vector<uint32_t> writers(tile.count());
    size_t unwritten = SIZE_MAX;
    for_each_run(function_, bound_, region, [&](const Run& run) {
      for (int64_t j = 0; j < run.count; ++j) {
        const auto from = static_cast<size_t>(run.object_element + j * run.stride);
        const auto to = static_cast<size_t>(run.tile_element + j);
        writers[to] = cells->writer[from];
        if (writers[to] == 0 && unwritten == SIZE_MAX) {
          unwritten = to;
        }
        copy_element(cells->data, from, tile.data, to);
        if (!cells->status.empty() && cells->status[from] != Status::Real) {
          tile.status.resize(tile.count());
          tile.status[to] = cells->status[from];
        }
        if (!cells->slack.empty() && cells->slack[from] != 0) {
          tile.slack.resize(tile.count());
          tile.slack[to] = cells->slack[from];
        }
      }
    });
    if (unwritten != SIZE_MAX) {
      return fail(cell_error(ReadingErrorKind::UninitializedRead, region, unwritten,
                             "is read before anything was written to it"));
    }
    set_trace(region_id, tile.count(), writers);
    return std::make_shared<const Tile>(std::move(tile));
  }

  static void copy_element(const Buffer& from, size_t i, Buffer& to, size_t j) {
    std::visit([&](auto& out) { out[j] = std::get<std::decay_t<decltype(out)>>(from)[i]; }, to);
  }

  Loaded load_global(uint32_t region_id, const DynamicRegion& region, double fill) {
    const size_t index = region.region->tensor().index;
    const ir::Tensor& tensor = function_.tensors[index];
    Tile tile = make_tile(tensor.element, region.region->tile_shape());
    const auto size = static_cast<size_t>(size_bytes(tensor.element));
    set_all(tile, fill);
    std::vector<bool> inside;
    size_t inside_count = 0;
    const bool is_written = tensor.direction != ir::Direction::In;
    std::vector<uint32_t> writers;
    if (is_written) {
      writers.assign(tile.count(), kOutside);
    }
    std::optional<ReadingError> failed;
    std::vector<std::byte> bytes;
    std::vector<std::pair<int64_t, int64_t>> inside_runs;
    for_each_run(function_, bound_, region, [&](const Run& run) {
      inside_count += static_cast<size_t>(run.count);
      inside_runs.emplace_back(run.tile_element, run.count);
      if (run.stride == 1) {
        bytes.resize(static_cast<size_t>(run.count) * size);
        memory_.bytes(index).read(run.object_element * static_cast<int64_t>(size), static_cast<int64_t>(bytes.size()),
                                  bytes.data());
        decode_elements(tensor.element, bytes.data(), static_cast<size_t>(run.count),
                        data_of(tile.data, static_cast<size_t>(run.tile_element)));
      } else {
        std::byte element[8];
        for (int64_t j = 0; j < run.count; ++j) {
          memory_.bytes(index).read((run.object_element + j * run.stride) * static_cast<int64_t>(size),
                                    static_cast<int64_t>(size), element);
          decode_elements(tensor.element, element, 1, data_of(tile.data, static_cast<size_t>(run.tile_element + j)));
        }
      }
      for (int64_t j = 0; is_written && j < run.count && !failed; ++j) {
        const auto to = static_cast<size_t>(run.tile_element + j);
        failed = note_read(tensor, region, to,
                           memory_.shadow(index).at(static_cast<uint64_t>(run.object_element + j * run.stride)),
                           writers[to], tile);
      }
    });
    if (failed) {
      return fail(*std::move(failed));
    }
    if (inside_count < tile.count()) {
      std::vector<Status> status(tile.count(), Status::Pad);
      for (auto [first, count] : inside_runs) {
        for (int64_t j = 0; j < count; ++j) {
          const auto at = static_cast<size_t>(first + j);
          status[at] = tile.status_of(at);
        }
      }
      tile.status = std::move(status);
    }
    if (is_written) {
      set_trace(region_id, tile.count(), writers);
    }
    return std::make_shared<const Tile>(std::move(tile));
  }

  std::optional<ReadingError> note_read(const ir::Tensor& tensor, const DynamicRegion& region, size_t element,
                                        CellShadow& shadow, uint32_t& writer, Tile& tile) {
    const auto me = static_cast<uint32_t>(walk_.block + 1);
    const bool is_mine = shadow.writer_block == me;
    if (tensor.direction == ir::Direction::Acc) {
      return cell_error(ReadingErrorKind::Discipline, region, element,
                        "is an accumulator and is read in the same launch");
    }
    if (shadow.writer_block != 0 && !is_mine) {
      ReadingError error =
          cell_error(ReadingErrorKind::Discipline, region, element,
                     fmt::format("was written by block {} and is read by block {}, with nothing between them",
                                 shadow.writer_block - 1, walk_.block));
      error.other_span = shadow.writer_op->span;
      return error;
    }
    if (shadow.writer_block == 0 && tensor.direction != ir::Direction::InOut) {
      return cell_error(ReadingErrorKind::UninitializedRead, region, element,
                        "is read before anything was written to it");
    }
    if (shadow.reader_block == 0 || shadow.reader_block == me) {
      shadow.reader_block = me;
    } else {
      shadow.reader_block = UINT32_MAX;
    }
    writer = is_mine ? shadow.writer_instance : kIncoming;
    if (shadow.status != Status::Real) {
      tile.status.resize(tile.count());
      tile.status[element] = shadow.status;
    }
    if (shadow.slack != 0) {
      tile.slack.resize(tile.count());
      tile.slack[element] = shadow.slack;
    }
    return std::nullopt;
  }

  Done store(uint32_t region_id, const Tile& tile) {
    const DynamicRegion& region = walk_.regions[region_id];
    return region.region->is_global() ? store_global(region, tile) : store_shared(region, tile);
  }

  Done store_shared(const DynamicRegion& region, const Tile& tile) {
    TW_TRY_STATUS(check_shared_bounds(region));
    TW_TRY(SharedCells * cells, cells_of(region));
    for_each_run(function_, bound_, region, [&](const Run& run) {
      for (int64_t j = 0; j < run.count; ++j) {
        const auto to = static_cast<size_t>(run.object_element + j * run.stride);
        const auto from = static_cast<size_t>(run.tile_element + j);
        cells->writer[to] = instance_ + 1;
        copy_element(tile.data, from, cells->data, to);
        if (!tile.status.empty() || !cells->status.empty()) {
          cells->status.resize(cells->writer.size());
          cells->status[to] = tile.status_of(from);
        }
        if (!tile.slack.empty() || !cells->slack.empty()) {
          cells->slack.resize(cells->writer.size());
          cells->slack[to] = tile.slack_of(from);
        }
      }
    });
    return {};
  }

  std::optional<ReadingError> note_write(const ir::Tensor& tensor, const DynamicRegion& region, size_t index,
                                         size_t element, const Tile& tile, CellShadow& shadow) {
    const auto me = static_cast<uint32_t>(walk_.block + 1);
    if (tensor.direction == ir::Direction::In || tensor.direction == ir::Direction::Acc) {
      return cell_error(ReadingErrorKind::Discipline, region, element,
                        tensor.direction == ir::Direction::In ? "is an input and is written"
                                                              : "is an accumulator and is written without `red`");
    }
    if (tensor.direction == ir::Direction::Out && shadow.writer_block != 0) {
      ReadingError error = cell_error(ReadingErrorKind::DoubleWrite, region, element,
                                      shadow.writer_block == me ? std::string("is written twice")
                                                                : fmt::format("is written by block {} and by block {}",
                                                                              shadow.writer_block - 1, walk_.block));
      error.other_span = shadow.writer_op->span;
      if (shadow.writer_block == me) {
        error.other_point = walk_.point(shadow.writer_instance - 1);
      }
      return error;
    }
    const bool foreign_writer = shadow.writer_block != 0 && shadow.writer_block != me;
    const bool foreign_reader = shadow.reader_block != 0 && shadow.reader_block != me;
    if (foreign_writer || foreign_reader) {
      ReadingError error =
          cell_error(ReadingErrorKind::Discipline, region, element,
                     fmt::format("is written by block {} and {} by another block, with nothing between them",
                                 walk_.block, foreign_writer ? "written" : "read"));
      error.other_span = foreign_writer ? shadow.writer_op->span : diag::Span{};
      return error;
    }
    const Status status = tile.status_of(element);
    if (status != Status::Real && tensor.direction != ir::Direction::Work) {
      return pad_error(tensor, region, element, tile);
    }
    if (shadow.writer_block == 0) {
      ++memory_.written(index);
    }
    shadow.writer_block = me;
    shadow.writer_instance = instance_ + 1;
    shadow.writer_op = op_;
    shadow.status = status;
    shadow.slack = tile.slack_of(element);
    return std::nullopt;
  }

  ReadingError pad_error(const ir::Tensor& tensor, const DynamicRegion& region, size_t element,
                         const Tile& tile) const {
    const std::string value = element_text(tile.type, as_double(tile.data, element));
    return cell_error(
        ReadingErrorKind::PadReachesOutput, region, element,
        tile.status_of(element) == Status::Pad
            ? fmt::format("of `{}` gets pad({}): an element from outside a tensor reaches an output", tensor.name,
                          value)
            : fmt::format("of `{}` gets {}, which depends on an element from outside a tensor", tensor.name, value));
  }

  Done store_global(const DynamicRegion& region, const Tile& tile) {
    const size_t index = region.region->tensor().index;
    const ir::Tensor& tensor = function_.tensors[index];
    const auto size = static_cast<int64_t>(size_bytes(tensor.element));
    std::optional<ReadingError> failed;
    std::vector<std::byte> bytes;
    for_each_run(function_, bound_, region, [&](const Run& run) {
      if (failed) {
        return;
      }
      bytes.resize(static_cast<size_t>(run.count * size));
      encode_elements(tensor.element, data_of(tile.data, static_cast<size_t>(run.tile_element)),
                      static_cast<size_t>(run.count), bytes.data());
      for (int64_t j = 0; j < run.count && !failed; ++j) {
        const int64_t at = run.object_element + j * run.stride;
        failed = note_write(tensor, region, index, static_cast<size_t>(run.tile_element + j), tile,
                            memory_.shadow(index).at(static_cast<uint64_t>(at)));
        if (!failed && run.stride != 1) {
          memory_.bytes(index).write(at * size, size, bytes.data() + j * size);
        }
      }
      if (!failed && run.stride == 1) {
        memory_.bytes(index).write(run.object_element * size, run.count * size, bytes.data());
      }
    });
    if (failed) {
      return fail(*std::move(failed));
    }
    return {};
  }

  Done accumulate(const DynamicRegion& region, ir::ReduceKind kind, const Tile& tile) {
    const size_t index = region.region->tensor().index;
    const ir::Tensor& tensor = function_.tensors[index];
    if (tensor.direction != ir::Direction::Acc || tensor.acc_op != kind) {
      return fail(make_error(ReadingErrorKind::Discipline,
                             fmt::format("`red` into `{}`, which is no accumulator of this operation", tensor.name)));
    }
    const auto size = static_cast<int64_t>(size_bytes(tensor.element));
    const double neutral = neutral_value(kind, tensor.element);
    std::optional<ReadingError> failed;
    for_each_run(function_, bound_, region, [&](const Run& run) {
      for (int64_t j = 0; j < run.count && !failed; ++j) {
        const int64_t at = run.object_element + j * run.stride;
        const auto element = static_cast<size_t>(run.tile_element + j);
        CellShadow& shadow = memory_.shadow(index).at(static_cast<uint64_t>(at));
        const double value = as_double(tile.data, element);
        const bool is_neutral_pad = tile.status_of(element) == Status::Pad && value == neutral;
        if (tile.status_of(element) != Status::Real && !is_neutral_pad) {
          failed = pad_error(tensor, region, element, tile);
          return;
        }
        if (shadow.contributions == 0) {
          ++memory_.written(index);
        }
        ++shadow.contributions;
        shadow.writer_op = op_;
        shadow.writer_block = static_cast<uint32_t>(walk_.block + 1);
        shadow.writer_instance = instance_ + 1;
        std::byte bytes[8];
        memory_.bytes(index).read(at * size, size, bytes);
        std::visit(
            [&](const auto& values) {
              using T = typename std::decay_t<decltype(values)>::value_type;
              T old{};
              decode_elements(tensor.element, bytes, 1, &old);
              if (shadow.contributions == 1) {
                shadow.magnitude = static_cast<float>(std::abs(static_cast<double>(old)));
              }
              const T sum = combine(kind, tensor.element, old, values[element]);
              encode_elements(tensor.element, &sum, 1, bytes);
            },
            tile.data);
        memory_.bytes(index).write(at * size, size, bytes);
        shadow.slack += tile.slack_of(element);
        shadow.magnitude += static_cast<float>(std::abs(value));
      }
    });
    if (failed) {
      return fail(*std::move(failed));
    }
    return {};
  }

  Done arithmetic_fault(const std::optional<TileFault>& fault, ir::ValueId result) const {
    if (!fault) {
      return {};
    }
    const ir::Value& value = function_.value(result);
    return fail(make_error(
        fault->fault == ArithmeticFault::Overflow ? ReadingErrorKind::Overflow : ReadingErrorKind::DivisionByZero,
        fault->fault == ArithmeticFault::Overflow
            ? fmt::format("element {} of `{}` does not fit in {}", fault->index, value.name, tw::name_of(value.element))
            : fmt::format("element {} of `{}` is divided by zero", fault->index, value.name)));
  }

  Done execute(const Instance& i, const ir::CopyOp& copy) {
    TW_TRY(TilePtr tile, load(i.regions[0], copy.fill));
    return store(i.regions[1], *tile);
  }
  Done execute(const Instance& i, const ir::LoadOp& op) {
    TW_TRY(values_[op.result.index], load(i.regions[0], op.fill));
    return {};
  }
  Done execute(const Instance& i, const ir::StoreOp& op) { return store(i.regions[0], *values_[op.value.index]); }
  Done execute(const Instance& i, const ir::RedOp& op) {
    return accumulate(walk_.regions[i.regions[0]], op.kind, *values_[op.value.index]);
  }
  Done execute(const Instance& i, const ir::MmaOp& mma) {
    TilePtr operands[2];
    const ir::MmaOperand* sources[2] = {&mma.a, &mma.b};
    for (int o = 0; o < 2; ++o) {
      if (const auto* id = std::get_if<ir::ValueId>(sources[o])) {
        operands[o] = values_[id->index];
      } else {
        TW_TRY(operands[o], load(i.regions[o], 0.0));
      }
    }
    Tile result = result_tile(mma.result);
    contract(*operands[0], *operands[1], mma.c.is_valid() ? values_[mma.c.index].get() : nullptr,
             options_.mma_in_any_order, result);
    define(mma.result, std::move(result));
    return {};
  }
  Done execute(const Instance&, const ir::ElementwiseOp& op) {
    std::vector<TilePtr> operands;
    for (ir::ValueId id : op.operands) {
      operands.push_back(values_[id.index]);
    }
    Tile result = result_tile(op.result);
    auto fault = elementwise(op.kind, operands, result);
    define(op.result, std::move(result));
    return arithmetic_fault(fault, op.result);
  }
  Done execute(const Instance&, const ir::BroadcastOp& op) {
    Tile result = result_tile(op.result);
    broadcast(*values_[op.operand.index], op.axis_map, result);
    define(op.result, std::move(result));
    return {};
  }
  Done execute(const Instance&, const ir::ConstantOp& op) {
    Tile result = result_tile(op.result);
    set_all(result, op.value);
    result.is_constant = true;
    define(op.result, std::move(result));
    return {};
  }
  Done execute(const Instance&, const ir::IotaOp& op) {
    Tile result = result_tile(op.result);
    size_t inner = element_count(std::span(result.shape).subspan(static_cast<size_t>(op.axis) + 1));
    auto& values = std::get<std::vector<int64_t>>(result.data);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int64_t>(i / inner) % result.shape[op.axis];
    }
    result.is_constant = true;
    define(op.result, std::move(result));
    return {};
  }
  Done execute(const Instance& i, const ir::ExprOp& op) {
    Tile result = result_tile(op.result);
    auto* values = std::get_if<std::vector<int64_t>>(&result.data);
    if (values == nullptr) {
      return fail(make_error(ReadingErrorKind::Unsupported, "a scalar expression of floating-point type"));
    }
    if (i.scalar < lowest_of(result.type) || i.scalar > highest_of(result.type)) {
      return fail(make_error(ReadingErrorKind::Overflow,
                             fmt::format("`{}` is {}, which does not fit in {}", function_.exprs.to_string(op.expr),
                                         i.scalar, tw::name_of(result.type))));
    }
    std::ranges::fill(*values, i.scalar);
    result.is_constant = true;
    define(op.result, std::move(result));
    return {};
  }
  Done execute(const Instance&, const ir::ScalarArgumentOp& op) {
    Tile result = result_tile(op.result);
    set_all(result, bound_.scalars[static_cast<size_t>(op.argument)]);
    result.is_constant = true;
    define(op.result, std::move(result));
    return {};
  }
  Done execute(const Instance&, const ir::ReduceOp& op) {
    Tile result = result_tile(op.result);
    auto fault = reduce(*values_[op.operand.index], op.axis, op.kind, op.keep, op.group_stride, result);
    define(op.result, std::move(result));
    return arithmetic_fault(fault, op.result);
  }
  Done execute(const Instance&, const ir::RelayoutOp& op) {
    values_[op.result.index] = values_[op.operand.index];
    return {};
  }
  template <class Order>
  Done execute(const Instance&, const Order&) {
    return {};
  }

  struct CellKeyHash {
    size_t operator()(const std::pair<uint32_t, int64_t>& key) const noexcept {
      return std::hash<int64_t>{}(key.second * 1009 + key.first);
    }
  };

  const ir::Function& function_;
  const BoundProblem& bound_;
  const ReadingOptions& options_;
  const bool with_trace_;
  ReadingMemory& memory_;
  BlockReading& out_;
  const Walk& walk_;
  std::vector<TilePtr> values_;
  std::unordered_map<std::pair<uint32_t, int64_t>, SharedCells, CellKeyHash> shared_;
  size_t shared_bytes_ = 0;
  uint32_t instance_ = 0;
  const ir::Op* op_ = nullptr;
};

}  // namespace

ReadingMemory::ReadingMemory(const BoundProblem& bound, const Problem& problem) {
  const ir::Function& function = *bound.function;
  for (size_t i = 0; i < function.tensors.size(); ++i) {
    bytes_.emplace_back(function, i, bound.tensors[i], problem);
  }
  shadows_.resize(function.tensors.size());
  written_.assign(function.tensors.size(), 0);
}

Result<BlockReading, ReadingError> read_block(const BoundProblem& bound, int64_t block, const ReadingOptions& options,
                                              bool with_trace, ReadingMemory& memory) {
  BlockReading out;
  WalkLimits limits = options.limits;
  limits.with_checks = options.watch.has_value();
  TW_TRY(out.walk, walk_block(bound, block, limits));
  auto done = BlockRun(bound, options, with_trace, memory, out).run();
  if (!done) {
    return fail(std::move(done).error());
  }
  return out;
}

std::optional<ReadingError> find_unwritten(const BoundProblem& bound, ReadingMemory& memory) {
  const ir::Function& function = *bound.function;
  for (size_t t = 0; t < function.tensors.size(); ++t) {
    const BoundTensor& tensor = bound.tensors[t];
    const int64_t count = tensor.element_count();
    if (function.tensors[t].direction != ir::Direction::Out || memory.written(t) == count) {
      continue;
    }
    for (int64_t element = 0; element < tensor.allocation_elements; ++element) {
      const CellShadow* shadow = memory.shadow(t).find(static_cast<uint64_t>(element));
      auto coord = tensor.coordinates(element);
      if ((shadow == nullptr || shadow->writer_block == 0) && coord) {
        ReadingError error;
        error.kind = ReadingErrorKind::NotWritten;
        error.cell = CellName{function.tensors[t].name, -1, *coord};
        error.message =
            fmt::format("{} is never written; {} of {} elements are", to_string(*error.cell), memory.written(t), count);
        error.span = function.tensors[t].span;
        return error;
      }
    }
  }
  return std::nullopt;
}

Reading run_reading(const ir::Function& function, const Problem& problem, const ReadingOptions& options) {
  Reading reading;
  auto bound = bind(function, problem);
  if (!bound) {
    reading.error = std::move(bound).error();
    return reading;
  }
  reading.bound = *std::move(bound);
  reading.memory = std::make_shared<ReadingMemory>(reading.bound, problem);
  const bool all = options.blocks.empty();
  const auto count = all ? reading.bound.grid : static_cast<int64_t>(options.blocks.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t block = all ? i : options.blocks[static_cast<size_t>(i)];
    auto done = read_block(reading.bound, block, options, false, *reading.memory);
    if (!done) {
      reading.error = std::move(done).error();
      return reading;
    }
  }
  if (all && options.check_coverage) {
    reading.error = find_unwritten(reading.bound, *reading.memory);
  }
  return reading;
}

bool is_within_reassociation(ElementType type, const std::byte* a, const std::byte* b, const CellShadow& shadow) {
  if (std::equal(a, a + size_bytes(type), b)) {
    return true;
  }
  Buffer values = make_buffer(type, 2);
  decode_elements(type, a, 1, data_of(values, 0));
  decode_elements(type, b, 1, data_of(values, 1));
  const double x = as_double(values, 0);
  const double y = as_double(values, 1);
  if (std::isnan(x) && std::isnan(y)) {
    return true;
  }
  double bound = shadow.slack;
  if (shadow.contributions > 1 && is_floating(type)) {
    bound += 2.0 * (shadow.contributions - 1) * 0x1p-24 * shadow.magnitude;
  }
  return std::abs(x - y) <= bound;
}

std::vector<OutputDifference> compare_outputs(const Reading& first, const Reading& second, size_t limit) {
  std::vector<OutputDifference> out;
  const ir::Function& function = *first.bound.function;
  for (size_t t = 0; t < function.tensors.size(); ++t) {
    const ir::Tensor& tensor = function.tensors[t];
    if (tensor.direction == ir::Direction::In || tensor.direction == ir::Direction::Work) {
      continue;
    }
    const auto size = static_cast<int64_t>(size_bytes(tensor.element));
    auto text = [&](const std::byte* bytes) {
      Buffer value = make_buffer(tensor.element, 1);
      decode_elements(tensor.element, bytes, 1, data_of(value));
      return element_text(tensor.element, as_double(value, 0));
    };
    std::vector<int64_t> elements;
    const auto note_pages = [&](const Reading& reading) {
      const ReadingMemory& memory = *reading.memory;
      memory.shadow(t).for_each_page([&](uint64_t start, const CellShadow* shadows) {
        for (uint64_t i = 0; i < Paged<CellShadow>::kPageElements; ++i) {
          if (shadows[i].writer_block != 0) {
            elements.push_back(static_cast<int64_t>(start + i));
          }
        }
      });
    };
    note_pages(first);
    note_pages(second);
    std::ranges::sort(elements);
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    for (int64_t element : elements) {
      CellShadow shadow = first.memory->shadow(t).at(static_cast<uint64_t>(element));
      const CellShadow& other = second.memory->shadow(t).at(static_cast<uint64_t>(element));
      shadow.slack += other.slack;
      std::byte a[8];
      std::byte b[8];
      first.memory->bytes(t).read(element * size, size, a);
      second.memory->bytes(t).read(element * size, size, b);
      if (is_within_reassociation(tensor.element, a, b, shadow)) {
        continue;
      }
      out.push_back({{tensor.name, -1, first.bound.tensors[t].coordinates(element).value_or(std::vector<int64_t>{})},
                     text(a),
                     text(b)});
      if (out.size() >= limit) {
        return out;
      }
    }
  }
  return out;
}

std::vector<std::byte> Reading::bytes_of(ir::TensorId tensor) const {
  const BoundTensor& shape = bound.tensors[tensor.index];
  std::vector<std::byte> out(static_cast<size_t>(shape.allocation_elements * shape.element_bytes));
  memory->bytes(tensor.index).read(0, static_cast<int64_t>(out.size()), out.data());
  return out;
}

}  // namespace tw::emulator

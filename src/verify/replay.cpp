// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float16.h"
#include "emulator/machine.h"
#include "emulator/reading.h"
#include "spec/evaluate.h"
#include "verify/context.h"
#include "verify/machine/machine_obligations.h"
#include "verify/machine/witness.h"

namespace tw::verify {

namespace {

using emulator::Problem;
using emulator::ReadingErrorKind;

// Emulated work of one replay: launches larger than this are not tried.
constexpr int64_t kMaxElements = int64_t{1} << 24;

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

bool is_output(const ir::Tensor& tensor) {
  return tensor.direction != ir::Direction::In && tensor.direction != ir::Direction::Work;
}

struct Outputs {
  // By tensor; empty for inputs.
  std::vector<std::vector<std::byte>> bytes;
  std::optional<emulator::ReadingError> error;
};

Outputs outputs_of(const ir::Function& f, const Problem& problem) {
  emulator::ReadingOptions options;
  options.check_coverage = false;
  emulator::Reading reading = emulator::run_reading(f, problem, options);
  Outputs out;
  out.error = reading.error;
  for (uint32_t i = 0; i < f.tensors.size(); ++i) {
    out.bytes.push_back(is_output(f.tensors[i]) && !reading.error ? reading.bytes_of(ir::TensorId(i))
                                                                  : std::vector<std::byte>{});
  }
  return out;
}

// Sets one element of an input in the problem's bytes.
Status set_element(const ir::Function& f, Problem& problem, const TouchedElement& element, double value) {
  for (uint32_t i = 0; i < f.tensors.size(); ++i) {
    const ir::Tensor& tensor = f.tensors[i];
    if (tensor.name != element.tensor) {
      continue;
    }
    auto bound = emulator::bind(f, problem);
    if (!bound) {
      return fail(bound.error().message);
    }
    auto bytes = emulator::initial_bytes(f, problem, ir::TensorId(i));
    if (!bytes) {
      return fail(bytes.error().message);
    }
    int64_t at = 0;
    for (size_t d = 0; d < element.coords.size(); ++d) {
      at += element.coords[d] * bound->tensors[i].strides[d];
    }
    const int width = size_bytes(tensor.element);
    std::vector<std::byte> changed = *std::move(bytes);
    if (at < 0 || (at + 1) * width > static_cast<int64_t>(changed.size())) {
      return fail("`" + tensor.name + "` has no such element");
    }
    encode(tensor.element, value, changed.data() + at * width);
    problem.tensors[tensor.name].bytes = std::make_shared<const std::vector<std::byte>>(std::move(changed));
    return {};
  }
  return fail("no tensor `" + element.tensor + "`");
}

// The first output element that differs by more than `tolerance` of its size.
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

std::string text_of(const TouchedElement& element) {
  std::string coords;
  for (int64_t c : element.coords) {
    coords += (coords.empty() ? "" : ", ") + std::to_string(c);
  }
  return element.tensor + "[" + coords + "]";
}

Result<std::string> replay_tags(const ir::Function& lowered, const Counterexample& cex) {
  if (cex.elements.empty()) {
    return fail("no element of an input is involved");
  }
  Problem base = with_scalars(lowered, problem_of(cex));
  base.default_fill = emulator::Fill::Grid;
  if (cex.is_product && cex.elements.size() >= 2) {
    // Everything else is zero: an output that changes with the second factor shows that the two are multiplied.
    base.default_fill = emulator::Fill::Zero;
    Problem one = base;
    TW_TRY_STATUS(set_element(lowered, one, cex.elements[0], 1));
    Problem both = one;
    TW_TRY_STATUS(set_element(lowered, both, cex.elements[1], 1));
    Outputs first = outputs_of(lowered, one), second = outputs_of(lowered, both);
    Problem other_only = base;
    TW_TRY_STATUS(set_element(lowered, other_only, cex.elements[1], 1));
    Outputs third = outputs_of(lowered, other_only);
    for (const Outputs* out : {&first, &second, &third}) {
      if (out->error) {
        return fail("the reading stops: " + out->error->message);
      }
    }
    if (first_difference(lowered, first, second, 1e-3) && first_difference(lowered, third, second, 1e-3)) {
      return "with all other elements zero, the outputs show the product " + text_of(cex.elements[0]) + " * " +
             text_of(cex.elements[1]);
    }
    return fail("the product does not show in an output");
  }
  Outputs before = outputs_of(lowered, base);
  if (before.error) {
    return fail("the reading stops: " + before.error->message);
  }
  std::string finding;
  for (const TouchedElement& element : cex.elements) {
    bool changes = false;
    for (double value : {64.0, -64.0}) {
      Problem changed = base;
      TW_TRY_STATUS(set_element(lowered, changed, element, value));
      Outputs after = outputs_of(lowered, changed);
      if (after.error) {
        return fail("the reading stops: " + after.error->message);
      }
      changes = changes || first_difference(lowered, before, after, 1e-6).has_value();
    }
    if (changes == element.reaches) {
      return changes ? "outputs change with " + text_of(element) : "no output changes with " + text_of(element);
    }
  }
  return fail("the elements do not behave as stated");
}

Result<std::string> replay_difference(const ir::Function& source, const ir::Function& lowered,
                                      const Counterexample& cex) {
  Problem problem = with_scalars(source, problem_of(cex));
  Outputs a = outputs_of(source, problem), b = outputs_of(lowered, problem);
  if (a.error) {
    return fail("the source's reading stops: " + a.error->message);
  }
  if (b.error) {
    return "the source's reading completes, the lowered program's stops: " + b.error->message;
  }
  if (auto difference = first_difference(source, a, b, 2e-2)) {
    return "outputs of source and lowered program differ: " + *difference;
  }
  return fail("source and lowered program give the same outputs");
}

// Output by output against the equations, with the error that they grant to a sound kernel.
Result<std::string> replay_task(const ir::Function& lowered, const Counterexample& cex, const spec::Computation& task) {
  Problem problem = with_scalars(lowered, problem_of(cex));
  auto bound = emulator::bind(lowered, problem);
  if (!bound) {
    return fail(bound.error().message);
  }
  std::vector<int64_t> extents(task.dims.size(), -1);
  std::vector<spec::Array> storage(task.tensors.size());
  std::vector<const spec::Array*> inputs(task.tensors.size(), nullptr);
  std::vector<std::pair<uint32_t, uint32_t>> outputs;
  for (uint32_t i = 0; i < task.tensors.size(); ++i) {
    const spec::Tensor& operand = task.tensors[i];
    if (operand.direction == spec::Direction::Let) {
      continue;
    }
    uint32_t index = 0;
    while (index < lowered.tensors.size() && lowered.tensors[index].name != operand.name) {
      ++index;
    }
    if (index == lowered.tensors.size() || lowered.tensors[index].extents.size() != operand.dims.size()) {
      return fail("the kernel has no operand `" + operand.name + "` of that rank");
    }
    const emulator::BoundTensor& tensor = bound->tensors[index];
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      int64_t& extent = extents[operand.dims[d].index];
      auto fixed = task.dim(operand.dims[d]).fixed;
      if ((extent >= 0 && extent != tensor.extents[d]) || (fixed && *fixed != tensor.extents[d])) {
        return fail("these sizes are not the task's");
      }
      extent = tensor.extents[d];
    }
    if (operand.direction == spec::Direction::In) {
      auto bytes = emulator::initial_bytes(lowered, problem, ir::TensorId(index));
      if (!bytes) {
        return fail(bytes.error().message);
      }
      spec::Array array = spec::Array::filled(tensor.extents);
      const ElementType type = lowered.tensors[index].element;
      for (int64_t at = 0; at < array.element_count(); ++at) {
        int64_t rest = at, offset = 0;
        for (size_t d = tensor.extents.size(); d-- > 0;) {
          offset += rest % tensor.extents[d] * tensor.strides[d];
          rest /= tensor.extents[d];
        }
        array.values[static_cast<size_t>(at)] = decode(type, bytes->data() + offset * size_bytes(type));
      }
      storage[i] = std::move(array);
      inputs[i] = &storage[i];
    } else {
      outputs.emplace_back(i, index);
    }
  }
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] < 0) {
      extents[d] = task.dims[d].fixed.value_or(1);
    }
  }
  spec::EvaluateOptions options;
  options.with_errors = true;
  TW_TRY(std::vector<spec::Array> expected, spec::evaluate(task, extents, inputs, options));
  Outputs got = outputs_of(lowered, problem);
  if (got.error) {
    return fail("the reading stops: " + got.error->message);
  }
  for (auto [i, index] : outputs) {
    const emulator::BoundTensor& tensor = bound->tensors[index];
    const ElementType type = lowered.tensors[index].element;
    const double unit = type == ElementType::Bf16 ? 0x1p-7 : type == ElementType::F16 ? 0x1p-10 : 0x1p-20;
    const spec::Array& array = expected[i];
    for (int64_t at = 0; at < array.element_count(); ++at) {
      int64_t rest = at, offset = 0;
      std::string coords;
      for (size_t d = tensor.extents.size(); d-- > 0;) {
        coords = std::to_string(rest % tensor.extents[d]) + (coords.empty() ? "" : ", ") + coords;
        offset += rest % tensor.extents[d] * tensor.strides[d];
        rest /= tensor.extents[d];
      }
      double value = decode(type, got.bytes[index].data() + offset * size_bytes(type));
      double want = array.values[static_cast<size_t>(at)];
      double slack =
          4 * (array.errors.empty() ? 0.0 : array.errors[static_cast<size_t>(at)]) + unit * std::abs(want) + 1e-6;
      if ((std::isnan(value) != std::isnan(want)) || std::abs(value - want) > slack) {
        return "`" + task.tensors[i].name + "[" + coords + "]` is " + std::to_string(value) + ", the task's value is " +
               std::to_string(want);
      }
    }
  }
  return fail("the outputs are the task's at these sizes");
}

std::vector<ReadingErrorKind> kinds_of(const std::string& rule) {
  if (rule == "uninitialized-read") {
    return {ReadingErrorKind::UninitializedRead};
  }
  if (rule == "pad-reaches-output") {
    return {ReadingErrorKind::PadReachesOutput};
  }
  if (rule == "out-of-bounds") {
    return {ReadingErrorKind::OutOfBounds};
  }
  if (rule == "division-by-zero") {
    return {ReadingErrorKind::DivisionByZero};
  }
  if (rule == "integer-overflow") {
    return {ReadingErrorKind::Overflow};
  }
  return {ReadingErrorKind::DoubleWrite, ReadingErrorKind::NotWritten, ReadingErrorKind::Discipline};
}

int64_t work_of(const ir::Function& f, const Problem& problem) {
  auto bound = emulator::bind(f, problem);
  if (!bound) {
    return -1;
  }
  int64_t total = 0;
  for (const emulator::BoundTensor& tensor : bound->tensors) {
    if (tensor.allocation_elements > kMaxElements) {
      return kMaxElements + 1;
    }
    total += tensor.allocation_elements;
  }
  return total;
}

Counterexample of_error(const ir::Function& f, const Problem& problem, const emulator::ReadingError& error) {
  Counterexample cex;
  for (const auto& [name, value] : problem.sizes) {
    cex.sizes.emplace_back(name, value);
  }
  cex.seed = problem.seed;
  cex.claim = error.message;
  if (error.block >= 0) {
    cex.block = error.block;
  }
  for (size_t i = 0; i < error.point.iterations.size(); ++i) {
    cex.iterations.emplace_back("loop" + std::to_string(i), error.point.iterations[i]);
  }
  if (error.cell) {
    cex.object = error.cell->object;
    cex.element = error.cell->element;
    if (error.cell->version >= 0) {
      cex.version = error.cell->version;
    }
  }
  if (error.span.is_valid()) {
    cex.points.push_back({error.span, error.point.op_id, "here"});
  }
  if (error.other_span.is_valid()) {
    cex.points.push_back({error.other_span, error.other_point ? error.other_point->op_id : 0, "and here"});
  }
  cex.got = std::string(emulator::name_of(error.kind));
  cex.replay = ReplayKind::Reading;
  (void)f;
  return cex;
}

}  // namespace

std::optional<Counterexample> hunt_reading(Context& context, const std::vector<ReadingErrorKind>& kinds,
                                           const std::vector<std::pair<std::string, int64_t>>& sizes_first) {
  std::vector<Problem> problems;
  if (!sizes_first.empty()) {
    Counterexample at;
    at.sizes = sizes_first;
    problems.push_back(problem_of(at));
  }
  for (Problem& p : small_problems(context.lowered, {}, 10)) {
    problems.push_back(std::move(p));
  }
  for (const Problem& raw : problems) {
    Problem problem = with_scalars(context.lowered, raw);
    int64_t work = work_of(context.lowered, problem);
    if (work < 0 || work > (int64_t{1} << 20)) {
      continue;
    }
    emulator::Reading reading = emulator::run_reading(context.lowered, problem);
    if (reading.error && std::find(kinds.begin(), kinds.end(), reading.error->kind) != kinds.end()) {
      return of_error(context.lowered, problem, *reading.error);
    }
  }
  return std::nullopt;
}

std::optional<Counterexample> hunt_difference(Context& context) {
  if (!context.options.replay) {
    return std::nullopt;
  }
  for (const Problem& raw : small_problems(context.source, {}, 6)) {
    Problem problem = with_scalars(context.source, raw);
    int64_t work = work_of(context.source, problem);
    if (work < 0 || work > (int64_t{1} << 20)) {
      continue;
    }
    Counterexample cex;
    for (const auto& [name, value] : problem.sizes) {
      cex.sizes.emplace_back(name, value);
    }
    cex.seed = problem.seed;
    cex.rule = "reading-kept";
    cex.replay = ReplayKind::Difference;
    if (auto found = replay_difference(context.source, context.lowered, cex)) {
      cex.claim = *found;
      cex.why = "lowering must keep what the program computes";
      return cex;
    }
  }
  return std::nullopt;
}

std::optional<Counterexample> hunt_task(Context& context) {
  if (!context.options.replay) {
    return std::nullopt;
  }
  for (const Problem& raw : small_problems(context.lowered, {}, 6)) {
    Problem problem = with_scalars(context.lowered, raw);
    int64_t work = work_of(context.lowered, problem);
    if (work < 0 || work > (int64_t{1} << 19)) {
      continue;
    }
    Counterexample cex;
    for (const auto& [name, value] : problem.sizes) {
      cex.sizes.emplace_back(name, value);
    }
    cex.seed = problem.seed;
    cex.rule = "task-disagreement";
    cex.replay = ReplayKind::Task;
    if (auto found = replay_task(context.lowered, cex, *context.options.task)) {
      cex.claim = *found;
      return cex;
    }
  }
  return std::nullopt;
}

Result<std::string> replay(const ir::Function& source, const ir::Function& lowered, const Counterexample& cex,
                           const spec::Computation* task) {
  Problem problem = with_scalars(lowered, problem_of(cex));
  int64_t work = work_of(lowered, problem);
  if (work < 0) {
    return fail("the sizes are not ones that the program admits");
  }
  if (work > kMaxElements) {
    return fail("the problem is too large to emulate");
  }
  switch (cex.replay) {
    case ReplayKind::None:
      return fail("there is no way to replay it");
    case ReplayKind::Tags:
      return replay_tags(lowered, cex);
    case ReplayKind::Task:
      return task != nullptr ? replay_task(lowered, cex, *task) : fail("the task is needed to replay it");
    case ReplayKind::Difference:
      return replay_difference(source, lowered, cex);
    case ReplayKind::Reading: {
      emulator::Reading reading = emulator::run_reading(lowered, problem);
      if (!reading.error) {
        return fail("the reading completes at these sizes");
      }
      for (ReadingErrorKind kind : kinds_of(cex.rule)) {
        if (reading.error->kind == kind) {
          return reading.error->message;
        }
      }
      return fail("the reading stops for another reason: " + reading.error->message);
    }
    case ReplayKind::Machine: {
      if (!cex.schedule.is_null() || cex.is_replayed) {
        return replay_machine(lowered, cex);
      }
      emulator::MachineRun run = emulator::run_machine(lowered, problem);
      if (run.reading_error) {
        return run.reading_error->message;
      }
      if (run.violations.empty()) {
        return fail("the machine runs without a finding at these sizes");
      }
      return to_string(run.violations[0]);
    }
  }
  return fail("there is no way to replay it");
}

}  // namespace tw::verify

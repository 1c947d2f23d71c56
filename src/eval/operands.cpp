// SPDX-License-Identifier: Apache-2.0
#include "eval/operands.h"

namespace tw::eval {

std::optional<size_t> operand_named(const task::Task& task, std::string_view name) {
  for (size_t i = 0; i < task.operand_count; ++i) {
    if (task.computation.tensors[i].name == name) {
      return i;
    }
  }
  return std::nullopt;
}

std::shared_ptr<const std::vector<std::byte>> memory_of(const task::Task& task, size_t operand,
                                                        const task::Inputs& inputs) {
  const ElementType type = task.computation.tensors[operand].type;
  auto bytes = std::make_shared<std::vector<std::byte>>(
      static_cast<size_t>(task.span_elems(operand, inputs.shape) * size_bytes(type)));
  task::encode(inputs.values[operand], type, task.strides_elems(operand, inputs.shape), *bytes);
  return bytes;
}

task::Comparison compare_output(const task::Task& task, size_t operand, const task::Shape& shape,
                                std::span<const std::byte> bytes, const spec::Array& want) {
  const spec::Tensor& tensor = task.computation.tensors[operand];
  std::vector<int64_t> extents;
  for (spec::DimId dim : tensor.dims) {
    extents.push_back(shape[dim.index]);
  }
  const spec::Array got = task::decode(bytes, tensor.type, extents, task.strides_elems(operand, shape));
  return task::compare(task, operand, got, want);
}

}  // namespace tw::eval

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "task/compare.h"
#include "task/inputs.h"
#include "task/task.h"

namespace tw::eval {

std::optional<size_t> operand_named(const task::Task& task, std::string_view name);

// An operand's memory for one shape: what no element occupies stays zero.
std::shared_ptr<const std::vector<std::byte>> memory_of(const task::Task& task, size_t operand,
                                                        const task::Inputs& inputs);

// An output's memory against the reference.
task::Comparison compare_output(const task::Task& task, size_t operand, const task::Shape& shape,
                                std::span<const std::byte> bytes, const spec::Array& want);

}  // namespace tw::eval

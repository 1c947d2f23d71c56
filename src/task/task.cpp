// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "os/env.h"
#include "os/files.h"

namespace tw::task {
namespace {

constexpr size_t kMaxTaskBytes = size_t{1} << 20;

struct Found {
  std::string path;
  std::string looked_in;
};

// `name` as a file, else in the folder of installed tasks.
Found find_file(const std::string& name) {
  if (os::exists(name)) {
    return {name, {}};
  }
  bool is_plain = name.find('/') == std::string::npos;
  auto data = os::data_folder();
  if (!is_plain || !data) {
    return {name, {}};
  }
  std::string folder = os::join_path(*data, "tasks");
  for (const std::string& candidate : {name, name + ".toml"}) {
    std::string path = os::join_path(folder, candidate);
    if (os::is_regular_file(path)) {
      return {path, {}};
    }
  }
  return {name, folder};
}

std::optional<std::string> nearest_task(const std::string& name, const std::string& folder) {
  auto files = os::list_folder(folder);
  if (!files) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const std::string& file : *files) {
    names.push_back(file.ends_with(".toml") ? file.substr(0, file.size() - 5) : file);
  }
  return nearest(name.ends_with(".toml") ? std::string_view(name).substr(0, name.size() - 5) : name, names);
}

}  // namespace

std::string_view name_of(Distribution distribution) {
  constexpr std::string_view kNames[] = {"normal", "uniform", "large", "mostly_zero", "adversarial"};
  return kNames[static_cast<int>(distribution)];
}

std::optional<Distribution> distribution_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Distribution::Adversarial); ++i) {
    if (name_of(static_cast<Distribution>(i)) == name) {
      return static_cast<Distribution>(i);
    }
  }
  return std::nullopt;
}

std::vector<int64_t> Task::strides_elems(size_t operand, const Shape& shape) const {
  const spec::Tensor& tensor = computation.tensors.at(operand);
  std::vector<int64_t> strides(tensor.dims.size(), 1);
  if (storage.at(operand).is_packed) {
    for (size_t i = strides.size(); i-- > 1;) {
      strides[i - 1] = strides[i] * shape.at(tensor.dims[i].index);
    }
    return strides;
  }
  for (size_t i = 0; i < strides.size(); ++i) {
    const Stride& stride = storage[operand].strides[i];
    strides[i] = stride.factor;
    for (spec::DimId size : stride.sizes) {
      strides[i] *= shape.at(size.index);
    }
  }
  return strides;
}

int64_t Task::span_elems(size_t operand, const Shape& shape) const {
  std::vector<int64_t> strides = strides_elems(operand, shape);
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    last += (shape.at(computation.tensors[operand].dims[i].index) - 1) * strides[i];
  }
  return last + 1;
}

double Task::least_bytes(const Shape& shape) const {
  double total = 0;
  for (size_t i = 0; i < operand_count; ++i) {
    const spec::Tensor& tensor = computation.tensors[i];
    double count = 1;
    for (spec::DimId dim : tensor.dims) {
      count *= static_cast<double>(shape.at(dim.index));
    }
    // An operand that is read and written moves twice.
    total += count * size_bytes(tensor.type) * (tensor.direction == spec::Direction::InOut ? 2 : 1);
  }
  return total;
}

std::string print_shape(const Task& task, const Shape& shape) {
  std::string result;
  for (size_t i = 0; i < shape.size(); ++i) {
    result += fmt::format("{}{}={}", i == 0 ? "" : " ", task.computation.dims[i].name, shape[i]);
  }
  return result;
}

Checked<Task> load(const std::string& path, diag::SourceManager& sources, diag::Sink& sink) {
  Found found = find_file(path);
  auto unreadable = [&](std::string_view why) {
    diag::Builder builder = sink.report(diag::codes::TaskUnreadable{}, {}, path, why);
    if (!found.looked_in.empty()) {
      if (auto close = nearest_task(path, found.looked_in)) {
        builder.note(fmt::format("did you mean `{}`?", *close));
      }
      builder.note(fmt::format("the tasks that come with tilewright are in `{}`", found.looked_in));
    }
    return builder.emit();
  };
  if (os::is_folder(found.path)) {
    return fail(unreadable("it is a folder"));
  }
  auto text = os::read_file(found.path, kMaxTaskBytes);
  if (!text) {
    std::string why = text.error().message;
    for (const std::string& cause : text.error().causes) {
      why = cause;
    }
    return fail(unreadable(why));
  }
  return parse(found.path, *std::move(text), sources, sink);
}

}  // namespace tw::task

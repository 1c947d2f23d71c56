// SPDX-License-Identifier: Apache-2.0
// The only file that knows TOML.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <stdexcept>

#include "base/sha256.h"
#include "base/strings.h"
#include "spec/parse.h"
#include "task/task.h"

namespace tw::task {
struct TomlAssertion : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A function, because some of the assertions stand in functions that promise not to throw.
[[noreturn]] inline void toml_assertion_failed(const char* condition) {
  throw TomlAssertion(condition);
}
}  // namespace tw::task

// With exceptions a parse error unwinds at once; without them toml++ 3.3 reads on for a while in a broken state. Some
// texts still break its own assertions: to us that is one more way of not being TOML.
#define TOML_EXCEPTIONS 1
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : tw::task::toml_assertion_failed(#expr))
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace tw::task {
namespace {

namespace codes = diag::codes;
using Keys = std::vector<std::string_view>;

constexpr size_t kMaxSizes = 16;
constexpr size_t kMaxOperands = 32;
constexpr size_t kMaxShapes = 200;
// Sizes are i32 in kernels.
constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();
// So that no element count or byte count overflows.
constexpr double kMaxElements = 0x1p58;

std::string_view describe(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a truth value";
    default:
      return "a date or time";
  }
}

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > 64 || (name[0] >= '0' && name[0] <= '9')) {
    return false;
  }
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class Reader {
 public:
  Reader(std::string path, std::string text, diag::SourceManager& sources, diag::Sink& sink)
      : sources_(sources), sink_(sink) {
    task_.path = path;
    task_.text = text;
    task_.content_hash = sha256_hex(text);
    file_ = sources.add(std::move(path), std::move(text));
    source_ = sources.text(file_);
  }

  Checked<Task> run() {
    toml::table root;
    try {
      root = toml::parse(source_);
    } catch (const toml::parse_error& error) {
      report(codes::TaskSyntax{}, span(error.source()), sanitize_utf8(lowered(error.description())));
      return fail(*reported_);
    } catch (const std::exception&) {
      report(codes::TaskSyntax{}, diag::Span{file_, 0, 0}, "its text confuses the TOML reader");
      return fail(*reported_);
    }
    read_schema(root);
    if (!reported_.has_value()) {
      check_keys(root, "the task",
                 {"schema", "name", "title", "target", "sizes", "tensor", "reference", "tolerance", "goal", "shapes",
                  "inputs"});
      read_head(root);
      read_sizes(root);
      read_operands(root);
    }
    // The reference is read only over declarations that are right: everything else would be noise.
    if (!reported_.has_value()) {
      read_reference(root);
      read_tolerance(root);
      read_goal(root);
      read_inputs(root);
      read_shapes(root);
    }
    if (reported_.has_value()) {
      return fail(*reported_);
    }
    return std::move(task_);
  }

 private:
  // ---- places

  [[nodiscard]] uint32_t offset(toml::source_position position) const {
    if (position.line == 0 || position.line > sources_.line_count(file_)) {
      return static_cast<uint32_t>(source_.size());
    }
    std::string_view line = sources_.line_text(file_, position.line);
    auto begin = static_cast<size_t>(line.data() - source_.data());
    // Columns count characters.
    size_t at = 0;
    for (toml::source_index column = 1; column < position.column && at < line.size(); ++column) {
      at += std::max<size_t>(1, utf8_length(line.substr(at)));
    }
    return static_cast<uint32_t>(std::min(begin + at, source_.size()));
  }

  [[nodiscard]] diag::Span span(const toml::source_region& region) const {
    uint32_t begin = offset(region.begin);
    return {file_, begin, std::max(begin, offset(region.end))};
  }
  [[nodiscard]] diag::Span span(const toml::node& node) const { return span(node.source()); }

  template <class Code, class... Args>
  void report(Code code, diag::Span at, Args&&... args) {
    reported_ = sink_.report(code, at, std::forward<Args>(args)...).emit();
  }

  static std::string lowered(std::string_view text) {
    std::string result(text);
    if (!result.empty()) {
      result[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(result[0])));
    }
    return result;
  }

  // ---- typed look-up; each returns nothing when the key is absent or was reported

  void check_keys(const toml::table& table, std::string_view where, const Keys& known) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(known, key.str()) == known.end()) {
        report(codes::TaskUnknownKey{}, span(key.source()), sanitize_utf8(key.str()), where,
               fmt::format("{}", fmt::join(known, ", ")));
      }
    }
  }

  void missing(const toml::table& table, std::string_view key, std::string_view where) {
    diag::Span at = table.source().begin.line == 0 ? diag::Span{file_, 0, 0} : span(table);
    report(codes::TaskMissingKey{}, at, key, where);
  }

  bool is(const toml::node& node, toml::node_type type, std::string_view key, std::string_view expected) {
    if (node.type() == type) {
      return true;
    }
    report(codes::TaskWrongType{}, span(node), key, describe(node), expected);
    return false;
  }

  std::optional<std::string> string_at(const toml::table& table, std::string_view key, std::string_view where,
                                       bool is_required) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (is_required) {
        missing(table, key, where);
      }
      return std::nullopt;
    }
    if (!is(*node, toml::node_type::string, key, "a string")) {
      return std::nullopt;
    }
    return node->as_string()->get();
  }

  std::optional<int64_t> integer_of(const toml::node& node, std::string_view key, int64_t min, int64_t max) {
    if (!is(node, toml::node_type::integer, key, "an integer")) {
      return std::nullopt;
    }
    int64_t value = node.as_integer()->get();
    if (value < min || value > max) {
      report(codes::TaskBadValue{}, span(node), key, fmt::format("{}", value), fmt::format("{} to {}", min, max));
      return std::nullopt;
    }
    return value;
  }

  std::optional<double> number_at(const toml::table& table, std::string_view key, double min, double max) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      return std::nullopt;
    }
    std::optional<double> value = node->value<double>();
    if (!node->is_number() || !value.has_value()) {
      report(codes::TaskWrongType{}, span(*node), key, describe(*node), "a number");
      return std::nullopt;
    }
    if (!(*value >= min && *value <= max)) {
      report(codes::TaskBadValue{}, span(*node), key, fmt::format("{}", *value), fmt::format("{} to {}", min, max));
      return std::nullopt;
    }
    return value;
  }

  const toml::table* table_at(const toml::table& table, std::string_view key, std::string_view where,
                              bool is_required) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (is_required) {
        missing(table, key, where);
      }
      return nullptr;
    }
    return is(*node, toml::node_type::table, key, "a table") ? node->as_table() : nullptr;
  }

  const toml::array* array_at(const toml::table& table, std::string_view key, std::string_view where,
                              bool is_required) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (is_required) {
        missing(table, key, where);
      }
      return nullptr;
    }
    return is(*node, toml::node_type::array, key, "an array") ? node->as_array() : nullptr;
  }

  // ---- sections

  void read_schema(const toml::table& root) {
    std::optional<std::string> schema = string_at(root, "schema", "the task", true);
    if (schema.has_value() && *schema != "tw.task/1") {
      report(codes::TaskSchema{}, span(*root.get("schema")), *schema);
    }
  }

  void read_head(const toml::table& root) {
    std::optional<std::string> name = string_at(root, "name", "the task", true);
    if (name.has_value() && !is_identifier(*name)) {
      report(codes::TaskBadValue{}, span(*root.get("name")), "name", fmt::format("`{}`", *name),
             "letters, digits and `_`, at most 64");
    }
    task_.name = name.value_or("");
    task_.title = string_at(root, "title", "the task", false).value_or(task_.name);
    task_.target = string_at(root, "target", "the task", false).value_or("sm_80");
  }

  void read_sizes(const toml::table& root) {
    const toml::table* sizes = table_at(root, "sizes", "the task", true);
    if (sizes == nullptr) {
      return;
    }
    // A table keeps no order; the order of the text is what people expect to read.
    std::vector<std::pair<uint32_t, const toml::key*>> order;
    for (const auto& [key, value] : *sizes) {
      order.emplace_back(offset(key.source().begin), &key);
    }
    std::ranges::sort(order);
    if (order.size() > kMaxSizes) {
      report(codes::TaskBadValue{}, span(*sizes), "sizes", fmt::format("{} sizes", order.size()),
             fmt::format("at most {}", kMaxSizes));
      return;
    }
    for (const auto& [at, key] : order) {
      read_size(key->str(), span(key->source()), *sizes->get(key->str()));
    }
  }

  void read_size(std::string_view name, diag::Span at, const toml::node& node) {
    if (!is_identifier(name)) {
      report(codes::TaskBadValue{}, at, "the name of a size", fmt::format("`{}`", sanitize_utf8(name)),
             "letters, digits and `_`");
      return;
    }
    spec::SizeRange range;
    spec::Dim dim{std::string(name), std::nullopt};
    if (node.is_integer()) {
      dim.fixed = integer_of(node, name, 1, kMaxExtent);
      range = {dim.fixed.value_or(1), dim.fixed.value_or(1), 1};
    } else if (const toml::table* table = node.as_table()) {
      check_keys(*table, fmt::format("size `{}`", name), {"min", "max", "multiple_of"});
      auto read = [&](std::string_view key, int64_t& value, int64_t max) {
        if (const toml::node* entry = table->get(key)) {
          value = integer_of(*entry, key, 1, max).value_or(value);
        }
      };
      read("min", range.min, kMaxExtent);
      range.max = std::max(range.max, range.min);
      read("max", range.max, kMaxExtent);
      read("multiple_of", range.multiple_of, kMaxExtent);
      if (range.is_empty()) {
        report(codes::TaskBadValue{}, span(node), name, "empty: no value is allowed", "at least one value");
      }
    } else {
      report(codes::TaskWrongType{}, span(node), name, describe(node), "an integer or `{ min, max, multiple_of }`");
    }
    task_.computation.dims.push_back(std::move(dim));
    task_.domain.ranges.push_back(range);
  }

  void read_operands(const toml::table& root) {
    const toml::array* tensors = array_at(root, "tensor", "the task", true);
    if (tensors == nullptr) {
      return;
    }
    if (tensors->empty() || tensors->size() > kMaxOperands) {
      report(codes::TaskBadValue{}, span(*tensors), "tensor", fmt::format("{} entries", tensors->size()),
             fmt::format("1 to {}", kMaxOperands));
      return;
    }
    for (const toml::node& node : *tensors) {
      if (is(node, toml::node_type::table, "tensor", "a table")) {
        read_operand(*node.as_table());
      }
    }
    task_.operand_count = task_.computation.tensors.size();
    bool has_output = std::ranges::any_of(task_.computation.tensors,
                                          [](const spec::Tensor& t) { return t.direction != spec::Direction::In; });
    if (!reported_.has_value() && !has_output) {
      report(codes::TaskMissingKey{}, span(*tensors), "a tensor with direction = \"out\"", "the task");
    }
  }

  void read_operand(const toml::table& table) {
    check_keys(table, "a tensor", {"name", "type", "dims", "direction", "strides", "values"});
    spec::Tensor tensor;
    Storage storage;
    std::optional<std::string> name = string_at(table, "name", "a tensor", true);
    if (name.has_value() && !is_identifier(*name)) {
      report(codes::TaskBadValue{}, span(*table.get("name")), "name", fmt::format("`{}`", sanitize_utf8(*name)),
             "letters, digits and `_`");
    }
    tensor.name = name.value_or("");
    if (name.has_value() &&
        (task_.computation.find_tensor(*name).has_value() || task_.computation.find_dim(*name).has_value())) {
      report(codes::TaskDuplicate{}, span(*table.get("name")), *name);
    }
    if (std::optional<std::string> type = string_at(table, "type", "a tensor", true)) {
      std::optional<ElementType> element = element_type_of(*type);
      if (!element.has_value()) {
        report(codes::TaskBadValue{}, span(*table.get("type")), "type", fmt::format("`{}`", sanitize_utf8(*type)),
               "an element type such as bf16, f16, tf32, f32 or i32");
      }
      tensor.type = element.value_or(ElementType::F32);
    }
    if (std::optional<std::string> direction = string_at(table, "direction", "a tensor", false)) {
      if (*direction == "out") {
        tensor.direction = spec::Direction::Out;
      } else if (*direction == "inout") {
        tensor.direction = spec::Direction::InOut;
      } else if (*direction != "in") {
        report(codes::TaskBadValue{}, span(*table.get("direction")), "direction",
               fmt::format("`{}`", sanitize_utf8(*direction)), "in, out or inout");
      }
    }
    read_dims(table, tensor);
    read_strides(table, tensor, storage);
    task_.computation.tensors.push_back(tensor);
    task_.storage.push_back(std::move(storage));
    task_.integer_ranges.push_back(read_values(table, tensor));
  }

  void read_dims(const toml::table& table, spec::Tensor& tensor) {
    const toml::array* dims = array_at(table, "dims", "a tensor", true);
    if (dims == nullptr) {
      return;
    }
    if (dims->empty() || dims->size() > 5) {
      report(codes::TaskBadValue{}, span(*dims), "dims", fmt::format("{} names", dims->size()),
             "1 to 5 names of sizes");
      return;
    }
    for (const toml::node& node : *dims) {
      if (!is(node, toml::node_type::string, "dims", "names of sizes")) {
        continue;
      }
      if (std::optional<spec::DimId> dim = size_named(node.as_string()->get(), span(node))) {
        tensor.dims.push_back(*dim);
      }
    }
  }

  std::optional<spec::DimId> size_named(std::string_view name, diag::Span at) {
    std::optional<spec::DimId> dim = task_.computation.find_dim(name);
    if (!dim.has_value()) {
      report(codes::TaskUnknownSize{}, at, sanitize_utf8(name));
    }
    return dim;
  }

  void read_strides(const toml::table& table, const spec::Tensor& tensor, Storage& storage) {
    const toml::array* strides = array_at(table, "strides", "a tensor", false);
    if (strides == nullptr) {
      return;
    }
    if (strides->size() != tensor.dims.size()) {
      report(codes::TaskBadValue{}, span(*strides), "strides", fmt::format("{} entries", strides->size()),
             fmt::format("one for each of the {} dims", tensor.dims.size()));
      return;
    }
    storage.is_packed = false;
    for (const toml::node& node : *strides) {
      Stride stride;
      if (node.is_integer()) {
        stride.factor = integer_of(node, "strides", 1, kMaxExtent).value_or(1);
      } else if (is(node, toml::node_type::string, "strides", "an integer or a product such as \"2*N\"")) {
        for (std::string_view part : split(node.as_string()->get(), '*')) {
          std::string_view factor = trim(part);
          if (std::optional<int64_t> number = parse_int(factor);
              number.has_value() && *number >= 1 && *number <= INT32_MAX) {
            stride.factor = std::min<int64_t>(kMaxExtent, stride.factor * *number);
          } else if (std::optional<spec::DimId> dim = size_named(factor, span(node))) {
            stride.sizes.push_back(*dim);
          }
        }
      }
      storage.strides.push_back(std::move(stride));
    }
  }

  std::optional<IntegerRange> read_values(const toml::table& table, const spec::Tensor& tensor) {
    const toml::table* values = table_at(table, "values", "a tensor", false);
    if (values == nullptr) {
      return std::nullopt;
    }
    check_keys(*values, "`values`", {"min", "below"});
    IntegerRange range;
    if (is_floating(tensor.type)) {
      report(codes::TaskBadValue{}, span(*values), "values", fmt::format("given for {}", name_of(tensor.type)),
             "an integer tensor");
    }
    if (const toml::node* min = values->get("min")) {
      range.min = integer_of(*min, "min", INT32_MIN, INT32_MAX).value_or(0);
    }
    const toml::node* below = values->get("below");
    if (below == nullptr) {
      missing(*values, "below", "`values`");
    } else if (below->is_string()) {
      range.below_size = size_named(below->as_string()->get(), span(*below));
    } else {
      range.below = integer_of(*below, "below", range.min + 1, INT32_MAX).value_or(range.min + 1);
    }
    return range;
  }

  void read_reference(const toml::table& root) {
    const toml::table* reference = table_at(root, "reference", "the task", true);
    if (reference == nullptr) {
      return;
    }
    check_keys(*reference, "the reference", {"text"});
    std::optional<std::string> text = string_at(*reference, "text", "the reference", true);
    if (!text.has_value()) {
      return;
    }
    auto parsed = spec::parse(*text, place_of(*reference->get("text"), *text), task_.computation, sink_);
    if (!parsed) {
      reported_ = parsed.error();
      return;
    }
    task_.computation = *std::move(parsed);
  }

  // Where the characters of a string stand in the file, when they stand there as they are.
  spec::TextPlace place_of(const toml::node& node, std::string_view text) {
    diag::Span whole = span(node);
    size_t begin = whole.begin;
    std::string_view rest = source_.substr(begin);
    if (rest.starts_with("'''") || rest.starts_with("\"\"\"")) {
      begin += 3;
      rest = source_.substr(begin);
      begin += rest.starts_with("\r\n") ? 2 : rest.starts_with("\n") ? 1 : 0;
    } else {
      ++begin;
    }
    if (begin + text.size() <= source_.size() && source_.substr(begin, text.size()) == text) {
      return {{file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + text.size())}, true};
    }
    return {whole, false};
  }

  void read_tolerance(const toml::table& root) {
    const toml::table* table = table_at(root, "tolerance", "the task", false);
    if (table == nullptr) {
      return;
    }
    check_keys(*table, "the tolerance", {"scale", "relative", "absolute"});
    task_.tolerance.scale = number_at(*table, "scale", 0.01, 1000).value_or(1);
    task_.tolerance.relative = number_at(*table, "relative", 0, 1);
    task_.tolerance.absolute = number_at(*table, "absolute", 0, 1e6);
  }

  void read_goal(const toml::table& root) {
    const toml::table* table = table_at(root, "goal", "the task", false);
    if (table == nullptr) {
      return;
    }
    check_keys(*table, "the goal", {"kind", "fraction"});
    std::optional<std::string> kind = string_at(*table, "kind", "the goal", true);
    if (kind == "roofline") {
      task_.goal.kind = GoalKind::Roofline;
    } else if (kind.has_value() && *kind != "best_effort") {
      report(codes::TaskBadValue{}, span(*table->get("kind")), "kind", fmt::format("`{}`", sanitize_utf8(*kind)),
             "roofline or best_effort");
    }
    task_.goal.fraction = number_at(*table, "fraction", 0.01, 1).value_or(1);
  }

  void read_inputs(const toml::table& root) {
    task_.distributions = {Distribution::Normal, Distribution::Uniform, Distribution::Large, Distribution::MostlyZero,
                           Distribution::Adversarial};
    const toml::table* table = table_at(root, "inputs", "the task", false);
    if (table == nullptr) {
      return;
    }
    check_keys(*table, "the inputs", {"distributions"});
    const toml::array* names = array_at(*table, "distributions", "the inputs", true);
    if (names == nullptr) {
      return;
    }
    task_.distributions.clear();
    for (const toml::node& node : *names) {
      if (!is(node, toml::node_type::string, "distributions", "names")) {
        continue;
      }
      std::optional<Distribution> distribution = distribution_of(node.as_string()->get());
      if (!distribution.has_value()) {
        report(codes::TaskBadValue{}, span(node), "distributions",
               fmt::format("`{}`", sanitize_utf8(node.as_string()->get())),
               "normal, uniform, large, mostly_zero or adversarial");
        continue;
      }
      task_.distributions.push_back(*distribution);
    }
    if (task_.distributions.empty() && !reported_.has_value()) {
      report(codes::TaskBadValue{}, span(*names), "distributions", "empty", "at least one name");
    }
  }

  void read_shapes(const toml::table& root) {
    const toml::table* table = table_at(root, "shapes", "the task", true);
    if (table == nullptr) {
      return;
    }
    check_keys(*table, "the shapes", {"headline", "test"});
    if (const toml::table* headline = table_at(*table, "headline", "the shapes", true)) {
      task_.headline_shape = read_shape(*headline);
      check_volume(*headline, task_.headline_shape);
    }
    const toml::array* tests = array_at(*table, "test", "the shapes", true);
    if (tests == nullptr) {
      return;
    }
    if (tests->empty() || tests->size() > kMaxShapes) {
      report(codes::TaskBadValue{}, span(*tests), "test", fmt::format("{} shapes", tests->size()),
             fmt::format("1 to {}", kMaxShapes));
      return;
    }
    for (const toml::node& node : *tests) {
      if (is(node, toml::node_type::table, "test", "shapes such as { M = 33 }")) {
        task_.test_shapes.push_back(read_shape(*node.as_table()));
        check_volume(*node.as_table(), task_.test_shapes.back());
      }
    }
  }

  void check_volume(const toml::table& table, const Shape& shape) {
    for (size_t i = 0; i < task_.operand_count; ++i) {
      double count = 1;
      if (task_.storage[i].is_packed) {
        for (spec::DimId dim : task_.computation.tensors[i].dims) {
          count *= static_cast<double>(shape[dim.index]);
        }
      } else {
        for (size_t axis = 0; axis < task_.storage[i].strides.size(); ++axis) {
          double reach = static_cast<double>(shape[task_.computation.tensors[i].dims[axis].index]);
          reach *= static_cast<double>(task_.storage[i].strides[axis].factor);
          for (spec::DimId size : task_.storage[i].strides[axis].sizes) {
            reach *= static_cast<double>(shape[size.index]);
          }
          count += reach;
        }
      }
      if (count > kMaxElements) {
        report(codes::TaskBadValue{}, span(table), fmt::format("the size of `{}`", task_.computation.tensors[i].name),
               "more than 2^58 elements", "fewer");
      }
    }
  }

  Shape read_shape(const toml::table& table) {
    const spec::Computation& computation = task_.computation;
    for (const auto& [key, value] : table) {
      size_named(key.str(), span(key.source()));
    }
    Shape shape;
    for (size_t i = 0; i < computation.dims.size(); ++i) {
      const spec::Dim& dim = computation.dims[i];
      const toml::node* node = table.get(dim.name);
      std::optional<int64_t> extent;
      if (node != nullptr) {
        extent = integer_of(*node, dim.name, 1, kMaxExtent);
      } else if (!dim.fixed.has_value()) {
        missing(table, dim.name, "a shape");
      }
      shape.push_back(extent.value_or(dim.fixed.value_or(1)));
      if (extent.has_value() && !task_.domain.ranges[i].contains(*extent)) {
        report(codes::TaskOutsideDomain{}, span(*node), dim.name, *extent,
               spec::print(dim.name, task_.domain.ranges[i]));
      }
    }
    return shape;
  }

  diag::SourceManager& sources_;
  diag::Sink& sink_;
  diag::FileId file_;
  std::string_view source_;
  Task task_;
  std::optional<diag::Reported> reported_;
};

}  // namespace

Checked<Task> parse(std::string path, std::string text, diag::SourceManager& sources, diag::Sink& sink) {
  return Reader(std::move(path), std::move(text), sources, sink).run();
}

}  // namespace tw::task

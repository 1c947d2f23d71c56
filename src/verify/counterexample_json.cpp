// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <fmt/format.h>

#include "verify/verify.h"

namespace tw::verify {
namespace {

constexpr std::array<std::string_view, 7> kReplayNames{"none", "reading", "difference", "machine",
                                                       "tags", "task",    "layout"};

std::string text_or_empty(const json::Value& value, std::string_view key) {
  return value.get_string(key) ? *value.get_string(key) : "";
}

std::optional<int64_t> int_or_nothing(const json::Value& value, std::string_view key) {
  auto found = value.get_int(key);
  return found ? std::optional(*found) : std::nullopt;
}

// {"M": 128, ...}
Result<std::vector<std::pair<std::string, int64_t>>> numbers(const json::Value& value, std::string_view key) {
  std::vector<std::pair<std::string, int64_t>> out;
  const json::Value* member = value.find(key);
  if (member == nullptr) {
    return out;
  }
  if (!member->is_object()) {
    return fail(fmt::format("`{}` is no object", key));
  }
  for (const auto& [name, number] : member->as_object().members()) {
    if (!number.is_int()) {
      return fail(fmt::format("`{}.{}` is no integer", key, name));
    }
    out.emplace_back(name, number.as_int());
  }
  return out;
}

Result<std::vector<int64_t>> integers(const json::Value& value, std::string_view key) {
  std::vector<int64_t> out;
  const json::Value* member = value.find(key);
  if (member == nullptr) {
    return out;
  }
  if (!member->is_array()) {
    return fail(fmt::format("`{}` is no array", key));
  }
  for (const json::Value& number : member->as_array()) {
    if (!number.is_int()) {
      return fail(fmt::format("`{}` holds something else than integers", key));
    }
    out.push_back(number.as_int());
  }
  return out;
}

Result<std::vector<TouchedElement>> touched_elements(const json::Value& value) {
  std::vector<TouchedElement> out;
  const json::Value* list = value.find("elements");
  if (list == nullptr) {
    return out;
  }
  if (!list->is_array()) {
    return fail("`elements` is no array");
  }
  for (const json::Value& item : list->as_array()) {
    TouchedElement element;
    TW_TRY(element.tensor, item.get_string("tensor"));
    TW_TRY(element.coords, integers(item, "element"));
    TW_TRY(element.reaches, item.get_bool("reaches"));
    element.is_second = int_or_nothing(item, "factor") == 2;
    out.push_back(std::move(element));
  }
  return out;
}

bool flag(const json::Value& value, std::string_view key) {
  return value.get_bool(key) && *value.get_bool(key);
}

}  // namespace

std::string_view name_of(ReplayKind kind) {
  return kReplayNames[static_cast<size_t>(kind)];
}

Result<Counterexample> counterexample_from_json(const json::Value& value) {
  TW_TRY(const std::string schema, value.get_string("schema"));
  if (schema != "tw.counterexample/1") {
    return fail(fmt::format("its schema is `{}`, not `tw.counterexample/1`", schema.substr(0, 40)));
  }
  Counterexample out;
  TW_TRY(out.rule, value.get_string("rule"));
  out.obligation = text_or_empty(value, "obligation");
  out.claim = text_or_empty(value, "claim");
  TW_TRY(out.sizes, numbers(value, "sizes"));
  TW_TRY(out.tile, numbers(value, "tile"));
  TW_TRY(out.iterations, numbers(value, "iterations"));
  TW_TRY(out.element, integers(value, "element"));
  TW_TRY(out.elements, touched_elements(value));
  out.is_product = flag(value, "is_product");
  out.is_summand = flag(value, "is_summand");
  if (const json::Value* watched = value.find("watched"); watched != nullptr && watched->is_object()) {
    TW_TRY(const int64_t op, watched->get_int("op"));
    out.watched = WatchedValue{static_cast<uint32_t>(op), text_or_empty(*watched, "program") == "source"};
  }
  out.block = int_or_nothing(value, "block");
  out.thread = int_or_nothing(value, "thread");
  out.object = text_or_empty(value, "object");
  out.expected = text_or_empty(value, "expected");
  out.got = text_or_empty(value, "got");
  out.seed = static_cast<uint64_t>(int_or_nothing(value, "seed").value_or(1));
  if (const json::Value* schedule = value.find("schedule")) {
    out.schedule = *schedule;
  }
  if (const json::Value* replay = value.find("replay"); replay != nullptr && replay->is_object()) {
    const std::string kind = text_or_empty(*replay, "kind");
    for (size_t i = 0; i < kReplayNames.size(); ++i) {
      if (kReplayNames[i] == kind) {
        out.replay = static_cast<ReplayKind>(i);
      }
    }
    out.replay_finding = text_or_empty(*replay, "finding");
  }
  return out;
}

}  // namespace tw::verify

// SPDX-License-Identifier: Apache-2.0
#include "sema/builtins.h"

#include <algorithm>
#include <unordered_map>

#include "base/strings.h"

namespace tw::sema {
namespace {

std::vector<BuiltinParameter> parse_signature(std::string_view signature) {
  std::vector<BuiltinParameter> out;
  if (signature.empty()) {
    return out;
  }
  bool is_keyword_only = false;
  for (std::string_view part : split(signature, ',')) {
    part = trim(part);
    if (part == "*") {
      is_keyword_only = true;
      continue;
    }
    BuiltinParameter parameter;
    parameter.is_variadic = part.starts_with('*');
    part.remove_prefix(std::min(part.find_first_not_of('*'), part.size()));
    parameter.is_later = part.ends_with("=!");
    parameter.is_required = !parameter.is_variadic && part.find('=') == std::string_view::npos;
    // What follows `*items` can only be named.
    parameter.is_keyword_only = is_keyword_only;
    is_keyword_only = is_keyword_only || parameter.is_variadic;
    parameter.name = std::string(part.substr(0, part.find('=')));
    out.push_back(std::move(parameter));
  }
  return out;
}

constexpr bool Lowered = true;
constexpr bool Later = false;

const std::vector<Builtin>& table() {
  static const std::vector<Builtin> entries = {
#define TW_BUILTIN(NAME, KIND, STATE, SIGNATURE) \
  Builtin{BuiltinId::k_##NAME, #NAME, BuiltinKind::KIND, STATE, parse_signature(SIGNATURE)},
#include "sema/builtins.def"
#undef TW_BUILTIN
  };
  return entries;
}

}  // namespace

std::span<const Builtin> builtins() {
  return table();
}

const Builtin* find_builtin(std::string_view name) {
  static const std::unordered_map<std::string_view, const Builtin*> index = [] {
    std::unordered_map<std::string_view, const Builtin*> out;
    for (const Builtin& entry : table()) {
      out[entry.name] = &entry;
    }
    return out;
  }();
  auto found = index.find(name);
  return found != index.end() ? found->second : nullptr;
}

}  // namespace tw::sema

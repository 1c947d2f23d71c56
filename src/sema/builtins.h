// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tw::sema {

enum class BuiltinKind : uint8_t { Type, Declaration, Decorator, Loop, Context, Function, Word };

// One name of the language; the enumerators carry a prefix because some are keywords of C++.
enum class BuiltinId : uint8_t {
#define TW_BUILTIN(NAME, KIND, STATE, SIGNATURE) k_##NAME,
#include "sema/builtins.def"
#undef TW_BUILTIN
};

struct BuiltinParameter {
  std::string name;
  bool is_required = true;
  bool is_keyword_only = false;
  // Takes all further positional arguments.
  bool is_variadic = false;
  // Refused for now.
  bool is_later = false;
};

struct Builtin {
  BuiltinId id;
  std::string_view name;
  BuiltinKind kind;
  // False: part of the language, not lowered yet.
  bool is_lowered;
  std::vector<BuiltinParameter> parameters;
};

std::span<const Builtin> builtins();
// nullptr when there is none.
const Builtin* find_builtin(std::string_view name);

}  // namespace tw::sema

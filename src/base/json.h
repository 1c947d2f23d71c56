// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tw::json {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;

// Members in the order in which they were added, so that what we write is the same in every run.
// Objects in records are small: look-up is linear.
class Object {
 public:
  Object() = default;
  Object(std::initializer_list<Member> members);

  // nullptr when there is no such member.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  // Replaces the member or adds it at the end.
  Object& set(std::string_view key, Value value);
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // Defined below, where Member is a complete type.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] bool is_empty() const;
  friend bool operator==(const Object& a, const Object& b);

 private:
  std::vector<Member> members_;
};

enum class Kind : uint8_t { Null, Bool, Int, Uint, Double, String, Array, Object };

// A JSON value. Integers keep all 64 bits: Int when they fit int64_t, Uint above that.
class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : state_(value) {}
  template <std::signed_integral T>
  Value(T value) : state_(static_cast<int64_t>(value)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) {
    if (static_cast<uint64_t>(value) <= static_cast<uint64_t>(INT64_MAX)) {
      state_ = static_cast<int64_t>(value);
    } else {
      state_ = static_cast<uint64_t>(value);
    }
  }
  Value(double value) : state_(value) {}
  Value(std::string value) : state_(std::move(value)) {}
  Value(std::string_view value) : state_(std::string(value)) {}
  Value(const char* value) : state_(std::string(value)) {}
  Value(Array value) : state_(std::move(value)) {}
  Value(Object value) : state_(std::move(value)) {}

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(state_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::Null; }
  [[nodiscard]] bool is_bool() const { return kind() == Kind::Bool; }
  // True for Int only: a value above INT64_MAX is not one.
  [[nodiscard]] bool is_int() const { return kind() == Kind::Int; }
  [[nodiscard]] bool is_number() const { return kind() == Kind::Int || kind() == Kind::Uint || kind() == Kind::Double; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::String; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::Array; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::Object; }

  // REQUIRES: the kind that the name says (as_double: any number; as_uint: Uint, or Int >= 0).
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] int64_t as_int() const;
  [[nodiscard]] uint64_t as_uint() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] const std::string& as_string() const;
  [[nodiscard]] const Array& as_array() const;
  [[nodiscard]] Array& as_array();
  [[nodiscard]] const Object& as_object() const;
  [[nodiscard]] Object& as_object();

  // Member of an object; nullptr when this is no object or has no such member.
  [[nodiscard]] const Value* find(std::string_view key) const;
  // REQUIRES: an object, or null (which becomes an object).
  Value& set(std::string_view key, Value value);
  // REQUIRES: an array, or null (which becomes an array).
  Value& push_back(Value value);

  // For reading records written by somebody else: the error names the key and what was found.
  [[nodiscard]] Result<std::string> get_string(std::string_view key) const;
  [[nodiscard]] Result<int64_t> get_int(std::string_view key) const;
  [[nodiscard]] Result<double> get_double(std::string_view key) const;
  [[nodiscard]] Result<bool> get_bool(std::string_view key) const;
  [[nodiscard]] Result<const Array*> get_array(std::string_view key) const;
  [[nodiscard]] Result<const Object*> get_object(std::string_view key) const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> state_ = nullptr;
};

inline size_t Object::size() const {
  return members_.size();
}
inline bool Object::is_empty() const {
  return members_.empty();
}

std::string_view kind_name(Kind kind);

// One line without spaces when `indent` is 0, else that many spaces a level. Bytes that are not UTF-8 become U+FFFD;
// NaN and the infinities, for which JSON has no number, become the strings "nan", "inf", "-inf".
std::string write(const Value& value, int indent = 0);
// `text` as a JSON string with its quotes.
std::string quote(std::string_view text);

struct ParseLimits {
  int depth = 64;
  size_t size_bytes = size_t{256} << 20;
};

// Strict: one value, no comments, no trailing comma, UTF-8 only, no key twice in one object.
Result<Value> parse(std::string_view text, ParseLimits limits = {});

}  // namespace tw::json

// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace tw::json {

Object::Object(std::initializer_list<Member> members) {
  for (const Member& member : members) {
    set(member.first, member.second);
  }
}

const Value* Object::find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) {
      return &member.second;
    }
  }
  return nullptr;
}

Value* Object::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Object& Object::set(std::string_view key, Value value) {
  if (Value* found = find(key)) {
    *found = std::move(value);
  } else {
    members_.emplace_back(key, std::move(value));
  }
  return *this;
}

bool operator==(const Object& a, const Object& b) {
  return a.members_ == b.members_;
}
bool operator==(const Value& a, const Value& b) {
  return a.state_ == b.state_;
}

bool Value::as_bool() const {
  TW_CHECK(is_bool());
  return std::get<bool>(state_);
}

int64_t Value::as_int() const {
  TW_CHECK(is_int());
  return std::get<int64_t>(state_);
}

uint64_t Value::as_uint() const {
  if (kind() == Kind::Uint) {
    return std::get<uint64_t>(state_);
  }
  TW_CHECK(is_int() && std::get<int64_t>(state_) >= 0);
  return static_cast<uint64_t>(std::get<int64_t>(state_));
}

double Value::as_double() const {
  TW_CHECK(is_number());
  switch (kind()) {
    case Kind::Int:
      return static_cast<double>(std::get<int64_t>(state_));
    case Kind::Uint:
      return static_cast<double>(std::get<uint64_t>(state_));
    default:
      return std::get<double>(state_);
  }
}

const std::string& Value::as_string() const {
  TW_CHECK(is_string());
  return std::get<std::string>(state_);
}

const Array& Value::as_array() const {
  TW_CHECK(is_array());
  return std::get<Array>(state_);
}

Array& Value::as_array() {
  TW_CHECK(is_array());
  return std::get<Array>(state_);
}

const Object& Value::as_object() const {
  TW_CHECK(is_object());
  return std::get<Object>(state_);
}

Object& Value::as_object() {
  TW_CHECK(is_object());
  return std::get<Object>(state_);
}

const Value* Value::find(std::string_view key) const {
  return is_object() ? as_object().find(key) : nullptr;
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) {
    state_ = Object{};
  }
  as_object().set(key, std::move(value));
  return *this;
}

Value& Value::push_back(Value value) {
  if (is_null()) {
    state_ = Array{};
  }
  as_array().push_back(std::move(value));
  return *this;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::Null:
      return "null";
    case Kind::Bool:
      return "a truth value";
    case Kind::Int:
      return "an integer";
    case Kind::Uint:
      return "an integer above 2^63 - 1";
    case Kind::Double:
      return "a number";
    case Kind::String:
      return "a string";
    case Kind::Array:
      return "a list";
    case Kind::Object:
      return "an object";
  }
  return "?";
}

namespace {

Result<const Value*> get_member(const Value& value, std::string_view key, std::string_view wanted,
                                bool (*is_wanted)(const Value&)) {
  if (!value.is_object()) {
    return fail(fmt::format("expected an object with `{}`, found {}", key, kind_name(value.kind())));
  }
  const Value* member = value.find(key);
  if (member == nullptr) {
    return fail(fmt::format("`{}` is missing", key));
  }
  if (!is_wanted(*member)) {
    return fail(fmt::format("`{}` is {}, expected {}", key, kind_name(member->kind()), wanted));
  }
  return member;
}

}  // namespace

Result<std::string> Value::get_string(std::string_view key) const {
  TW_TRY(const Value* member, get_member(*this, key, "a string", [](const Value& v) { return v.is_string(); }));
  return member->as_string();
}

Result<int64_t> Value::get_int(std::string_view key) const {
  TW_TRY(const Value* member, get_member(*this, key, "an integer", [](const Value& v) { return v.is_int(); }));
  return member->as_int();
}

Result<double> Value::get_double(std::string_view key) const {
  TW_TRY(const Value* member, get_member(*this, key, "a number", [](const Value& v) { return v.is_number(); }));
  return member->as_double();
}

Result<bool> Value::get_bool(std::string_view key) const {
  TW_TRY(const Value* member, get_member(*this, key, "a truth value", [](const Value& v) { return v.is_bool(); }));
  return member->as_bool();
}

Result<const Array*> Value::get_array(std::string_view key) const {
  TW_TRY(const Value* member, get_member(*this, key, "a list", [](const Value& v) { return v.is_array(); }));
  return &member->as_array();
}

Result<const Object*> Value::get_object(std::string_view key) const {
  TW_TRY(const Value* member, get_member(*this, key, "an object", [](const Value& v) { return v.is_object(); }));
  return &member->as_object();
}

namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      size_t length = utf8_length(text.substr(i));
      if (length == 0) {
        out += "\xEF\xBF\xBD";
        ++i;
      } else {
        out += text.substr(i, length);
        i += length;
      }
      continue;
    }
    ++i;
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
        } else {
          out += static_cast<char>(byte);
        }
    }
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    size_t begin = out.size();
    fmt::format_to(std::back_inserter(out), "{}", value);
    // A whole double stays a double when it is read back.
    if (out.find_first_of(".e", begin) == std::string::npos) {
      out += ".0";
    }
  }
}

class Writer {
 public:
  Writer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void write(const Value& value, int level) {
    switch (value.kind()) {
      case Kind::Null:
        out_ += "null";
        break;
      case Kind::Bool:
        out_ += value.as_bool() ? "true" : "false";
        break;
      case Kind::Int:
        fmt::format_to(std::back_inserter(out_), "{}", value.as_int());
        break;
      case Kind::Uint:
        fmt::format_to(std::back_inserter(out_), "{}", value.as_uint());
        break;
      case Kind::Double:
        append_double(out_, value.as_double());
        break;
      case Kind::String:
        append_quoted(out_, value.as_string());
        break;
      case Kind::Array:
        write_array(value.as_array(), level);
        break;
      case Kind::Object:
        write_object(value.as_object(), level);
        break;
    }
  }

 private:
  void write_array(const Array& array, int level) {
    // Lists of plain values stay on one line also when indented: they are coordinates and shapes.
    bool is_flat = indent_ == 0;
    if (!is_flat) {
      is_flat = true;
      for (const Value& element : array) {
        is_flat = is_flat && !element.is_array() && !element.is_object();
      }
    }
    out_ += '[';
    bool is_first = true;
    for (const Value& element : array) {
      if (!is_first) {
        out_ += is_flat && indent_ > 0 ? ", " : ",";
      }
      is_first = false;
      if (!is_flat) {
        new_line(level + 1);
      }
      write(element, level + 1);
    }
    if (!is_flat && !array.empty()) {
      new_line(level);
    }
    out_ += ']';
  }

  void write_object(const Object& object, int level) {
    out_ += '{';
    bool is_first = true;
    for (const Member& member : object.members()) {
      if (!is_first) {
        out_ += ',';
      }
      is_first = false;
      new_line(level + 1);
      append_quoted(out_, member.first);
      out_ += indent_ > 0 ? ": " : ":";
      write(member.second, level + 1);
    }
    if (!object.is_empty()) {
      new_line(level);
    }
    out_ += '}';
  }

  void new_line(int level) {
    if (indent_ > 0) {
      out_ += '\n';
      out_.append(static_cast<size_t>(level) * static_cast<size_t>(indent_), ' ');
    }
  }

  std::string& out_;
  int indent_;
};

// Builds our values from the events of the library's parser, which keeps its own explicit stack: deep nesting costs
// memory there, never our call stack, and stops at the limit.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(int max_depth) : max_depth_(max_depth) {}

  bool null() override { return put(Value()); }
  bool boolean(bool value) override { return put(Value(value)); }
  bool number_integer(number_integer_t value) override { return put(Value(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override { return put(Value(uint64_t{value})); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(Value(double{value})); }
  bool string(string_t& value) override { return put(Value(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*count*/) override { return open(Value(Object{})); }
  bool end_object() override { return close(); }
  bool start_array(size_t /*count*/) override { return open(Value(Array{})); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.back().value.find(name) != nullptr) {
      return stop(fmt::format("the key {} appears twice in one object", quote(name)));
    }
    stack_.back().key = std::move(name);
    return true;
  }

  bool parse_error(size_t offset_bytes, const std::string& /*token*/, const nlohmann::detail::exception& why) override {
    std::string_view text = why.what();
    // The library opens with its own error number in brackets.
    if (size_t bracket = text.find("] "); bracket != std::string_view::npos) {
      text.remove_prefix(bracket + 2);
    }
    return stop(fmt::format("byte {}: {}", offset_bytes, sanitize_utf8(text)));
  }

  Result<Value> finish() && {
    if (!error_.empty()) {
      return fail(Error{"not a JSON document", {std::move(error_)}});
    }
    return std::move(root_);
  }

 private:
  struct Open {
    Value value;
    std::string key;
  };

  bool stop(std::string why) {
    if (error_.empty()) {
      error_ = std::move(why);
    }
    return false;
  }

  bool open(Value value) {
    if (static_cast<int>(stack_.size()) >= max_depth_) {
      return stop(fmt::format("nested deeper than {} levels", max_depth_));
    }
    stack_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    Value value = std::move(stack_.back().value);
    stack_.pop_back();
    return put(std::move(value));
  }

  bool put(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().value.is_array()) {
      stack_.back().value.as_array().push_back(std::move(value));
    } else {
      stack_.back().value.as_object().set(stack_.back().key, std::move(value));
    }
    return true;
  }

  int max_depth_;
  std::vector<Open> stack_;
  Value root_;
  std::string error_;
};

}  // namespace

std::string quote(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::string write(const Value& value, int indent) {
  std::string out;
  Writer(out, indent).write(value, 0);
  return out;
}

Result<Value> parse(std::string_view text, ParseLimits limits) {
  if (text.size() > limits.size_bytes) {
    return fail(Error{"not a JSON document that can be read",
                      {fmt::format("{} bytes, the limit is {}", text.size(), limits.size_bytes)}});
  }
  TreeBuilder builder(limits.depth);
  try {
    nlohmann::json::sax_parse(text, &builder, nlohmann::json::input_format_t::json, /*strict=*/true);
  } catch (const std::exception& why) {
    return fail(Error{"not a JSON document", {why.what()}});
  }
  return std::move(builder).finish();
}

}  // namespace tw::json

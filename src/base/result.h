// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace tw {

// What went wrong in the world outside the program (a missing file, a full disk, a compiler that is not there).
// `causes` goes from the nearest cause to the root.
struct Error {
  std::string message;
  std::vector<std::string> causes;

  // The same error seen from one level up: `message` becomes the first cause.
  [[nodiscard]] Error within(std::string outer_message) && {
    causes.insert(causes.begin(), std::move(message));
    message = std::move(outer_message);
    return std::move(*this);
  }
};

template <class E>
struct Failure {
  E error;
};

template <class E>
Failure<std::decay_t<E>> fail(E&& error) {
  return {std::forward<E>(error)};
}
inline Failure<Error> fail(const char* message) {
  return {Error{message, {}}};
}
inline Failure<Error> fail(std::string message) {
  return {Error{std::move(message), {}}};
}

// A value or the reason why there is none. Shaped like std::expected (C++23), so that it can become that.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = E;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <class F>
  Result(Failure<F> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value().
  T& value() & {
    TW_CHECK(has_value());
    return std::get<0>(state_);
  }
  const T& value() const& {
    TW_CHECK(has_value());
    return std::get<0>(state_);
  }
  T&& value() && {
    TW_CHECK(has_value());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T value_or(T fallback) const { return has_value() ? value() : std::move(fallback); }

  // REQUIRES: !has_value().
  const E& error() const& {
    TW_CHECK(!has_value());
    return std::get<1>(state_);
  }
  E&& error() && {
    TW_CHECK(!has_value());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  Result() = default;
  template <class F>
  Result(Failure<F> failure) : error_(std::move(failure.error)) {}

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const E& error() const& {
    TW_CHECK(!has_value());
    return *error_;
  }
  E&& error() && {
    TW_CHECK(!has_value());
    return *std::move(error_);
  }

 private:
  std::optional<E> error_;
};

using Status = Result<void>;

}  // namespace tw

// Evaluates `expression` (a Result); on failure returns its error from the enclosing function, else binds
// `declaration`.
#define TW_CONCAT_INNER(a, b) a##b
#define TW_CONCAT(a, b) TW_CONCAT_INNER(a, b)
#define TW_TRY(declaration, expression) TW_TRY_AS(TW_CONCAT(tw_try_, __LINE__), declaration, expression)
#define TW_TRY_AS(name, declaration, expression) \
  auto name = (expression);                      \
  if (!name) {                                   \
    return ::tw::fail(std::move(name).error());  \
  }                                              \
  declaration = *std::move(name)
#define TW_TRY_STATUS(expression)                      \
  do {                                                 \
    if (auto tw_status = (expression); !tw_status) {   \
      return ::tw::fail(std::move(tw_status).error()); \
    }                                                  \
  } while (false)

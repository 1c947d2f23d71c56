// SPDX-License-Identifier: Apache-2.0
// Evaluates the algebra for the agreement tests: one operation a line, `name|argument|...` in the text form, and one
// line of answer: the result in the text form, or `!law-name sentence` when there is none.
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layout/complement.h"
#include "layout/composition.h"
#include "layout/coordinate.h"
#include "layout/divide.h"
#include "layout/enumerate.h"
#include "layout/inverse.h"
#include "layout/product.h"
#include "layout/recast.h"
#include "layout/simplify.h"
#include "layout/slice.h"

namespace {

using namespace tw::layout;
using Arguments = std::vector<std::string>;
using Answer = Checked<std::string>;
using Handler = std::function<Answer(const Arguments&)>;

std::string text(const Layout& layout) {
  return layout.to_string();
}
std::string text(const IntTuple& tuple) {
  return tuple.to_string();
}
std::string text(const Swizzle& swizzle) {
  return swizzle.to_string();
}
std::string text(int64_t value) {
  return std::to_string(value);
}

Checked<int64_t> number(const std::string& argument) {
  TW_TRY(const IntTuple tuple, IntTuple::parse(argument));
  if (!tuple.is_int()) {
    return tw::layout::fail_law(Law::TextForm, {}, "a number is wanted");
  }
  return tuple.value();
}

template <class T>
Answer show(const Checked<T>& result) {
  if (!result) {
    return tw::fail(LayoutFailure(result.error()));
  }
  return text(*result);
}

template <class F>
Handler one(F f) {
  return [f](const Arguments& a) -> Answer {
    TW_TRY(const Layout layout, Layout::parse(a.at(0)));
    return show(f(layout));
  };
}

template <class F>
Handler two(F f) {
  return [f](const Arguments& a) -> Answer {
    TW_TRY(const Layout left, Layout::parse(a.at(0)));
    TW_TRY(const Layout right, Layout::parse(a.at(1)));
    return show(f(left, right));
  };
}

template <class F>
Handler with_tiler(F f) {
  return [f](const Arguments& a) -> Answer {
    TW_TRY(const Layout layout, Layout::parse(a.at(0)));
    TW_TRY(const Tiler tiler, Tiler::parse(a.at(1)));
    return show(f(layout, tiler));
  };
}

template <class F>
Handler with_tuple(F f) {
  return [f](const Arguments& a) -> Answer {
    TW_TRY(const Layout layout, Layout::parse(a.at(0)));
    TW_TRY(const IntTuple tuple, IntTuple::parse(a.at(1)));
    return show(f(layout, tuple));
  };
}

template <class F>
Handler with_number(F f) {
  return [f](const Arguments& a) -> Answer {
    TW_TRY(const Layout layout, Layout::parse(a.at(0)));
    TW_TRY(const int64_t n, number(a.at(1)));
    return show(f(layout, n));
  };
}

template <class F>
Handler tuples(F f) {
  return [f](const Arguments& a) -> Answer {
    TW_TRY(const IntTuple left, IntTuple::parse(a.at(0)));
    TW_TRY(const IntTuple right, IntTuple::parse(a.at(1)));
    return show(f(left, right));
  };
}

std::map<std::string, Handler, std::less<>> handlers() {
  using C = const Layout&;
  using T = const IntTuple&;
  std::map<std::string, Handler, std::less<>> h;
  h["show"] = one([](C a) -> Checked<Layout> { return a; });
  h["coalesce"] = one([](C a) -> Checked<Layout> { return coalesce(a); });
  h["coalesce_by"] = with_tuple([](C a, T p) { return coalesce(a, p); });
  h["filter"] = one([](C a) -> Checked<Layout> { return filter(a); });
  h["nullspace"] = one([](C a) -> Checked<Layout> { return nullspace(a); });
  h["right_inverse"] = one([](C a) { return right_inverse(a); });
  h["left_inverse"] = one([](C a) { return left_inverse(a); });
  h["size"] = one([](C a) -> Checked<int64_t> { return a.size(); });
  h["cosize"] = one([](C a) -> Checked<int64_t> { return a.cosize(); });
  h["composition"] = two([](C a, C b) { return composition(a, b); });
  h["max_common_layout"] = two([](C a, C b) { return max_common_layout(a, b); });
  h["max_common_vector"] = two([](C a, C b) { return max_common_vector(a, b); });
  h["blocked_product"] = two([](C a, C b) { return blocked_product(a, b); });
  h["raked_product"] = two([](C a, C b) { return raked_product(a, b); });
  h["compose_by"] = with_tiler([](C a, const Tiler& t) { return composition(a, t); });
  h["logical_divide"] = with_tiler([](C a, const Tiler& t) { return logical_divide(a, t); });
  h["zipped_divide"] = with_tiler([](C a, const Tiler& t) { return zipped_divide(a, t); });
  h["tiled_divide"] = with_tiler([](C a, const Tiler& t) { return tiled_divide(a, t); });
  h["flat_divide"] = with_tiler([](C a, const Tiler& t) { return flat_divide(a, t); });
  h["logical_product"] = with_tiler([](C a, const Tiler& t) { return logical_product(a, t); });
  h["zipped_product"] = with_tiler([](C a, const Tiler& t) { return zipped_product(a, t); });
  h["tiled_product"] = with_tiler([](C a, const Tiler& t) { return tiled_product(a, t); });
  h["flat_product"] = with_tiler([](C a, const Tiler& t) { return flat_product(a, t); });
  h["complement"] = with_tuple([](C a, T n) { return complement(a, n); });
  h["tile_to_shape"] = with_tuple([](C a, T s) { return tile_to_shape(a, s); });
  h["upcast"] = with_number([](C a, int64_t n) { return upcast(a, n); });
  h["downcast"] = with_number([](C a, int64_t n) { return downcast(a, n); });
  h["crd2idx"] = with_tuple([](C a, T c) { return crd2idx(c, a); });
  h["slice"] = with_tuple([](C a, T c) { return slice(c, a); });
  h["dice"] = with_tuple([](C a, T c) { return dice(c, a); });
  h["idx2crd"] = tuples([](T i, T s) { return idx2crd(i, s); });
  h["shape_div"] = tuples([](T a, T b) { return shape_div(a, b); });
  h["compatible"] = tuples([](T a, T b) -> Checked<int64_t> { return is_compatible(a, b) ? 1 : 0; });
  h["congruent"] = tuples([](T a, T b) -> Checked<int64_t> { return is_congruent(a, b) ? 1 : 0; });
  h["weakly_congruent"] = tuples([](T a, T b) -> Checked<int64_t> { return is_weakly_congruent(a, b) ? 1 : 0; });
  h["evenly_divides"] = tuples([](T a, T b) -> Checked<int64_t> { return is_evenly_divided(a, b) ? 1 : 0; });
  h["swizzle"] = [](const Arguments& a) -> Answer {
    TW_TRY(const Swizzle swizzle, Swizzle::parse(a.at(0)));
    TW_TRY(const int64_t offset, number(a.at(1)));
    return text(swizzle(offset));
  };
  h["swizzle_composition"] = [](const Arguments& a) -> Answer {
    TW_TRY(const Swizzle left, Swizzle::parse(a.at(0)));
    TW_TRY(const Swizzle right, Swizzle::parse(a.at(1)));
    return show(composition(left, right));
  };
  h["values"] = [](const Arguments& a) -> Answer {
    TW_TRY(const ComposedLayout layout, ComposedLayout::parse(a.at(0)));
    TW_TRY(const std::vector<int64_t> values, all_values(layout));
    return fmt::format("{}", fmt::join(values, ","));
  };
  return h;
}

Answer answer(const std::map<std::string, Handler, std::less<>>& table, std::string_view line) {
  Arguments parts(1);
  for (char c : line) {
    if (c == '|') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  const auto found = table.find(parts[0]);
  if (found == table.end() || parts.size() < 2) {
    return fail_law(Law::TextForm, {}, fmt::format("no operation `{}`", parts[0]));
  }
  parts.erase(parts.begin());
  parts.resize(3);
  return found->second(parts);
}

}  // namespace

int main() {
  const auto table = handlers();
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    const Answer result = answer(table, line);
    if (result) {
      std::cout << *result << '\n';
    } else {
      std::cout << '!' << law_name(result.error().law) << ' ' << result.error().sentence << '\n';
    }
  }
  return 0;
}

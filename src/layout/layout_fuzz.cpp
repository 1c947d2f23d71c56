// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as up to three texts and run through every operation. Nothing may crash, overflow or hang; answers
// on small domains must obey their law.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "layout/complement.h"
#include "layout/composition.h"
#include "layout/coordinate.h"
#include "layout/divide.h"
#include "layout/enumerate.h"
#include "layout/f2.h"
#include "layout/inverse.h"
#include "layout/product.h"
#include "layout/recast.h"
#include "layout/simplify.h"
#include "layout/slice.h"
#include "layout/tv.h"

namespace {

using namespace tw::layout;

constexpr int64_t kSmall = 512;

// The bytes as text of the grammar's own characters, so that random bytes often are a layout.
std::string readable(const uint8_t* data, size_t size) {
  static constexpr std::string_view kAlphabet = "0123456789(),:_|-<>Sw o  12482(),:";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += data[i] >= 0x20 && data[i] < 0x7f ? static_cast<char>(data[i]) : kAlphabet[data[i] % kAlphabet.size()];
  }
  return text;
}

void check_pair(const Layout& a, const Layout& b) {
  if (const auto r = composition(a, b); r && b.size() <= kSmall) {
    for (int64_t i = 0; i < b.size(); ++i) {
      TW_CHECK((*r)(i) == a(b(i)));
    }
  }
  if (const auto c = complement(a, b.shape()); c && c->size() > 1) {
    TW_CHECK((*c)(1) > 0);
  }
  if (const auto p = logical_product(a, Tiler(b))) {
    TW_CHECK(p->mode(0) == a);
  }
  (void)logical_divide(a, Tiler(b));
  (void)zipped_divide(a, Tiler(b));
  (void)flat_divide(a, Tiler(b));
  (void)blocked_product(a, b);
  (void)raked_product(a, b);
  (void)max_common_layout(a, b);
  (void)max_common_vector(a, b);
  (void)tile_to_shape(a, b.shape());
  (void)shape_div(a.shape(), b.shape());
  (void)coalesce(a, b.shape());
  (void)filter(a, b.shape());
  (void)is_compatible(a.shape(), b.shape());
  (void)is_evenly_divided(a.shape(), b.shape());
  (void)Layout::ordered(a.shape(), b.stride());
  (void)crd2idx(b.stride(), a);
  (void)idx2crd(b.stride(), a.shape());
  (void)idx2crd(b.stride(), a.shape(), a.stride());
  (void)crd2crd(b.stride(), a.shape(), b.shape());
  (void)slice(b.stride(), a);
}

void check_one(const Layout& a) {
  TW_CHECK(Layout::parse(a.to_string()).value() == a);
  const Layout merged = coalesce(a);
  const auto right = right_inverse(a);
  const auto left = left_inverse(a);
  if (a.size() <= kSmall) {
    for (int64_t i = 0; i < a.size(); ++i) {
      TW_CHECK(merged(i) == a(i));
      TW_CHECK(!left || a((*left)(a(i))) == a(i));
    }
    (void)first_collision(a);
    (void)first_gap(a, a.size());
    (void)TvMap::make(a, kSmall);
  }
  if (right && right->size() <= kSmall) {
    for (int64_t i = 0; i < right->size(); ++i) {
      TW_CHECK(a((*right)(i)) == i);
    }
  }
  (void)filter(a);
  (void)nullspace(a);
  (void)max_alignment(a);
  (void)F2Matrix::from_layout(a);
  (void)is_injective_by_strides(a);
  (void)divides_exactly(a, a.size());
  for (int64_t n : {int64_t{2}, int64_t{3}, int64_t{1} << 40, INT64_MAX}) {
    (void)upcast(a, n);
    (void)downcast(a, n);
    (void)domain_distribute(a.shape(), n);
    (void)a(n);
    (void)a(-n);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) {
    return 0;
  }
  const std::string text = readable(data, size);
  std::vector<Layout> layouts;
  size_t begin = 0;
  while (begin <= text.size() && layouts.size() < 3) {
    const size_t end = std::min(text.find('|', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    if (const auto layout = Layout::parse(part)) {
      layouts.push_back(*layout);
    }
    if (const auto composed = ComposedLayout::parse(part)) {
      (void)to_f2(*composed);
      (void)right_inverse(*composed);
      (void)recast(*composed, 16, 8);
      (void)recast(*composed, 8, 128);
      (void)composed->cosize_bound();
    }
    if (const auto tiler = Tiler::parse(part); tiler && !layouts.empty()) {
      (void)zipped_divide(layouts[0], *tiler);
      (void)tiled_product(layouts[0], *tiler);
      (void)composition(layouts[0], *tiler);
    }
    begin = end + 1;
  }
  for (const Layout& a : layouts) {
    check_one(a);
    for (const Layout& b : layouts) {
      check_pair(a, b);
    }
  }
  return 0;
}

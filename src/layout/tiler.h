// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/layout.h"

namespace tw::layout {

// What an operation applies mode by mode: a layout (an integer n is the layout n:1), `_` that leaves a mode alone, or a
// tuple of tilers, one for each of the first modes. Text: `<4:1, _, (2,2):(1,8)>`; an integer tuple such as `(128,64)`
// without strides is the shape-only tiler <128:1, 64:1>.
class Tiler {
 public:
  Tiler(Layout layout) : layout_(std::move(layout)) {}

  [[nodiscard]] static Tiler keep();
  [[nodiscard]] static Tiler modes(std::vector<Tiler> modes);
  // Each integer of the shape becomes a layout n:1, each tuple a tuple of tilers.
  [[nodiscard]] static Checked<Tiler> of_shape(const IntTuple& shape);
  [[nodiscard]] static Checked<Tiler> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] bool is_layout() const { return layout_.has_value(); }
  [[nodiscard]] bool is_tuple() const { return is_tuple_; }
  [[nodiscard]] bool is_keep() const { return !is_layout() && !is_tuple_; }
  // REQUIRES: is_layout().
  [[nodiscard]] const Layout& layout() const {
    TW_CHECK(is_layout());
    return *layout_;
  }
  [[nodiscard]] const std::vector<Tiler>& modes() const { return modes_; }

 private:
  Tiler() = default;
  std::optional<Layout> layout_;
  std::vector<Tiler> modes_;
  bool is_tuple_ = false;
};

}  // namespace tw::layout

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tw::tools {

// A grid of cells: what is written in each, and the number that chooses its colour (-1: none).
struct Cell {
  std::string text;
  int64_t color = -1;
};

struct Picture {
  std::string title;
  int64_t rows = 0;
  int64_t columns = 0;
  // Row by row.
  std::vector<Cell> cells;
};

[[nodiscard]] std::string render_table(const Picture& picture);
[[nodiscard]] std::string render_svg(const Picture& picture);

}  // namespace tw::tools

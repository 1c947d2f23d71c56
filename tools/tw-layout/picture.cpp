// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <algorithm>
#include <fmt/format.h>

namespace tw::tools {
namespace {

constexpr int kCellWidth = 44;
constexpr int kCellHeight = 24;
constexpr int kMargin = 40;

// Neighbouring numbers get hues far apart (the golden angle), all light enough for black text.
std::string color_of(int64_t number) {
  if (number < 0) {
    return "#ffffff";
  }
  const int64_t hue = number % 360 * 137 % 360;
  return fmt::format("hsl({},70%,{}%)", hue, 72 + number / 8 % 2 * 10);
}

std::string escape(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string render_table(const Picture& picture) {
  size_t width = std::to_string(std::max(picture.rows, picture.columns)).size();
  for (const Cell& cell : picture.cells) {
    width = std::max(width, cell.text.size());
  }
  std::string out = picture.title + "\n" + std::string(width, ' ');
  for (int64_t j = 0; j < picture.columns; ++j) {
    out += fmt::format(" {:>{}}", j, width);
  }
  out += '\n';
  for (int64_t i = 0; i < picture.rows; ++i) {
    out += fmt::format("{:>{}}", i, width);
    for (int64_t j = 0; j < picture.columns; ++j) {
      out += fmt::format(" {:>{}}", picture.cells[static_cast<size_t>(i * picture.columns + j)].text, width);
    }
    out += '\n';
  }
  return out;
}

std::string render_svg(const Picture& picture) {
  const int64_t width = kMargin + picture.columns * kCellWidth + 1;
  const int64_t height = 2 * kMargin + picture.rows * kCellHeight + 1;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"monospace\" font-size=\"11\" text-anchor=\"middle\">\n"
      "<title>{2}</title>\n<text x=\"4\" y=\"16\" text-anchor=\"start\" font-size=\"13\">{2}</text>\n",
      width, height, escape(picture.title));
  const auto text = [&](int64_t x, int64_t y, const std::string& content) {
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x, y, escape(content));
  };
  for (int64_t j = 0; j < picture.columns; ++j) {
    text(kMargin + j * kCellWidth + kCellWidth / 2, 2 * kMargin - 6, std::to_string(j));
  }
  for (int64_t i = 0; i < picture.rows; ++i) {
    const int64_t y = 2 * kMargin + i * kCellHeight;
    text(kMargin / 2, y + 16, std::to_string(i));
    for (int64_t j = 0; j < picture.columns; ++j) {
      const Cell& cell = picture.cells[static_cast<size_t>(i * picture.columns + j)];
      const int64_t x = kMargin + j * kCellWidth;
      out += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#444\" stroke-width=\"0.5\"/>\n", x,
          y, kCellWidth, kCellHeight, color_of(cell.color));
      text(x + kCellWidth / 2, y + 16, cell.text);
    }
  }
  return out + "</svg>\n";
}

}  // namespace tw::tools

// SPDX-License-Identifier: Apache-2.0
// Draws a layout, as text or as SVG. Links only the room `layout`.
#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "layout/composed.h"
#include "layout/enumerate.h"
#include "layout/f2.h"
#include "layout/tv.h"
#include "picture.h"

namespace {

using namespace tw::layout;
using tw::tools::Cell;
using tw::tools::Picture;

constexpr int kExitUsage = 2;
constexpr int kExitNoAnswer = 1;
constexpr int64_t kMaxCells = 1 << 16;

constexpr std::string_view kUsage = R"(usage: tw-layout [options] LAYOUT
  LAYOUT              shape:stride, as ((4,8),(2,2)):((32,1),(16,8)), or Sw<B,M,S> o offset o shape:stride
  --tile=M,N          LAYOUT is a thread/value layout onto an M x N tile (column-major index)
  --format=table|svg  how to draw (table)
  --color=index|thread|bank
                      what colours a cell of the SVG (thread with --tile, index otherwise)
  --element-bytes=N   size of an element for --color=bank (2)
The grid has the coordinates of the first mode as rows and those of the others as columns.
Exit codes: 0 drawn, 1 the layout or the map breaks a law, 2 usage.
)";

struct Options {
  std::string layout;
  std::string format = "table";
  std::string color;
  std::optional<std::pair<int64_t, int64_t>> tile;
  int64_t element_bytes = 2;
};

std::optional<int64_t> to_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    return std::nullopt;
  }
  return value;
}

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value_of = [&](std::string_view name) -> std::optional<std::string_view> {
      if (argument.substr(0, name.size()) != name) {
        return std::nullopt;
      }
      return argument.substr(name.size());
    };
    if (const auto tile = value_of("--tile=")) {
      const size_t comma = tile->find(',');
      const auto rows = to_number(tile->substr(0, comma));
      const auto columns = comma == std::string_view::npos ? std::nullopt : to_number(tile->substr(comma + 1));
      if (!rows || !columns) {
        return std::nullopt;
      }
      options.tile = std::pair(*rows, *columns);
    } else if (const auto format = value_of("--format=")) {
      options.format = *format;
    } else if (const auto color = value_of("--color=")) {
      options.color = *color;
    } else if (const auto bytes = value_of("--element-bytes=")) {
      const auto number = to_number(*bytes);
      if (!number) {
        return std::nullopt;
      }
      options.element_bytes = *number;
    } else if (argument.substr(0, 2) == "--" || !options.layout.empty()) {
      return std::nullopt;
    } else {
      options.layout = argument;
    }
  }
  if (options.color.empty()) {
    options.color = options.tile ? "thread" : "index";
  }
  const bool color_fits =
      options.color == "index" || options.color == "bank" || (options.color == "thread" && options.tile);
  if (options.layout.empty() || (options.format != "table" && options.format != "svg") || !color_fits) {
    return std::nullopt;
  }
  return options;
}

int64_t bank_of(int64_t element, int64_t element_bytes) {
  const BankModel model;
  return element < 0 ? -1 : element % (model.banks * model.word_bytes) * element_bytes / model.word_bytes % model.banks;
}

Checked<Picture> picture_of_values(const ComposedLayout& layout, const Options& options) {
  TW_TRY(const std::vector<int64_t> values, all_values(layout, kMaxCells));
  Picture picture;
  picture.title = layout.to_string();
  picture.rows = layout.rank() > 1 ? layout.inner().mode(0).size() : 1;
  picture.columns = layout.size() / picture.rows;
  for (int64_t i = 0; i < picture.rows; ++i) {
    for (int64_t j = 0; j < picture.columns; ++j) {
      const int64_t value = values[static_cast<size_t>(i + j * picture.rows)];
      picture.cells.push_back(
          {std::to_string(value), options.color == "bank" ? bank_of(value, options.element_bytes) : value});
    }
  }
  return picture;
}

Checked<Picture> picture_of_threads(const Layout& layout, const Options& options) {
  const auto [rows, columns] = *options.tile;
  TW_TRY(const int64_t tile_elems, checked_mul(rows, columns));
  if (tile_elems > kMaxCells) {
    return fail_law(Law::EnumerationLimit, {{"size", tile_elems}, {"limit", kMaxCells}},
                    fmt::format("a tile of {} elements is larger than the {} that are drawn", tile_elems, kMaxCells));
  }
  TW_TRY(const TvMap map, TvMap::make(layout, tile_elems));
  Picture picture;
  picture.title = fmt::format("{} onto {} x {}: {} threads x {} values, {}", layout.to_string(), rows, columns,
                              map.threads(), map.values(),
                              map.is_bijective() ? "each element once"
                                                 : fmt::format("{}, {}", map.is_covering() ? "covering" : "with gaps",
                                                               map.is_injective() ? "none twice" : "some twice"));
  picture.rows = rows;
  picture.columns = columns;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t element = i + j * rows;
      const auto owner = map.first_owner(element);
      Cell cell;
      cell.text = owner ? fmt::format("T{}V{}", owner->thread, owner->value) : "-";
      if (options.color == "bank") {
        cell.color = bank_of(element, options.element_bytes);
      } else if (owner) {
        cell.color = options.color == "thread" ? owner->thread : element;
      }
      picture.cells.push_back(std::move(cell));
    }
  }
  return picture;
}

Checked<Picture> make_picture(const Options& options) {
  TW_TRY(const ComposedLayout layout, ComposedLayout::parse(options.layout));
  if (!options.tile) {
    return picture_of_values(layout, options);
  }
  if (!layout.is_plain()) {
    return fail_law(Law::TextForm, {}, "a thread/value layout is drawn without a swizzle");
  }
  return picture_of_threads(layout.inner(), options);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse_options(argc, argv);
  if (!options) {
    std::cerr << kUsage;
    return kExitUsage;
  }
  const auto picture = make_picture(*options);
  if (!picture) {
    std::cerr << "tw-layout: " << picture.error().to_string() << '\n';
    return picture.error().law == Law::TextForm ? kExitUsage : kExitNoAnswer;
  }
  std::cout << (options->format == "svg" ? render_svg(*picture) : render_table(*picture));
  return std::cout.flush() ? 0 : kExitUsage;
}

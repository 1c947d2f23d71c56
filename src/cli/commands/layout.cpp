// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

#include "cli/commands/commands.h"
#include "cli/compile_one.h"
#include "cli/output.h"
#include "ir/address.h"

namespace tw::cli {
namespace {

constexpr int64_t kMostRows = 32;
constexpr int64_t kMostColumns = 32;
constexpr int64_t kBankBytes = 4;

// Rows and columns of the last two axes, cut to what fits a page.
struct Grid {
  int64_t rows = 1;
  int64_t columns = 1;
  bool is_cut = false;
};

Grid grid_of(const std::vector<int64_t>& shape) {
  Grid grid;
  if (!shape.empty()) {
    grid.columns = shape.back();
  }
  if (shape.size() > 1) {
    grid.rows = shape[shape.size() - 2];
  }
  grid.is_cut = grid.rows > kMostRows || grid.columns > kMostColumns;
  grid.rows = std::min(grid.rows, kMostRows);
  grid.columns = std::min(grid.columns, kMostColumns);
  return grid;
}

target::TileCoord coord_at(const std::vector<int64_t>& shape, int64_t row, int64_t column) {
  target::TileCoord coord{};
  if (!shape.empty()) {
    coord[shape.size() - 1] = static_cast<int32_t>(column);
  }
  if (shape.size() > 1) {
    coord[shape.size() - 2] = static_cast<int32_t>(row);
  }
  return coord;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string table(const Grid& grid, const std::function<std::string(int64_t, int64_t)>& cell) {
  std::string out;
  for (int64_t row = 0; row < grid.rows; ++row) {
    for (int64_t column = 0; column < grid.columns; ++column) {
      out += fmt::format("{:>8}", cell(row, column));
    }
    out += "\n";
  }
  return out + (grid.is_cut ? fmt::format("(first {} x {} elements)\n", grid.rows, grid.columns) : "");
}

std::string shared_text(const ir::SharedObject& object) {
  const ir::SharedLayout& layout = *object.layout;
  const ir::SlotAddress address(object);
  const Grid grid = grid_of(object.shape);
  std::string out =
      fmt::format("shared {} {} {}, ring {}, {} bytes a slot at byte {}\nelements {}, bytes swizzled by {}\n",
                  object.name, name_of(object.element), shape_text(object.shape), object.ring, layout.slot_bytes,
                  layout.offset_bytes, layout.elements.to_string(), layout.swizzle.to_string());
  out += "byte in the slot . bank\n";
  return out + table(grid, [&](int64_t row, int64_t column) {
           const int64_t byte = address(coord_at(object.shape, row, column));
           return fmt::format("{}.{:02}", byte, (layout.offset_bytes + byte) / kBankBytes % 32);
         });
}

std::string value_text(const ir::Value& value) {
  const target::TvLayout& map = *value.layout;
  const Grid grid = grid_of(value.shape);
  std::string out = fmt::format("registers {} {} {}, {} values a thread\n{}\n", value.name, name_of(value.element),
                                shape_text(value.shape), map.value_count(), map.to_string());
  std::map<target::TileCoord, std::pair<int64_t, int64_t>> holder;
  for (int64_t thread = 0; thread < map.thread_count(); ++thread) {
    for (int64_t v = 0; map.is_first_owner(thread) && v < map.value_count(); ++v) {
      holder.try_emplace(map.coord(thread, v), thread, v);
    }
  }
  out += "thread.value\n";
  return out + table(grid, [&](int64_t row, int64_t column) {
           auto found = holder.find(coord_at(value.shape, row, column));
           return found == holder.end() ? std::string("-")
                                        : fmt::format("{}.{}", found->second.first, found->second.second);
         });
}

}  // namespace

ExitCode layout_command(const Options& options) {
  driver::Session session;
  OneKernel one = compile_one(session, options.files.front(), options);
  if (!one.kernel) {
    return one.exit_code;
  }
  const ir::Function& f = one.kernel->lowered;
  for (const ir::SharedObject& object : f.shared) {
    if (object.name == options.tile) {
      if (options.format == Format::Json) {
        print_json(json::Object{{"schema", "tw.layout/1"},
                                {"tile", object.name},
                                {"memory", "shared"},
                                {"elements", object.layout->elements.to_string()},
                                {"swizzle", object.layout->swizzle.to_string()},
                                {"slot_bytes", object.layout->slot_bytes},
                                {"offset_bytes", object.layout->offset_bytes}});
      } else {
        print_result(shared_text(object));
      }
      return ExitCode::Good;
    }
  }
  // Several values may have the name; the first is what the name was bound to first.
  auto value = std::ranges::find_if(f.values, [&](const ir::Value& v) { return v.name == options.tile && v.layout; });
  if (value == f.values.end()) {
    print_error(diag::codes::NoSuchTile::kInfo,
                {fmt::format("`{}` is neither a shared nor a register tile of `{}`", options.tile, f.name), {}},
                options);
    return ExitCode::Usage;
  }
  if (options.format == Format::Json) {
    print_json(json::Object{{"schema", "tw.layout/1"},
                            {"tile", value->name},
                            {"memory", "registers"},
                            {"map", value->layout->to_string()}});
  } else {
    print_result(value_text(*value));
  }
  return ExitCode::Good;
}

}  // namespace tw::cli

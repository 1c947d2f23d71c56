// SPDX-License-Identifier: Apache-2.0
#include "base/line_diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace tw {
namespace {

using Lines = std::vector<std::string_view>;

// Lines with their ends, so that a missing last line end is a difference.
Lines lines_with_ends(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

struct Step {
  // ' ' in both, '-' only before, '+' only after.
  char kind;
  size_t before_index;
  size_t after_index;
};

// Myers' greedy search for the shortest edit script. Keeps one row of furthest points a distance, which is what the
// limit on the distance bounds.
std::vector<Step> shortest_script(const Lines& a, const Lines& b, size_t begin, size_t a_end, size_t b_end) {
  constexpr int kMaxDistance = 4000;
  const int n = static_cast<int>(a_end - begin);
  const int m = static_cast<int>(b_end - begin);
  const int limit = std::min(n + m, kMaxDistance);
  std::vector<std::vector<int>> rows;
  std::vector<int> furthest(2 * static_cast<size_t>(limit) + 3, 0);
  auto at = [&](std::vector<int>& row, int k) -> int& { return row[static_cast<size_t>(k + limit + 1)]; };
  int distance = -1;
  for (int d = 0; d <= limit && distance < 0; ++d) {
    // Only the diagonals -d..d can have changed; the copy is the row as it was before this distance.
    rows.emplace_back(furthest.begin() + (limit + 1 - d - 1), furthest.begin() + (limit + 1 + d + 2));
    for (int k = -d; k <= d; k += 2) {
      bool is_down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      int x = is_down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      int y = x - k;
      while (x < n && y < m && a[begin + static_cast<size_t>(x)] == b[begin + static_cast<size_t>(y)]) {
        ++x;
        ++y;
      }
      at(furthest, k) = x;
      if (x >= n && y >= m) {
        distance = d;
        break;
      }
    }
  }
  std::vector<Step> steps;
  if (distance < 0) {
    for (size_t i = begin; i < a_end; ++i) {
      steps.push_back({'-', i, begin});
    }
    for (size_t j = begin; j < b_end; ++j) {
      steps.push_back({'+', a_end, j});
    }
    return steps;
  }
  int x = n;
  int y = m;
  for (int d = distance; d > 0; --d) {
    const std::vector<int>& row = rows[static_cast<size_t>(d)];
    auto before = [&](int k) { return row[static_cast<size_t>(k + d + 1)]; };
    int k = x - y;
    bool is_down = k == -d || (k != d && before(k - 1) < before(k + 1));
    int previous_k = is_down ? k + 1 : k - 1;
    int previous_x = before(previous_k);
    int previous_y = previous_x - previous_k;
    while (x > previous_x && y > previous_y) {
      steps.push_back({' ', begin + static_cast<size_t>(--x), begin + static_cast<size_t>(--y)});
    }
    if (is_down) {
      steps.push_back({'+', begin + static_cast<size_t>(x), begin + static_cast<size_t>(--y)});
    } else {
      steps.push_back({'-', begin + static_cast<size_t>(--x), begin + static_cast<size_t>(y)});
    }
  }
  while (x > 0 && y > 0) {
    steps.push_back({' ', begin + static_cast<size_t>(--x), begin + static_cast<size_t>(--y)});
  }
  std::ranges::reverse(steps);
  return steps;
}

std::string hunk_range(size_t first_index, size_t count) {
  // A range without lines names the line before it.
  size_t start = count == 0 ? first_index : first_index + 1;
  return count == 1 ? fmt::format("{}", start) : fmt::format("{},{}", start, count);
}

void append_line(std::string& out, char kind, std::string_view line) {
  out += kind;
  out += line;
  if (!line.ends_with('\n')) {
    out += "\n\\ No newline at end of file\n";
  }
}

}  // namespace

std::string unified_diff(std::string_view before_name, std::string_view after_name, std::string_view before,
                         std::string_view after, int context_lines) {
  if (before == after) {
    return {};
  }
  const Lines a = lines_with_ends(before);
  const Lines b = lines_with_ends(after);
  size_t begin = 0;
  while (begin < std::min(a.size(), b.size()) && a[begin] == b[begin]) {
    ++begin;
  }
  size_t same_end = 0;
  while (same_end < std::min(a.size(), b.size()) - begin && a[a.size() - 1 - same_end] == b[b.size() - 1 - same_end]) {
    ++same_end;
  }
  const auto context = static_cast<size_t>(std::max(context_lines, 0));
  std::vector<Step> steps;
  for (size_t i = begin - std::min(begin, context); i < begin; ++i) {
    steps.push_back({' ', i, i});
  }
  for (const Step& step : shortest_script(a, b, begin, a.size() - same_end, b.size() - same_end)) {
    steps.push_back(step);
  }
  for (size_t i = 0; i < std::min(same_end, context); ++i) {
    steps.push_back({' ', a.size() - same_end + i, b.size() - same_end + i});
  }

  std::string out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  for (size_t i = 0; i < steps.size();) {
    if (steps[i].kind == ' ') {
      ++i;
      continue;
    }
    // The hunk goes on while the next change is near enough for the contexts to touch.
    size_t last_change = i;
    size_t end = i + 1;
    for (; end < steps.size() && end - last_change <= 2 * context; ++end) {
      if (steps[end].kind != ' ') {
        last_change = end;
      }
    }
    size_t first = i - std::min(i, context);
    // What an earlier hunk showed as its last context is not shown again: it was more than two contexts away.
    end = std::min(last_change + context + 1, steps.size());
    size_t before_count = 0;
    size_t after_count = 0;
    for (size_t j = first; j < end; ++j) {
      before_count += steps[j].kind != '+' ? 1 : 0;
      after_count += steps[j].kind != '-' ? 1 : 0;
    }
    out += fmt::format("@@ -{} +{} @@\n", hunk_range(steps[first].before_index, before_count),
                       hunk_range(steps[first].after_index, after_count));
    for (size_t j = first; j < end; ++j) {
      append_line(out, steps[j].kind, steps[j].kind == '+' ? b[steps[j].after_index] : a[steps[j].before_index]);
    }
    i = end;
  }
  return out;
}

}  // namespace tw

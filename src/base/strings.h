// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

std::string_view trim(std::string_view text);
// "a,,b" at ',' is {"a", "", "b"}; an empty text is {""}.
std::vector<std::string_view> split(std::string_view text, char separator);
// Lines without their ends ("\n" or "\r\n"); a last line end opens no further line.
std::vector<std::string_view> split_lines(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);
std::string to_lower(std::string_view text);
// Every line that is not empty starts with `prefix`.
std::string indent_lines(std::string_view text, std::string_view prefix);

// The whole text is one number, without spaces or a plus sign; nothing when it is not or does not fit.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_uint(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// Length in bytes of the UTF-8 character that `text` starts with; 0 when there is none (also for overlong forms,
// surrogates and the end of the text).
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);
// Bytes that are not UTF-8 become U+FFFD.
std::string sanitize_utf8(std::string_view text);
// Columns on a terminal, counting a character as one (wide scripts are not told apart).
size_t display_width(std::string_view text);

std::string to_hex(std::span<const uint8_t> bytes);
// 16 hexadecimal digits.
std::string to_hex(uint64_t value);

// `text` as one word of a POSIX shell command; plain words stay as they are.
std::string shell_quote(std::string_view text);
std::string shell_join(std::span<const std::string> argv);

// Number of insertions, deletions, replacements and swaps of neighbours between the two.
size_t edit_distance(std::string_view a, std::string_view b);
// The candidate that a typing mistake would explain ("did you mean"), or nothing.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace tw

// SPDX-License-Identifier: Apache-2.0
#include "toolchain/message.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"

namespace tw::toolchain {

namespace {

std::optional<int32_t> read_number(std::string_view text) {
  const std::optional<int64_t> value = parse_int(text);
  if (!value || *value < 0 || *value > INT32_MAX) {
    return std::nullopt;
  }
  return static_cast<int32_t>(*value);
}

bool eat(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

// `error`, `catastrophic error`, `warning #177-D`, `remark #20012-D`; leaves what follows the colon in `text`.
bool eat_severity(std::string_view& text, CompilerMessage& message) {
  if (eat(text, "catastrophic error") || eat(text, "internal error") || eat(text, "fatal error") ||
      eat(text, "error")) {
    message.severity = MessageSeverity::Error;
  } else if (eat(text, "warning")) {
    message.severity = MessageSeverity::Warning;
  } else if (eat(text, "remark") || eat(text, "note")) {
    message.severity = MessageSeverity::Info;
  } else {
    return false;
  }
  text = trim(text);
  if (eat(text, "#")) {
    const size_t end = text.find_first_of(": ");
    message.number = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    text = trim(text);
  }
  if (!eat(text, ":")) {
    return false;
  }
  text = trim(text);
  return true;
}

// `kernel.cu(3): error: identifier "x" is undefined`
std::optional<CompilerMessage> read_frontend_line(std::string_view line) {
  const size_t mark = line.find("): ");
  if (mark == std::string_view::npos) {
    return std::nullopt;
  }
  const size_t open = line.rfind('(', mark);
  if (open == std::string_view::npos || open == 0) {
    return std::nullopt;
  }
  const auto number = read_number(line.substr(open + 1, mark - open - 1));
  if (!number) {
    return std::nullopt;
  }
  CompilerMessage message;
  message.stage = "frontend";
  message.line = *number;
  std::string_view rest = line.substr(mark + 3);
  if (!eat_severity(rest, message)) {
    return std::nullopt;
  }
  message.text = rest;
  return message;
}

// `ptxas application ptx input, line 30; error   : Feature 'x' requires ...`, `ptxas fatal   : ...`,
// `ptxas info    : (C7510) Potential Performance Loss: ...`, `nvrtc: error: ...`, `nvcc fatal   : ...`
std::optional<CompilerMessage> read_tool_line(std::string_view line) {
  CompilerMessage message;
  std::string_view rest = line;
  if (eat(rest, "ptxas ")) {
    message.stage = "ptxas";
  } else if (eat(rest, "nvrtc: ") || eat(rest, "nvcc ") || eat(rest, "nvrtc ")) {
    message.stage = "driver";
  } else {
    return std::nullopt;
  }
  if (const size_t place = rest.find(", line "); place != std::string_view::npos) {
    const size_t end = rest.find(';', place);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    message.ptx_line = read_number(trim(rest.substr(place + 7, end - place - 7))).value_or(0);
    rest.remove_prefix(end + 1);
  }
  rest = trim(rest);
  if (eat(rest, "error") || eat(rest, "fatal")) {
    message.severity = MessageSeverity::Error;
  } else if (eat(rest, "warning")) {
    message.severity = MessageSeverity::Warning;
  } else if (eat(rest, "info")) {
    message.severity = MessageSeverity::Info;
  } else {
    return std::nullopt;
  }
  rest = trim(rest);
  if (!eat(rest, ":")) {
    return std::nullopt;
  }
  rest = trim(rest);
  if (rest.starts_with("(C")) {
    const size_t close = rest.find(')');
    if (close != std::string_view::npos) {
      message.number = rest.substr(1, close - 1);
      rest = trim(rest.substr(close + 1));
    }
  }
  // The table of `-v` comes as numberless information.
  if (message.severity == MessageSeverity::Info && message.number.empty()) {
    return std::nullopt;
  }
  message.text = rest;
  return message;
}

}  // namespace

std::vector<CompilerMessage> parse_compiler_log(std::string_view log) {
  std::vector<CompilerMessage> messages;
  const std::vector<std::string_view> lines = split_lines(log);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (auto message = read_frontend_line(lines[i])) {
      // The front end echoes the source line, indented by two, and puts a caret under the column; lines before the
      // echo continue the text.
      for (size_t j = i + 1; j < lines.size() && j <= i + 8 && !trim(lines[j]).empty(); ++j) {
        if (trim(lines[j]) == "^") {
          const size_t caret = lines[j].find('^');
          if (caret >= 2) {
            message->column = static_cast<int32_t>(caret) - 1;
          }
          i = j;
          break;
        }
        const bool is_echo = j + 1 < lines.size() && trim(lines[j + 1]) == "^";
        if (!is_echo) {
          if (read_frontend_line(lines[j]) || read_tool_line(lines[j])) {
            break;
          }
          message->text += ' ';
          message->text += trim(lines[j]);
        }
      }
      messages.push_back(*std::move(message));
    } else if (auto tool_message = read_tool_line(lines[i])) {
      messages.push_back(*std::move(tool_message));
    }
  }
  return messages;
}

std::vector<CompilerMessage> errors_first(std::vector<CompilerMessage> messages) {
  std::vector<CompilerMessage> sorted;
  sorted.reserve(messages.size());
  for (const bool is_error_turn : {true, false}) {
    for (CompilerMessage& message : messages) {
      if ((message.severity == MessageSeverity::Error) == is_error_turn) {
        sorted.push_back(std::move(message));
      }
    }
  }
  return sorted;
}

void locate_ptxas_messages(std::vector<CompilerMessage>& messages, std::string_view ptx) {
  const std::vector<std::string_view> lines = split_lines(ptx);
  for (CompilerMessage& message : messages) {
    if (message.ptx_line <= 0 || message.line != 0 || static_cast<size_t>(message.ptx_line) > lines.size()) {
      continue;
    }
    for (auto i = static_cast<size_t>(message.ptx_line); i-- > 0;) {
      std::string_view line = trim(lines[i]);
      if (line.starts_with(".entry") || line.starts_with(".visible .entry") || line.starts_with(".func")) {
        break;
      }
      // `.loc file line column`, then perhaps `, function_name ...` of an inlined place.
      if (!eat(line, ".loc")) {
        continue;
      }
      int32_t fields[3] = {0, 0, 0};
      bool is_complete = true;
      for (int32_t& field : fields) {
        line = trim(line);
        const size_t end = std::min(line.find_first_not_of("0123456789"), line.size());
        const auto number = read_number(line.substr(0, end));
        is_complete = is_complete && number.has_value();
        field = number.value_or(0);
        line.remove_prefix(end);
      }
      if (is_complete && fields[0] == 1 && fields[1] > 0) {
        message.line = fields[1];
        message.column = fields[2];
        break;
      }
    }
  }
}

}  // namespace tw::toolchain

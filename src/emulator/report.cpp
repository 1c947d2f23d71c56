// SPDX-License-Identifier: Apache-2.0
#include "emulator/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tw::emulator {
namespace {

json::Value numbers(const std::vector<int64_t>& values) {
  json::Array out;
  for (int64_t v : values) {
    out.emplace_back(v);
  }
  return out;
}

json::Value span_to_json(diag::Span span) {
  json::Value out;
  if (span.is_valid()) {
    out.set("file", span.file.index);
    out.set("begin", span.begin);
    out.set("end", span.end);
  }
  return out;
}

std::string where(const Violation& v) {
  std::string out = fmt::format("block {}", v.block);
  if (v.access.thread >= 0) {
    out += fmt::format(", thread {} (warp {}, lane {})", v.access.thread, v.warp, v.lane);
  }
  if (v.access.point.op_id != 0) {
    out += ", " + to_string(v.access.point);
  }
  return out;
}

std::string finding(const Violation& v) {
  const std::string cell = v.cell ? to_string(*v.cell) : std::string("memory");
  const std::string bytes = fmt::format("{} bytes at {}", v.size_bytes, v.address_bytes);
  switch (v.kind) {
    case ViolationKind::StaleRead:
      return fmt::format("{} is read before it is written", cell);
    case ViolationKind::PendingRead:
      return fmt::format("{} is read while the copy that fills it is pending", cell);
    case ViolationKind::OverwrittenRead:
      return fmt::format("{} is overwritten before it is read", cell);
    case ViolationKind::UnwrittenRead:
      return fmt::format("{} is read from bytes that nothing wrote ({})", cell, bytes);
    case ViolationKind::WrongCell:
      return fmt::format("{} is looked for where another element lies ({})", cell, bytes);
    case ViolationKind::OutOfBoundsRead:
      return fmt::format("a read of {} leaves the memory of its object ({})", cell, bytes);
    case ViolationKind::OutOfBoundsWrite:
      return fmt::format("a write of {} lands outside of it ({})", cell, bytes);
    case ViolationKind::Misaligned:
      return fmt::format("an access to {} is not aligned to its width ({})", cell, bytes);
    case ViolationKind::LayoutMismatch:
      return "the registers do not fit the instruction";
    case ViolationKind::OutputMismatch:
      return fmt::format("{} differs from the reading", cell);
    case ViolationKind::InputWritten:
      return fmt::format("input {} is written", cell);
    case ViolationKind::MissingContribution:
      return fmt::format("{} did not get its contributions", cell);
    case ViolationKind::Deadlock:
      return "the threads of a block wait for each other";
    case ViolationKind::PendingAtExit:
      return fmt::format("a copy to {} is pending at the end, after its bytes were reused", cell);
  }
  return {};
}

}  // namespace

std::string to_string(const DynamicPoint& point) {
  std::string out = fmt::format("op {}", point.op_id);
  if (!point.iterations.empty()) {
    out += fmt::format(" in iteration ({})", fmt::join(point.iterations, ", "));
  }
  if (point.tile > 0) {
    out += fmt::format(" of tile {}", point.tile);
  }
  return out;
}

std::string to_string(const CellName& cell) {
  std::string out = fmt::format("`{}", cell.object);
  if (cell.version >= 0) {
    out += fmt::format("[{}]", cell.version);
  }
  return out + fmt::format("[{}]`", fmt::join(cell.element, ", "));
}

std::string to_string(const Event& event) {
  return event.thread >= 0 ? fmt::format("thread {} at {}", event.thread, to_string(event.point))
                           : to_string(event.point);
}

std::string_view name_of(ReadingErrorKind kind) {
  constexpr std::string_view kNames[] = {
      "bad_problem",        "uninitialized_read", "double_write",     "not_written", "discipline", "out_of_bounds",
      "pad_reaches_output", "overflow",           "division_by_zero", "limit",       "unsupported"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view name_of(ViolationKind kind) {
  constexpr std::string_view kNames[] = {
      "stale_read",         "pending_read",         "overwritten_read", "unwritten_read",  "wrong_cell",
      "out_of_bounds_read", "out_of_bounds_write",  "misaligned",       "layout_mismatch", "output_mismatch",
      "input_written",      "missing_contribution", "deadlock",         "pending_at_exit"};
  return kNames[static_cast<size_t>(kind)];
}

std::string to_string(const Violation& violation) {
  std::string out = fmt::format("{}: {}", where(violation), finding(violation));
  if (!violation.missing.empty()) {
    out += "; " + violation.missing;
  }
  if (violation.expected) {
    out += "; expected the write of " + to_string(*violation.expected);
  }
  if (violation.got) {
    out += fmt::format(", found {} of {}", violation.got_cell ? to_string(*violation.got_cell) : "a write",
                       to_string(*violation.got));
  }
  return out;
}

json::Value to_json(const DynamicPoint& point) {
  json::Value out;
  out.set("op", point.op_id);
  out.set("tile", point.tile);
  out.set("iterations", numbers(point.iterations));
  return out;
}

json::Value to_json(const CellName& cell) {
  json::Value out;
  out.set("object", cell.object);
  if (cell.version >= 0) {
    out.set("version", cell.version);
  }
  out.set("element", numbers(cell.element));
  return out;
}

json::Value to_json(const Event& event) {
  json::Value out;
  out.set("point", to_json(event.point));
  out.set("thread", event.thread);
  out.set("span", span_to_json(event.span));
  return out;
}

json::Value to_json(const ReadingError& error) {
  json::Value out;
  out.set("kind", name_of(error.kind));
  out.set("message", error.message);
  out.set("span", span_to_json(error.span));
  out.set("point", to_json(error.point));
  out.set("block", error.block);
  if (error.cell) {
    out.set("cell", to_json(*error.cell));
  }
  if (error.other_span.is_valid()) {
    out.set("other_span", span_to_json(error.other_span));
  }
  if (error.other_point) {
    out.set("other_point", to_json(*error.other_point));
  }
  return out;
}

json::Value to_json(const Violation& v) {
  json::Value out;
  out.set("kind", name_of(v.kind));
  out.set("block", v.block);
  out.set("access", to_json(v.access));
  out.set("warp", v.warp);
  out.set("lane", v.lane);
  out.set("address_bytes", v.address_bytes);
  out.set("size_bytes", v.size_bytes);
  if (v.cell) {
    out.set("cell", to_json(*v.cell));
  }
  if (v.expected) {
    out.set("expected", to_json(*v.expected));
  }
  if (v.got_cell) {
    out.set("got_cell", to_json(*v.got_cell));
  }
  if (v.got) {
    out.set("got", to_json(*v.got));
  }
  out.set("missing", v.missing);
  out.set("text", to_string(v));
  return out;
}

namespace {

template <class Code>
void emit(diag::Sink& sink, const ReadingError& error) {
  auto builder = sink.report(Code{}, error.span, error.message);
  if (error.other_span.is_valid()) {
    builder.label(error.other_span, "the other access");
  }
  if (error.block >= 0) {
    builder.note(fmt::format("block {}, {}", error.block, to_string(error.point)));
  }
  builder.emit();
}

template <class Code>
void emit(diag::Sink& sink, const Violation& v) {
  auto builder = sink.report(Code{}, v.access.span, finding(v));
  builder.note(where(v));
  if (!v.missing.empty()) {
    builder.note(v.missing);
  }
  if (v.expected) {
    if (v.expected->span.is_valid()) {
      builder.label(v.expected->span, "the write that this read means");
    }
    builder.note("expected the write of " + to_string(*v.expected));
  }
  if (v.got) {
    if (v.got->span.is_valid()) {
      builder.label(v.got->span, "the write that it found");
    }
    builder.note(fmt::format("found {} of {}", v.got_cell ? to_string(*v.got_cell) : "a write", to_string(*v.got)));
  }
  builder.emit();
}

}  // namespace

void report(const ReadingError& error, diag::Sink& sink) {
  namespace codes = diag::codes;
  switch (error.kind) {
    case ReadingErrorKind::BadProblem:
      return emit<codes::EmulatedProblem>(sink, error);
    case ReadingErrorKind::UninitializedRead:
      return emit<codes::EmulatedUninitialized>(sink, error);
    case ReadingErrorKind::DoubleWrite:
      return emit<codes::EmulatedDoubleWrite>(sink, error);
    case ReadingErrorKind::NotWritten:
      return emit<codes::EmulatedNotWritten>(sink, error);
    case ReadingErrorKind::Discipline:
      return emit<codes::EmulatedDiscipline>(sink, error);
    case ReadingErrorKind::OutOfBounds:
      return emit<codes::EmulatedOutOfBounds>(sink, error);
    case ReadingErrorKind::PadReachesOutput:
      return emit<codes::EmulatedPad>(sink, error);
    case ReadingErrorKind::Overflow:
    case ReadingErrorKind::DivisionByZero:
      return emit<codes::EmulatedArithmetic>(sink, error);
    case ReadingErrorKind::Limit:
    case ReadingErrorKind::Unsupported:
      return emit<codes::EmulatedLimit>(sink, error);
  }
}

void report(const Violation& violation, diag::Sink& sink) {
  namespace codes = diag::codes;
  switch (violation.kind) {
    case ViolationKind::StaleRead:
    case ViolationKind::UnwrittenRead:
      return emit<codes::MachineStaleRead>(sink, violation);
    case ViolationKind::PendingRead:
    case ViolationKind::PendingAtExit:
      return emit<codes::MachinePendingRead>(sink, violation);
    case ViolationKind::OverwrittenRead:
      return emit<codes::MachineOverwritten>(sink, violation);
    case ViolationKind::WrongCell:
    case ViolationKind::LayoutMismatch:
      return emit<codes::MachineLayout>(sink, violation);
    case ViolationKind::OutOfBoundsRead:
    case ViolationKind::OutOfBoundsWrite:
    case ViolationKind::Misaligned:
    case ViolationKind::InputWritten:
      return emit<codes::MachineAddress>(sink, violation);
    case ViolationKind::OutputMismatch:
    case ViolationKind::MissingContribution:
      return emit<codes::MachineOutput>(sink, violation);
    case ViolationKind::Deadlock:
      return emit<codes::MachineDeadlock>(sink, violation);
  }
}

}  // namespace tw::emulator

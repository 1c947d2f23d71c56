// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "diag/sink.h"
#include "ir/function.h"

namespace tw::emulator {

// One execution of one op by a block: its iteration counts from the outermost loop inwards (0-based), and which of the
// block's tiles it belongs to (persistent kernels have several).
struct DynamicPoint {
  uint32_t op_id = 0;
  int64_t tile = 0;
  std::vector<int64_t> iterations;
  friend bool operator==(const DynamicPoint&, const DynamicPoint&) = default;
};
std::string to_string(const DynamicPoint& point);

// A cell as the reading names it.
struct CellName {
  std::string object;
  // -1: the object has no versions.
  int64_t version = -1;
  std::vector<int64_t> element;
};
std::string to_string(const CellName& cell);

// Why a reading does not exist, or why a run could not be made at all.
enum class ReadingErrorKind : uint8_t {
  BadProblem,         // sizes missing, an `assume` not met, an input of the wrong length
  UninitializedRead,  // of a shared, Work or Out cell that nothing wrote
  DoubleWrite,        // of an Out element
  NotWritten,         // an Out element
  Discipline,         // two blocks share a cell that is not an accumulator, or red and other accesses mix
  OutOfBounds,        // a shared object indexed outside its shape, a negative version
  PadReachesOutput,   // a pad, or a value that depends on one, is written inside an output
  Overflow,           // of an integer
  DivisionByZero,
  Limit,        // more dynamic ops or memory than the options allow
  Unsupported,  // a construct that this half cannot execute
};
std::string_view name_of(ReadingErrorKind kind);

struct ReadingError {
  ReadingErrorKind kind = ReadingErrorKind::BadProblem;
  // Lower case, no final period; the whole finding in one sentence.
  std::string message;
  diag::Span span;
  DynamicPoint point;
  int64_t block = -1;
  std::optional<CellName> cell;
  // The other statement, where there is one.
  diag::Span other_span;
  std::optional<DynamicPoint> other_point;
};

// What the machine did that the reading does not allow.
enum class ViolationKind : uint8_t {
  StaleRead,            // the write that the reading assigns had not happened: read too early
  PendingRead,          // the assigned write is an asynchronous copy that nobody has waited for
  OverwrittenRead,      // a later write already replaced it: overwritten too early
  UnwrittenRead,        // bytes that nothing ever wrote
  WrongCell,            // bytes that hold another element or another object: addresses disagree
  OutOfBoundsRead,      // address outside the tensor's allocation or the block's shared memory
  OutOfBoundsWrite,     // the same, or a write that lands on another element
  Misaligned,           // address not a multiple of the access width
  LayoutMismatch,       // an instruction needs registers that the layout does not give
  OutputMismatch,       // an output element differs from the reading's
  InputWritten,         // the machine wrote to an In tensor
  MissingContribution,  // an accumulator element got another number of contributions than the reading gives it
  Deadlock,             // threads wait for each other
  PendingAtExit,        // an asynchronous copy was overwritten while pending and lands after the end
};
std::string_view name_of(ViolationKind kind);

// A dynamic op executed by a thread.
struct Event {
  DynamicPoint point;
  diag::Span span;
  // -1: no single thread (a warp-collective or the whole block).
  int thread = -1;
};
std::string to_string(const Event& event);

struct Violation {
  ViolationKind kind = ViolationKind::StaleRead;
  int64_t block = 0;
  Event access;
  int warp = -1;
  int lane = -1;
  // Of shared memory, or of the tensor's allocation.
  int64_t address_bytes = -1;
  int64_t size_bytes = 0;
  std::optional<CellName> cell;
  // The write that the reading assigns; nothing: the value at launch.
  std::optional<Event> expected;
  // What the bytes held: the cell and the write that put it there.
  std::optional<CellName> got_cell;
  std::optional<Event> got;
  // The missing order, in words.
  std::string missing;
};
std::string to_string(const Violation& violation);

json::Value to_json(const DynamicPoint& point);
json::Value to_json(const CellName& cell);
json::Value to_json(const Event& event);
json::Value to_json(const ReadingError& error);
json::Value to_json(const Violation& violation);

// As diagnostics (codes 6000-6999).
void report(const ReadingError& error, diag::Sink& sink);
void report(const Violation& violation, diag::Sink& sink);

}  // namespace tw::emulator

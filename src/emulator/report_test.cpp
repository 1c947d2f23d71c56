// SPDX-License-Identifier: Apache-2.0
#include "emulator/report.h"

#include <gtest/gtest.h>
#include <map>

namespace tw::emulator {
namespace {

uint16_t code_of(ReadingErrorKind kind) {
  diag::Sink sink;
  ReadingError error;
  error.kind = kind;
  error.message = "`D[0]` is odd";
  report(error, sink);
  EXPECT_EQ(sink.diagnostics().size(), 1U);
  return sink.diagnostics().front().code->number;
}

Violation example(ViolationKind kind) {
  Violation v;
  v.kind = kind;
  v.block = 3;
  v.access = {{12, 0, {4}}, {}, 40};
  v.warp = 1;
  v.lane = 8;
  v.address_bytes = 4096;
  v.size_bytes = 16;
  v.cell = CellName{"sA", 4, {8, 24}};
  v.expected = Event{{7, 0, {4}}, {}, 2};
  v.got_cell = CellName{"sA", 1, {8, 24}};
  v.got = Event{{7, 0, {1}}, {}, 2};
  v.missing = "thread 2 has not reached the write yet";
  return v;
}

uint16_t code_of(ViolationKind kind) {
  diag::Sink sink;
  report(example(kind), sink);
  EXPECT_EQ(sink.diagnostics().size(), 1U);
  return sink.diagnostics().front().code->number;
}

template <class Code>
constexpr uint16_t number() {
  return Code::kInfo.number;
}

TEST(Report, every_reading_error_has_its_code) {
  using enum ReadingErrorKind;
  const std::map<ReadingErrorKind, uint16_t> expected = {
      {BadProblem, number<diag::codes::EmulatedProblem>()},
      {UninitializedRead, number<diag::codes::EmulatedUninitialized>()},
      {DoubleWrite, number<diag::codes::EmulatedDoubleWrite>()},
      {NotWritten, number<diag::codes::EmulatedNotWritten>()},
      {Discipline, number<diag::codes::EmulatedDiscipline>()},
      {OutOfBounds, number<diag::codes::EmulatedOutOfBounds>()},
      {PadReachesOutput, number<diag::codes::EmulatedPad>()},
      {Overflow, number<diag::codes::EmulatedArithmetic>()},
      {DivisionByZero, number<diag::codes::EmulatedArithmetic>()},
      {Limit, number<diag::codes::EmulatedLimit>()},
      {Unsupported, number<diag::codes::EmulatedLimit>()}};
  for (auto [kind, code] : expected) {
    EXPECT_EQ(code_of(kind), code) << name_of(kind);
  }
}

TEST(Report, every_violation_has_its_code) {
  using enum ViolationKind;
  const std::map<ViolationKind, uint16_t> expected = {{StaleRead, number<diag::codes::MachineStaleRead>()},
                                                      {UnwrittenRead, number<diag::codes::MachineStaleRead>()},
                                                      {PendingRead, number<diag::codes::MachinePendingRead>()},
                                                      {PendingAtExit, number<diag::codes::MachinePendingRead>()},
                                                      {OverwrittenRead, number<diag::codes::MachineOverwritten>()},
                                                      {WrongCell, number<diag::codes::MachineLayout>()},
                                                      {LayoutMismatch, number<diag::codes::MachineLayout>()},
                                                      {OutOfBoundsRead, number<diag::codes::MachineAddress>()},
                                                      {OutOfBoundsWrite, number<diag::codes::MachineAddress>()},
                                                      {Misaligned, number<diag::codes::MachineAddress>()},
                                                      {InputWritten, number<diag::codes::MachineAddress>()},
                                                      {OutputMismatch, number<diag::codes::MachineOutput>()},
                                                      {MissingContribution, number<diag::codes::MachineOutput>()},
                                                      {Deadlock, number<diag::codes::MachineDeadlock>()}};
  for (auto [kind, code] : expected) {
    EXPECT_EQ(code_of(kind), code) << name_of(kind);
  }
}

TEST(Report, a_violation_names_both_events) {
  const std::string text = to_string(example(ViolationKind::StaleRead));
  EXPECT_NE(text.find("thread 40 (warp 1, lane 8)"), std::string::npos) << text;
  EXPECT_NE(text.find("`sA[4][8, 24]`"), std::string::npos) << text;
  EXPECT_NE(text.find("thread 2 at op 7 in iteration (4)"), std::string::npos) << text;
  EXPECT_NE(text.find("`sA[1][8, 24]`"), std::string::npos) << text;
}

TEST(Report, json_has_what_a_counterexample_needs) {
  const json::Value v = to_json(example(ViolationKind::OverwrittenRead));
  EXPECT_EQ(*v.get_string("kind"), "overwritten_read");
  EXPECT_EQ(*v.get_int("block"), 3);
  EXPECT_EQ(*v.find("access")->find("point")->get_int("op"), 12);
  EXPECT_EQ(v.find("cell")->find("element")->as_array().size(), 2U);
  EXPECT_EQ(*v.find("got")->get_int("thread"), 2);
}

}  // namespace
}  // namespace tw::emulator

// SPDX-License-Identifier: Apache-2.0
#include "report/store_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"

namespace tw::report {
namespace {

namespace codes = diag::codes;
using ::testing::HasSubstr;

template <class Code>
std::string message_of(Code, const store::StoreError& error) {
  diag::Sink sink;
  static_cast<void>(report_store_error(error, "the/folder", sink));
  EXPECT_EQ(sink.diagnostics().size(), 1U);
  EXPECT_EQ(sink.diagnostics()[0].code->number, Code::kInfo.number);
  return sink.diagnostics()[0].message();
}

TEST(StoreError, each_kind_has_its_code_and_says_why) {
  auto temp = *os::TempFolder::make("tw-store-error-");
  ASSERT_TRUE(os::write_file_atomic(temp.path() + "/file", "x").has_value());
  EXPECT_THAT(message_of(codes::StoreUnavailable{}, store::Store::open(temp.path() + "/file").error()),
              HasSubstr("the/folder"));
  ASSERT_TRUE(os::make_folders(temp.path() + "/bad").has_value());
  ASSERT_TRUE(os::write_file_atomic(temp.path() + "/bad/runs.sqlite", std::string(5000, 'x')).has_value());
  EXPECT_THAT(message_of(codes::StoreDamaged{}, store::Store::open(temp.path() + "/bad").error()),
              HasSubstr("not a SQLite"));
  auto store = store::Store::open(temp.path() + "/good");
  ASSERT_TRUE(store.has_value());
  EXPECT_THAT(message_of(codes::RunNotFound{}, store->run("none").error()), HasSubstr("no run is named `none`"));
  auto lock = store->create_run("t", json::Value(json::Object{}));
  ASSERT_TRUE(lock.has_value());
  EXPECT_THAT(message_of(codes::RunBusy{}, store->lock_run(lock->run_id()).error()),
              HasSubstr("being advanced by process"));
  store::StoreError newer{store::ErrorKind::Version, Error{"it has schema version 7", {"it was left as it is"}}};
  EXPECT_THAT(message_of(codes::StoreVersion{}, newer), HasSubstr("version 7"));
}

}  // namespace
}  // namespace tw::report

// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/files.h"
#include "store/database.h"
#include "store/record.h"

namespace tw::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

json::Value object(std::initializer_list<json::Member> members) {
  return json::Value(json::Object(members));
}

Step step(std::string kind, json::Value output = json::Value(json::Object{})) {
  Step result;
  result.kind = std::move(kind);
  result.input = object({});
  result.output = std::move(output);
  return result;
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : temp_(*os::TempFolder::make("tw-store-test-")) {}
  [[nodiscard]] std::string folder() const { return temp_.path() + "/state"; }
  Store open() {
    auto store = Store::open(folder());
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().error.message);
    return *std::move(store);
  }
  os::TempFolder temp_;
};

TEST_F(StoreTest, a_run_and_its_steps_are_read_back_by_another_store) {
  std::string id;
  {
    Store store = open();
    auto lock = store.create_run("gemm_bf16", object({{"seed", 7}}));
    ASSERT_TRUE(lock.has_value());
    id = lock->run_id();
    EXPECT_EQ(*store.append_step(*lock, step("draft", object({{"candidate", "x"}}))), 0);
    Step check = step("check", object({{"verdict", "proved"}}));
    check.time_ms = 12.5;
    check.cost = object({{"usd", 0.25}});
    EXPECT_EQ(*store.append_step(*lock, check), 1);
    EXPECT_EQ(store.run(id)->state, RunState::Running);
    ASSERT_TRUE(store.set_state(*lock, RunState::Done, object({{"best", 1}})).has_value());
  }
  Store store = open();
  auto run = store.run(id);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->state, RunState::Done);
  EXPECT_EQ(run->task, "gemm_bf16");
  EXPECT_EQ(run->step_count, 2);
  EXPECT_EQ(*run->config.get_int("seed"), 7);
  EXPECT_EQ(*run->summary.get_int("best"), 1);
  auto steps = store.steps(id);
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[1].kind, "check");
  EXPECT_EQ((*steps)[1].time_ms, 12.5);
  EXPECT_EQ(*(*steps)[1].output.get_string("verdict"), "proved");
  EXPECT_EQ(*store.step(id, 0)->output.get_string("candidate"), "x");
  EXPECT_EQ(store.step(id, 2).error().kind, ErrorKind::NotFound);
  EXPECT_THAT(*store.check(), IsEmpty());
}

TEST_F(StoreTest, runs_are_listed_newest_last_and_resolved_by_part_of_the_name) {
  Store store = open();
  std::vector<std::string> ids;
  for (const char* task : {"a", "b", "c"}) {
    auto lock = store.create_run(task, object({}));
    ids.push_back(lock->run_id());
    ASSERT_TRUE(store.set_state(*lock, task[0] == 'b' ? RunState::Waiting : RunState::Done, object({})).has_value());
  }
  auto runs = store.runs();
  ASSERT_EQ(runs->size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*runs)[i].id, ids[i]);
  }
  EXPECT_EQ(**store.newest_unfinished(), ids[1]);
  EXPECT_EQ(*store.resolve(ids[2]), ids[2]);
  EXPECT_EQ(*store.resolve(ids[2].substr(ids[2].size() - 6)), ids[2]);
  EXPECT_EQ(store.resolve("nothing").error().kind, ErrorKind::NotFound);
  EXPECT_EQ(store.resolve(ids[0].substr(0, 8)).error().kind, ErrorKind::NotFound);
}

TEST_F(StoreTest, a_run_that_nobody_holds_reads_as_interrupted_and_can_be_taken_up) {
  Store store = open();
  std::string id;
  {
    auto lock = store.create_run("t", object({}));
    id = lock->run_id();
    EXPECT_EQ(store.run(id)->state, RunState::Running);
    EXPECT_EQ(store.lock_run(id).error().kind, ErrorKind::Busy);
  }
  EXPECT_EQ(store.run(id)->state, RunState::Interrupted);
  EXPECT_EQ(**store.newest_unfinished(), id);
  auto again = store.lock_run(id);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(store.run(id)->state, RunState::Running);
  EXPECT_EQ(store.lock_run("nothing").error().kind, ErrorKind::NotFound);
}

TEST_F(StoreTest, blobs_are_named_by_their_content) {
  Store store = open();
  std::string content("kernel \0 text", 13);
  auto reference = store.put_blob(content);
  ASSERT_TRUE(reference.has_value());
  EXPECT_EQ(*store.put_blob(content), *reference);
  EXPECT_EQ(*store.blob(*reference), content);
  EXPECT_EQ(store.blob("sha256:" + std::string(64, '0')).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(store.blob("../../etc/passwd").error().kind, ErrorKind::NotFound);
}

TEST_F(StoreTest, check_finds_every_kind_of_damage) {
  std::string reference;
  {
    Store store = open();
    auto lock = store.create_run("t", object({}));
    reference = *store.put_blob("first");
    ASSERT_TRUE(store.append_step(*lock, step("draft", object({{"candidate", reference}}))).has_value());
    ASSERT_TRUE(store.append_step(*lock, step("check")).has_value());
    EXPECT_THAT(*store.check(), IsEmpty());
    std::string digest = reference.substr(7);
    std::string path = folder() + "/blobs/" + digest.substr(0, 2) + "/" + digest;
    ASSERT_TRUE(os::write_file_atomic(path, "other").has_value());
    ASSERT_EQ(store.check()->size(), 1U);
    EXPECT_THAT((*store.check())[0], HasSubstr("damaged"));
    EXPECT_EQ(store.blob(reference).error().kind, ErrorKind::Damaged);
    ASSERT_TRUE(os::remove_tree(path).has_value());
    EXPECT_THAT((*store.check())[0], HasSubstr("missing"));
    // Stored again, it is whole again.
    ASSERT_EQ(*store.put_blob("first"), reference);
    EXPECT_THAT(*store.check(), IsEmpty());
  }
  {
    auto database = Database::open(folder() + "/runs.sqlite", Database::Mode::Create);
    EXPECT_FALSE(database->execute("UPDATE steps SET output = '{}' WHERE idx = 0").has_value());
    EXPECT_FALSE(database->execute("DELETE FROM steps").has_value());
    ASSERT_TRUE(database->execute("DROP TRIGGER steps_keep; UPDATE steps SET kind = 'test' WHERE idx = 0").has_value());
  }
  Store store = open();
  ASSERT_EQ(store.check()->size(), 1U);
  EXPECT_THAT((*store.check())[0], HasSubstr("step 0 is not what was recorded"));
}

TEST_F(StoreTest, a_newer_schema_is_refused_and_left_alone) {
  {
    Store store = open();
  }
  {
    auto database = Database::open(folder() + "/runs.sqlite", Database::Mode::Create);
    ASSERT_TRUE(database->execute("PRAGMA user_version = 2").has_value());
  }
  auto store = Store::open(folder());
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().kind, ErrorKind::Version);
  EXPECT_THAT(store.error().error.message, HasSubstr("version 2"));
}

TEST_F(StoreTest, foreign_and_damaged_files_are_refused) {
  ASSERT_TRUE(os::make_folders(folder()).has_value());
  std::string path = folder() + "/runs.sqlite";
  ASSERT_TRUE(os::write_file_atomic(path, std::string(10000, 'x')).has_value());
  auto garbage = Store::open(folder());
  ASSERT_FALSE(garbage.has_value());
  EXPECT_EQ(garbage.error().kind, ErrorKind::Damaged);
  EXPECT_EQ(*os::read_file(path), std::string(10000, 'x'));
  ASSERT_TRUE(os::remove_tree(path).has_value());
  {
    auto database = Database::open(path, Database::Mode::Create);
    ASSERT_TRUE(database->execute("CREATE TABLE songs(title TEXT)").has_value());
  }
  EXPECT_EQ(Store::open(folder()).error().kind, ErrorKind::Damaged);
}

TEST_F(StoreTest, unusable_folders_give_the_reason) {
  ASSERT_TRUE(os::write_file_atomic(temp_.path() + "/state", "a file").has_value());
  auto store = Store::open(folder());
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().kind, ErrorKind::Unavailable);
  EXPECT_FALSE(store.error().error.message.empty());
  EXPECT_EQ(Store::open("/proc/tilewright").error().kind, ErrorKind::Unavailable);
  EXPECT_EQ(Store::open(temp_.path() + "/none", Access::ReadOnly).error().kind, ErrorKind::NotFound);
}

TEST_F(StoreTest, read_only_access_reads_while_another_process_may_write) {
  Store writer = open();
  auto lock = writer.create_run("t", object({}));
  ASSERT_TRUE(writer.append_step(*lock, step("draft")).has_value());
  auto reader = Store::open(folder(), Access::ReadOnly);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->steps(lock->run_id())->size(), 1U);
  ASSERT_TRUE(writer.append_step(*lock, step("check")).has_value());
  EXPECT_EQ(reader->steps(lock->run_id())->size(), 2U);
}

TEST_F(StoreTest, diff_ignores_ids_times_and_costs_only) {
  Store store = open();
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    auto lock = store.create_run("t", object({{"seed", 1}, {"time_limit_s", i}}));
    ids.push_back(lock->run_id());
    Step first = step("check", object({{"verdict", i == 2 ? "refuted" : "proved"}, {"time_proof_ms", i}}));
    first.time_ms = i;
    first.cost = object({{"usd", i}});
    ASSERT_TRUE(store.append_step(*lock, first).has_value());
    if (i == 2) {
      ASSERT_TRUE(store.append_step(*lock, step("debug")).has_value());
    }
    ASSERT_TRUE(store.set_state(*lock, RunState::Done, object({})).has_value());
  }
  EXPECT_THAT(*diff_runs(store, ids[0], ids[1]), IsEmpty());
  auto differences = *diff_runs(store, ids[0], ids[2]);
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].path, "step_count");
  EXPECT_EQ(differences[1].path, "steps[0].output.verdict");
  EXPECT_EQ(differences[1].left, "\"proved\"");
  EXPECT_EQ(differences[1].right, "\"refuted\"");
  EXPECT_EQ(differences[2].path, "steps[1]");
  EXPECT_EQ(differences[2].left, "(absent)");
}

}  // namespace
}  // namespace tw::store

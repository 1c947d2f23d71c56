// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/env.h"
#include "os/file_lock.h"

namespace tw::os {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  std::string path(std::string_view name) { return join_path(folder_.path(), name); }
  TempFolder folder_ = *TempFolder::make("tilewright-test");
};

TEST_F(Files, written_content_is_read_back) {
  std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomic(path("x"), content));
  EXPECT_EQ(*read_file(path("x")), content);
  ASSERT_TRUE(write_file_atomic(path("x"), "second"));
  EXPECT_EQ(*read_file(path("x")), "second");
  EXPECT_THAT(*list_folder(folder_.path()), ElementsAre("x"));
}

TEST_F(Files, mode_and_link_survive_a_rewrite) {
  ASSERT_TRUE(write_file_atomic(path("real"), "1"));
  ASSERT_EQ(::chmod(path("real").c_str(), 0640), 0);
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  ASSERT_TRUE(write_file_atomic(path("link"), "2"));
  EXPECT_EQ(*read_file(path("real")), "2");
  struct stat info{};
  ASSERT_EQ(::lstat(path("link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  ASSERT_EQ(::stat(path("real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
}

TEST_F(Files, new_file_does_not_replace) {
  ASSERT_TRUE(write_new_file(path("x"), "1"));
  Status again = write_new_file(path("x"), "2");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().causes, ElementsAre("it exists already"));
  EXPECT_EQ(*read_file(path("x")), "1");
  EXPECT_THAT(*list_folder(folder_.path()), ElementsAre("x"));
}

TEST_F(Files, append_adds_at_the_end) {
  ASSERT_TRUE(append_to_file(path("log"), "a\n"));
  ASSERT_TRUE(append_to_file(path("log"), "b\n"));
  EXPECT_EQ(*read_file(path("log")), "a\nb\n");
}

TEST_F(Files, failures_name_the_file_and_the_cause) {
  Result<std::string> missing = read_file(path("none"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none`"));
  EXPECT_THAT(missing.error().causes, ElementsAre("no such file or folder"));
  EXPECT_THAT(read_file(folder_.path()).error().causes, ElementsAre("it is a folder"));
  EXPECT_THAT(write_file_atomic(folder_.path(), "").error().causes, ElementsAre("it is a folder"));
  EXPECT_THAT(write_file_atomic(path("no/x"), "").error().causes, ElementsAre("no such file or folder"));
  EXPECT_THAT(read_file("/dev/zero", 1000).error().causes, ElementsAre("it is longer than 1000 bytes"));
  ASSERT_TRUE(write_file_atomic(path("file"), ""));
  EXPECT_THAT(make_folders(path("file/sub")).error().causes, ElementsAre("a part of the path is not a folder"));
}

TEST_F(Files, a_full_device_is_reported_as_such) {
  EXPECT_THAT(write_file_atomic("/dev/full", "x").error().causes, ElementsAre("no space left on the device"));
}

// Mounts of its own for this process; as root directly, else as the root of a user namespace.
bool get_private_mounts() {
  uid_t user = ::getuid();
  gid_t group = ::getgid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return false;
    }
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  // Nothing that is mounted here may be seen outside.
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// Runs `body` in a child for which a disk of 64 KiB is mounted at `folder`. Gives what `body` counted as failures; -1
// where private mounts are not allowed.
int run_on_small_disk(const std::string& folder, const std::function<int()>& body) {
  constexpr int kNoMounts = 255;
  pid_t child = ::fork();
  if (child == 0) {
    bool is_mounted = get_private_mounts() && ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
    ::_exit(is_mounted ? body() : kNoMounts);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : kNoMounts - 1;
  return code == kNoMounts ? -1 : code;
}

TEST_F(Files, a_full_disk_loses_nothing) {
  int failures = run_on_small_disk(folder_.path(), [this] {
    int count = 0;
    count += write_file_atomic(path("x"), "before") ? 0 : 1;
    Status full = write_file_atomic(path("x"), std::string(1'000'000, 'y'));
    count += !full && full.error().causes == std::vector<std::string>{"no space left on the device"} ? 0 : 1;
    count += *read_file(path("x")) == "before" ? 0 : 1;
    count += *list_folder(folder_.path()) == std::vector<std::string>{"x"} ? 0 : 1;
    return count;
  });
  if (failures < 0) {
    GTEST_SKIP() << "no private mounts on this machine";
  }
  EXPECT_EQ(failures, 0);
}

TEST_F(Files, several_files_are_replaced_together_or_not_at_all) {
  ASSERT_TRUE(write_files_atomic({{path("a"), "1"}, {path("b"), "2"}}));
  EXPECT_EQ(*read_file(path("b")), "2");
  ASSERT_TRUE(make_folders(path("sub")));
  EXPECT_THAT(write_files_atomic({{path("a"), "new"}, {path("sub"), "new"}}).error().causes,
              ElementsAre("it is a folder"));
  EXPECT_EQ(*read_file(path("a")), "1");
  EXPECT_THAT(*list_folder(folder_.path()), ElementsAre("a", "b", "sub"));
  int failures = run_on_small_disk(folder_.path(), [this] {
    int count = 0;
    count += write_files_atomic({{path("x"), "before"}, {path("y"), "before"}}) ? 0 : 1;
    Status full = write_files_atomic({{path("x"), "after"}, {path("y"), std::string(1'000'000, 'y')}});
    count += !full && full.error().causes == std::vector<std::string>{"no space left on the device"} ? 0 : 1;
    count += *read_file(path("x")) == "before" && *read_file(path("y")) == "before" ? 0 : 1;
    count += *list_folder(folder_.path()) == std::vector<std::string>{"x", "y"} ? 0 : 1;
    return count;
  });
  if (failures < 0) {
    GTEST_SKIP() << "no private mounts on this machine";
  }
  EXPECT_EQ(failures, 0);
}

TEST_F(Files, a_read_only_disk_is_named_as_the_cause) {
  int failures = run_on_small_disk(folder_.path(), [this] {
    int count = 0;
    count += write_file_atomic(path("x"), "before") ? 0 : 1;
    count += ::mount(nullptr, folder_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0 ? 0 : 1;
    const std::vector<std::string> cause = {"the file system is mounted read-only"};
    Status replaced = write_file_atomic(path("x"), "after");
    count += !replaced && replaced.error().causes == cause ? 0 : 1;
    Status made = write_file_atomic(path("y"), "after");
    count += !made && made.error().causes == cause ? 0 : 1;
    Status folder = make_folders(path("sub"));
    count += !folder && folder.error().causes == cause ? 0 : 1;
    count += *read_file(path("x")) == "before" ? 0 : 1;
    return count;
  });
  if (failures < 0) {
    GTEST_SKIP() << "no private mounts on this machine";
  }
  EXPECT_EQ(failures, 0);
}

TEST_F(Files, folders_are_made_and_removed_whole) {
  ASSERT_TRUE(make_folders(path("a/b/c")));
  ASSERT_TRUE(make_folders(path("a/b/c")));
  ASSERT_TRUE(write_file_atomic(path("a/b/c/x"), "1"));
  ASSERT_TRUE(rename_synced(path("a/b"), path("b")));
  EXPECT_EQ(*read_file(path("b/c/x")), "1");
  ASSERT_TRUE(remove_tree(path("a")));
  ASSERT_TRUE(remove_tree(path("a")));
  EXPECT_FALSE(exists(path("a")));
}

TEST_F(Files, temporary_folder_goes_with_its_object) {
  std::string kept;
  {
    TempFolder temp = *TempFolder::make("tilewright-test");
    kept = temp.path();
    ASSERT_TRUE(write_file_atomic(join_path(kept, "x"), "1"));
  }
  EXPECT_FALSE(exists(kept));
}

TEST(Paths, joined_and_taken_apart) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(parent_path("a/b/c"), "a/b");
  EXPECT_EQ(parent_path("c"), ".");
  EXPECT_EQ(parent_path("/c"), "/");
  EXPECT_EQ(base_name("a/b.tw.py"), "b.tw.py");
}

TEST_F(Files, lock_excludes_a_second_holder_until_it_goes) {
  {
    Result<std::optional<FileLock>> first = FileLock::try_lock(path("lock"));
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->has_value());
    EXPECT_FALSE(FileLock::try_lock(path("lock"))->has_value());
    Result<FileLock> late = FileLock::lock(path("lock"), std::chrono::milliseconds(30));
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().causes, ElementsAre("another process has held it for 30 ms"));
  }
  EXPECT_TRUE(FileLock::lock(path("lock"), std::chrono::milliseconds(0)));
}

TEST_F(Files, data_folder_is_beside_an_installed_program_or_above_a_built_one) {
  ASSERT_TRUE(make_folders(path("opt/share/tilewright/docs/diagnostics")));
  ASSERT_TRUE(make_folders(path("tree/docs/diagnostics")));
  EXPECT_EQ(*data_folder_of(path("opt/bin/tilewright")), path("opt/share/tilewright"));
  EXPECT_EQ(*data_folder_of(path("tree/build/release/tilewright")), path("tree"));
  EXPECT_FALSE(data_folder_of(path("elsewhere/tilewright")));
}

TEST(Env, user_folders_follow_xdg) {
  ::setenv("XDG_STATE_HOME", "/x/state", 1);
  EXPECT_EQ(*state_folder(), "/x/state/tilewright");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/u", 1);
  EXPECT_EQ(*state_folder(), "/home/u/.local/state/tilewright");
}

TEST(Clock, utc_is_formatted_with_milliseconds) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_utc(1'709'210'096'007), "2024-02-29T12:34:56.007Z");
  EXPECT_EQ(format_utc(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace tw::os

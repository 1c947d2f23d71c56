// SPDX-License-Identifier: Apache-2.0
#include "toolchain/cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sha256.h"
#include "os/files.h"

namespace tw::toolchain {
namespace {

// Entries of PTX need no compiler: their resources are empty.
CompiledKernel example(std::string image) {
  CompiledKernel kernel;
  kernel.output = Output::Ptx;
  kernel.arch = "sm_80";
  kernel.image = std::move(image);
  kernel.compiler = "nvrtc 13.0";
  kernel.log = "kernel.cu(2): warning #177-D: variable \"x\" was declared but never referenced\n";
  kernel.time_ms = 12.5;
  return kernel;
}

class CompileCacheTest : public testing::Test {
 protected:
  os::TempFolder folder_ = *os::TempFolder::make("tw-cache-test-");
  std::string key_ = sha256_hex("key");
};

TEST_F(CompileCacheTest, EntryComesBackAsItWas) {
  const std::string bytes = encode_entry(key_, example(std::string("a\0b\n", 4)));
  const auto kernel = decode_entry(key_, bytes);
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->image, std::string("a\0b\n", 4));
  EXPECT_EQ(kernel->arch, "sm_80");
  EXPECT_EQ(kernel->compiler, "nvrtc 13.0");
  EXPECT_EQ(kernel->time_ms, 12.5);
  EXPECT_TRUE(kernel->is_from_cache);
  ASSERT_EQ(kernel->messages.size(), 1U);
  EXPECT_EQ(kernel->messages[0].line, 2);
}

TEST_F(CompileCacheTest, AnyAlteredByteIsNoticed) {
  const std::string bytes = encode_entry(key_, example("text of a kernel"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_FALSE(decode_entry(key_, altered)) << "byte " << i;
    EXPECT_FALSE(decode_entry(key_, bytes.substr(0, i))) << "cut at " << i;
  }
  EXPECT_FALSE(decode_entry(key_, bytes + "x"));
  EXPECT_FALSE(decode_entry(sha256_hex("another key"), bytes));
}

TEST_F(CompileCacheTest, MissThenHit) {
  CompileCache cache(folder_.path() + "/new/folder");
  EXPECT_FALSE(cache.load(key_));
  ASSERT_TRUE(cache.save(key_, example("text")));
  const auto kernel = cache.load(key_);
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->image, "text");
  EXPECT_EQ(cache.statistics().hits, 1);
  EXPECT_EQ(cache.statistics().misses, 1);
  EXPECT_EQ(cache.statistics().damaged, 0);
}

TEST_F(CompileCacheTest, DamagedEntryIsRemovedAndMissing) {
  CompileCache cache(folder_.path());
  ASSERT_TRUE(cache.save(key_, example("text")));
  const std::string path = cache.entry_path(key_);
  const std::string whole = *os::read_file(path);
  ASSERT_TRUE(os::write_file_atomic(path, whole.substr(0, whole.size() / 2)));
  EXPECT_FALSE(cache.load(key_));
  EXPECT_EQ(cache.statistics().damaged, 1);
  EXPECT_FALSE(os::exists(path));
  ASSERT_TRUE(cache.save(key_, example("text")));
  EXPECT_TRUE(cache.load(key_));
}

TEST_F(CompileCacheTest, FolderThatIsAFileIsAnError) {
  const std::string path = folder_.path() + "/file";
  ASSERT_TRUE(os::write_file_atomic(path, "x"));
  CompileCache cache(path);
  EXPECT_FALSE(cache.load(key_));
  EXPECT_FALSE(cache.save(key_, example("text")));
  EXPECT_EQ(cache.statistics().write_failures, 1);
}

TEST_F(CompileCacheTest, ProcessesMayShareAFolder) {
  // Each process writes its own texts under the same few keys and reads what is there: always a whole entry.
  constexpr int kProcesses = 4;
  constexpr int kRounds = 40;
  std::vector<pid_t> children;
  for (int child = 0; child < kProcesses; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      CompileCache cache(folder_.path());
      bool is_good = true;
      for (int round = 0; round < kRounds; ++round) {
        const std::string key = sha256_hex(std::to_string(round % 3));
        is_good = is_good && cache.save(key, example(std::string(2000 + 500 * child, static_cast<char>('a' + child))));
        const auto kernel = cache.load(key);
        is_good = is_good && kernel && kernel->image.size() == 2000U + 500U * (kernel->image[0] - 'a') &&
                  kernel->image.find_first_not_of(kernel->image[0]) == std::string::npos;
      }
      _exit(is_good && cache.statistics().damaged == 0 ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace
}  // namespace tw::toolchain

// SPDX-License-Identifier: Apache-2.0
#include "toolchain/compiler.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/files.h"

namespace tw::toolchain {
namespace {

constexpr const char* kAdd = R"(
extern "C" __global__ void add(const float* a, float* b, int n, float scale) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = i < n ? a[i] : 0.0f;
  __syncthreads();
  if (i < n) b[i] = s[255 - threadIdx.x] * scale;
}
)";

// 96 values stay alive across a barrier; the launch bounds leave 32 registers a thread.
constexpr const char* kSpill = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spill(const float* a, float* b, int n) {
  float v[96];
  #pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = a[i * n + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 96; ++i) {
    float s = 0;
    #pragma unroll
    for (int j = 0; j < 96; j += 7) s += v[j] * v[(i + j) % 96];
    b[i * n + threadIdx.x] = s;
  }
}
)";

// Sets a variable of the environment while it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
    }
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    auto nvrtc = Nvrtc::find();
    if (!nvrtc) {
      GTEST_SKIP() << nvrtc.error().message;
    }
    nvrtc_ = *std::move(nvrtc);
  }
  std::optional<Nvrtc> nvrtc_;
};

std::string first_error(const CompileResult& result) {
  return result ? "" : result.error().error.message + "\n" + result.error().log;
}

class NvrtcArch : public NvrtcTest, public testing::WithParamInterface<const char*> {};

// Where a toolkit is installed for all, the loader would find some library of this name; it must be the one beside.
TEST_F(NvrtcTest, ItsSecondLibraryIsTheOneBesideIt) {
  const std::string folder = os::parent_path(*os::real_path(nvrtc_->path()));
  const auto names = *os::list_folder(folder);
  if (std::ranges::none_of(names, [](const std::string& n) { return n.starts_with("libnvrtc-builtins.so."); })) {
    GTEST_SKIP() << "no libnvrtc-builtins.so beside " << nvrtc_->path();
  }
  EXPECT_NE(os::read_file("/proc/self/maps")->find(folder + "/libnvrtc-builtins.so."), std::string::npos);
}

TEST_P(NvrtcArch, KernelBecomesCubinWithResources) {
  CompileOptions options;
  options.arch = GetParam();
  const CompileResult result = nvrtc_->compile(kAdd, options);
  ASSERT_TRUE(result) << first_error(result);
  EXPECT_EQ(result->image.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_GT(result->time_ms, 0);
  EXPECT_FALSE(result->is_from_cache);
  EXPECT_TRUE(result->messages.empty());
  const ResourceReport* report = result->find_resources("add");
  ASSERT_NE(report, nullptr);
  EXPECT_GE(report->registers, 4);
  EXPECT_LE(report->registers, 32);
  EXPECT_EQ(report->shared_static_bytes, 1024);
  EXPECT_EQ(report->stack_bytes, 0);
  EXPECT_FALSE(report->has_spills());
  // Parameters and what precedes them.
  EXPECT_GE(report->const_bytes, 24);
  EXPECT_EQ(report->parameter_sizes_bytes, (std::vector<int32_t>{8, 8, 4, 4}));
  EXPECT_EQ(result->find_resources("nothing"), nullptr);
}

TEST_P(NvrtcArch, ForcedSpillIsReported) {
  CompileOptions options;
  options.arch = GetParam();
  const CompileResult result = nvrtc_->compile(kSpill, options);
  ASSERT_TRUE(result) << first_error(result);
  const ResourceReport* report = result->find_resources("spill");
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->registers, 32);
  EXPECT_GT(report->spill_store_bytes, 0);
  EXPECT_GT(report->spill_load_bytes, 0);
  EXPECT_GE(report->stack_bytes, report->spill_store_bytes / 2);
  ASSERT_EQ(result->messages.size(), 1U);
  EXPECT_EQ(result->messages[0].severity, MessageSeverity::Warning);
  EXPECT_NE(result->messages[0].text.find("spilled"), std::string::npos);
}

TEST_P(NvrtcArch, RegisterLimitForcesSpillAndItsAbsenceDoesNot) {
  std::string source = kSpill;
  const std::string bounds = "__launch_bounds__(1024, 2) ";
  source.erase(source.find(bounds), bounds.size());
  CompileOptions options;
  options.arch = GetParam();
  const CompileResult free = nvrtc_->compile(source, options);
  ASSERT_TRUE(free) << first_error(free);
  EXPECT_FALSE(free->resources.at(0).has_spills());
  EXPECT_GT(free->resources.at(0).registers, 96);
  options.max_registers = 40;
  const CompileResult limited = nvrtc_->compile(source, options);
  ASSERT_TRUE(limited) << first_error(limited);
  EXPECT_TRUE(limited->resources.at(0).has_spills());
  EXPECT_LE(limited->resources.at(0).registers, 40);
}

TEST_P(NvrtcArch, LogAndCubinAgree) {
  CompileOptions options;
  options.arch = GetParam();
  const CompileResult result = nvrtc_->compile(std::string(kAdd) + kSpill, options);
  ASSERT_TRUE(result) << first_error(result);
  const auto from_log = parse_resource_log(result->log);
  const auto from_image = inspect_cubin(result->image);
  ASSERT_TRUE(from_image);
  ASSERT_EQ(from_image->size(), 2U);
  ASSERT_EQ(from_log.size(), 2U);
  for (const ResourceReport& printed : from_log) {
    const auto it = std::find_if(from_image->begin(), from_image->end(),
                                 [&](const ResourceReport& r) { return r.kernel == printed.kernel; });
    ASSERT_NE(it, from_image->end());
    EXPECT_EQ(it->registers, printed.registers);
    EXPECT_EQ(it->stack_bytes, printed.stack_bytes);
    EXPECT_GE(it->shared_static_bytes, printed.shared_static_bytes);
  }
}

TEST_P(NvrtcArch, PtxIsTextForTheArchitecture) {
  CompileOptions options;
  options.arch = GetParam();
  options.output = Output::Ptx;
  const CompileResult result = nvrtc_->compile(kAdd, options);
  ASSERT_TRUE(result) << first_error(result);
  EXPECT_NE(result->image.find(".target " + options.arch), std::string::npos);
  EXPECT_NE(result->image.find(".entry add"), std::string::npos);
  EXPECT_EQ(result->image.find('\0'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcArch, testing::Values("sm_80", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(NvrtcTest, FrontEndErrorsHavePlaces) {
  const CompileResult result = nvrtc_->compile(
      "extern \"C\" __global__ void f(float* a) {\n"
      "  int unused;\n"
      "  a[0] = undefined_name;\n"
      "  a[1] = 3\n"
      "}\n",
      {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, CompileFailureKind::Rejected);
  const auto& messages = result.error().messages;
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].line, 3);
  EXPECT_EQ(messages[0].column, 10);
  EXPECT_EQ(messages[1].line, 5);
  EXPECT_EQ(messages[1].severity, MessageSeverity::Error);
  EXPECT_EQ(messages[2].severity, MessageSeverity::Warning);
}

TEST_F(NvrtcTest, PtxasErrorsAreMappedToTheSource) {
  const CompileResult result = nvrtc_->compile(
      "extern \"C\" __global__ void f(unsigned* a, unsigned b) {\n"
      "  unsigned r = b;\n"
      "  asm volatile(\"cp.async.bulk.commit_group;\");\n"
      "  a[0] = r;\n"
      "}\n",
      {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, CompileFailureKind::Rejected);
  ASSERT_FALSE(result.error().messages.empty());
  const CompilerMessage& message = result.error().messages[0];
  EXPECT_EQ(message.stage, "ptxas");
  EXPECT_EQ(message.line, 3);
  EXPECT_NE(message.text.find("sm_90"), std::string::npos);
}

TEST_F(NvrtcTest, TooMuchSharedMemoryIsRejected) {
  const CompileResult result = nvrtc_->compile(
      "extern \"C\" __global__ void f(char* a) { __shared__ char s[300000]; s[threadIdx.x] = a[0]; __syncthreads();"
      " a[1] = s[5]; }\n",
      {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, CompileFailureKind::Rejected);
  EXPECT_NE(result.error().error.message.find("shared data"), std::string::npos) << first_error(result);
}

TEST_F(NvrtcTest, UnknownArchitectureIsAboutTheMachine) {
  CompileOptions options;
  options.arch = "sm_999";
  const CompileResult result = nvrtc_->compile(kAdd, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, CompileFailureKind::Environment);
  EXPECT_NE(result.error().error.message.find("sm_999"), std::string::npos);
}

TEST_F(NvrtcTest, OtherInputIsRefusedCleanly) {
  EXPECT_FALSE(nvrtc_->compile(std::string("int x;\0", 7), {}));
  CompileOptions options;
  options.extra_options = {"--no-such-option"};
  const CompileResult result = nvrtc_->compile(kAdd, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, CompileFailureKind::Internal);
  // Nothing to compile is no error: an image without kernels.
  const CompileResult empty = nvrtc_->compile("", {});
  ASSERT_TRUE(empty) << first_error(empty);
  EXPECT_TRUE(empty->resources.empty());
}

TEST_F(NvrtcTest, CutImagesAreRefusedNotRead) {
  const CompileResult result = nvrtc_->compile(kAdd, {});
  ASSERT_TRUE(result) << first_error(result);
  const std::string& image = result->image;
  for (size_t size = 0; size < image.size(); size += 37) {
    const auto cut = inspect_cubin(std::string_view(image).substr(0, size));
    EXPECT_FALSE(cut) << size;
  }
  // Any single damaged byte: an answer or a refusal, but no read outside the image (the sanitizers watch).
  for (size_t i = 0; i < image.size(); i += 11) {
    std::string damaged = image;
    damaged[i] = static_cast<char>(~damaged[i]);
    static_cast<void>(inspect_cubin(damaged));
  }
}

TEST_F(NvrtcTest, KnowsItself) {
  EXPECT_EQ(nvrtc_->version_text().substr(0, 6), "nvrtc ");
  EXPECT_FALSE(nvrtc_->identity().empty());
  const std::vector<int> archs = nvrtc_->supported_archs();
  EXPECT_NE(std::find(archs.begin(), archs.end(), 80), archs.end());
  EXPECT_NE(std::find(archs.begin(), archs.end(), 90), archs.end());
}

TEST(NvrtcSearch, ChosenLibraryIsTheOnlyOneTried) {
  const ScopedVariable chosen("TILEWRIGHT_NVRTC", "/no/such/folder/libnvrtc.so");
  EXPECT_EQ(nvrtc_candidates(), std::vector<std::string>{"/no/such/folder/libnvrtc.so"});
  const auto nvrtc = Nvrtc::find();
  ASSERT_FALSE(nvrtc);
  ASSERT_EQ(nvrtc.error().causes.size(), 1U);
  EXPECT_NE(nvrtc.error().causes[0].find("/no/such/folder/libnvrtc.so"), std::string::npos);
}

TEST(NvrtcSearch, AnotherLibraryIsNotNvrtc) {
  const ScopedVariable chosen("TILEWRIGHT_NVRTC", "libm.so.6");
  const auto nvrtc = Nvrtc::find();
  ASSERT_FALSE(nvrtc);
  ASSERT_EQ(nvrtc.error().causes.size(), 1U);
  EXPECT_NE(nvrtc.error().causes[0].find("nvrtcVersion"), std::string::npos);
}

TEST(NvrtcSearch, PackageBesideTheProgramComesBeforeTheToolkit) {
  const ScopedVariable none("TILEWRIGHT_NVRTC", "");
  const ScopedVariable home("CUDA_HOME", "/opt/some-cuda");
  const auto candidates = nvrtc_candidates();
  const auto place = [&](std::string_view ending) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].ends_with(ending)) {
        return i;
      }
    }
    return candidates.size();
  };
  EXPECT_LT(place("/nvidia/cu13/lib/libnvrtc.so.13"), place("/opt/some-cuda/lib64/libnvrtc.so.13"));
  EXPECT_LT(place("/opt/some-cuda/lib64/libnvrtc.so.13"), place("/usr/local/cuda/lib64/libnvrtc.so.13"));
  EXPECT_LT(place("/usr/local/cuda/lib64/libnvrtc.so.13"), candidates.size() - 3);
  EXPECT_EQ(candidates[candidates.size() - 3], "libnvrtc.so.13");
}

TEST(CompilerSearch, NothingFoundNamesBoth) {
  const ScopedVariable nvrtc("TILEWRIGHT_NVRTC", "/no/such/libnvrtc.so");
  const ScopedVariable nvcc("TILEWRIGHT_NVCC", "/no/such/nvcc");
  const auto compiler = CudaCompiler::find({});
  ASSERT_FALSE(compiler);
  ASSERT_GE(compiler.error().causes.size(), 2U);
  std::string all;
  for (const std::string& cause : compiler.error().causes) {
    all += cause + "\n";
  }
  EXPECT_NE(all.find("/no/such/libnvrtc.so"), std::string::npos);
  EXPECT_NE(all.find("/no/such/nvcc"), std::string::npos);
}

TEST(NvccCompiler, AgreesWithNvrtcOnResources) {
  const auto nvcc = Nvcc::find();
  if (!nvcc) {
    GTEST_SKIP() << nvcc.error().message;
  }
  EXPECT_EQ(nvcc->version_text().substr(0, 5), "nvcc ");
  CompileOptions options;
  options.arch = "sm_90a";
  const CompileResult result = nvcc->compile(std::string(kAdd) + kSpill, options);
  ASSERT_TRUE(result) << first_error(result);
  ASSERT_EQ(result->resources.size(), 2U);
  EXPECT_EQ(result->find_resources("add")->shared_static_bytes, 1024);
  EXPECT_EQ(result->find_resources("add")->parameter_sizes_bytes, (std::vector<int32_t>{8, 8, 4, 4}));
  EXPECT_TRUE(result->find_resources("spill")->has_spills());
  EXPECT_FALSE(result->find_resources("add")->has_spills());

  const CompileResult wrong = nvcc->compile("__global__ void f(float* a) {\n  a[0] = zz;\n}\n", options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, CompileFailureKind::Rejected);
  ASSERT_FALSE(wrong.error().messages.empty());
  EXPECT_EQ(wrong.error().messages[0].line, 2);
  EXPECT_EQ(wrong.error().messages[0].column, 10);

  options.arch = "sm_999";
  const CompileResult unknown = nvcc->compile(kAdd, options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, CompileFailureKind::Environment) << unknown.error().log;
}

class CachedCompiler : public testing::Test {
 protected:
  void SetUp() override {
    if (auto compiler = make("build 1")) {
      compiler_ = *std::move(compiler);
    } else {
      GTEST_SKIP() << compiler.error().message;
    }
  }
  Result<CudaCompiler> make(std::string build_id) {
    return CudaCompiler::find({Engine::Nvrtc, folder_.path(), std::move(build_id)});
  }
  os::TempFolder folder_ = *os::TempFolder::make("tw-compiler-test-");
  std::optional<CudaCompiler> compiler_;
};

TEST_F(CachedCompiler, SecondCompilationIsAHit) {
  const CompileResult first = compiler_->compile(kAdd, {});
  ASSERT_TRUE(first) << first_error(first);
  const CompileResult second = compiler_->compile(kAdd, {});
  ASSERT_TRUE(second);
  EXPECT_FALSE(first->is_from_cache);
  EXPECT_TRUE(second->is_from_cache);
  EXPECT_EQ(first->image, second->image);
  EXPECT_EQ(first->resources, second->resources);
  EXPECT_EQ(first->log, second->log);
  EXPECT_EQ(compiler_->cache_statistics().hits, 1);
  // Another process (here another object) finds it too.
  auto other = make("build 1");
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->compile(kAdd, {})->is_from_cache);
}

TEST_F(CachedCompiler, EveryInputIsPartOfTheKey) {
  const CompileOptions plain;
  std::vector<std::string> keys = {compiler_->key(kAdd, plain), compiler_->key(std::string(kAdd) + " ", plain)};
  CompileOptions options;
  options.arch = "sm_90a";
  keys.push_back(compiler_->key(kAdd, options));
  options = plain;
  options.output = Output::Ptx;
  keys.push_back(compiler_->key(kAdd, options));
  options = plain;
  options.max_registers = 64;
  keys.push_back(compiler_->key(kAdd, options));
  options = plain;
  options.has_line_info = true;
  keys.push_back(compiler_->key(kAdd, options));
  options = plain;
  options.file_name = "other.cu";
  keys.push_back(compiler_->key(kAdd, options));
  options = plain;
  options.defines = {"AB", "C"};
  keys.push_back(compiler_->key(kAdd, options));
  options.defines = {"A", "BC"};
  keys.push_back(compiler_->key(kAdd, options));
  auto other_build = make("build 2");
  ASSERT_TRUE(other_build);
  keys.push_back(other_build->key(kAdd, plain));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
  EXPECT_EQ(compiler_->key(kAdd, plain), make("build 1")->key(kAdd, plain));
}

TEST_F(CachedCompiler, DamagedEntryIsRebuilt) {
  const CompileResult first = compiler_->compile(kAdd, {});
  ASSERT_TRUE(first) << first_error(first);
  const std::string path = CompileCache(folder_.path()).entry_path(compiler_->key(kAdd, {}));
  std::string bytes = *os::read_file(path);
  bytes[bytes.size() - 100] = static_cast<char>(~bytes[bytes.size() - 100]);
  ASSERT_TRUE(os::write_file_atomic(path, bytes));
  const CompileResult second = compiler_->compile(kAdd, {});
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->is_from_cache);
  EXPECT_EQ(second->image, first->image);
  EXPECT_EQ(compiler_->cache_statistics().damaged, 1);
  EXPECT_TRUE(compiler_->compile(kAdd, {})->is_from_cache);
}

TEST_F(CachedCompiler, FailuresAreNotKept) {
  EXPECT_FALSE(compiler_->compile("garbage", {}));
  EXPECT_FALSE(compiler_->compile("garbage", {}));
  EXPECT_EQ(compiler_->cache_statistics().hits, 0);
  EXPECT_EQ(compiler_->cache_statistics().misses, 2);
}

TEST_F(CachedCompiler, CacheThatCannotBeWrittenDoesNotStopCompilation) {
  const std::string file = folder_.path() + "/file";
  ASSERT_TRUE(os::write_file_atomic(file, "x"));
  auto compiler = CudaCompiler::find({Engine::Nvrtc, file, "build"});
  ASSERT_TRUE(compiler);
  EXPECT_TRUE(compiler->compile(kAdd, {}));
  EXPECT_TRUE(compiler->cache_error().has_value());
}

TEST_F(CachedCompiler, ProcessesMayCompileTheSameAtOnce) {
  constexpr int kProcesses = 3;
  std::vector<pid_t> children;
  for (int child = 0; child < kProcesses; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto compiler = make("build 1");
      bool is_good = compiler.has_value();
      for (int i = 0; is_good && i < 4; ++i) {
        const std::string source = std::string(kAdd) + "// " + std::to_string(i % 2) + "\n";
        const CompileResult result = compiler->compile(source, {});
        is_good = result && result->resources.size() == 1;
      }
      is_good = is_good && compiler->cache_statistics().hits >= 2 && compiler->cache_statistics().damaged == 0;
      _exit(is_good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST(BuildId, IsStableInOneProgram) {
  EXPECT_FALSE(own_build_id().empty());
  EXPECT_NE(own_build_id(), "unknown");
  EXPECT_EQ(own_build_id(), own_build_id());
}

}  // namespace
}  // namespace tw::toolchain

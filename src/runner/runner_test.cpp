// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>

#include "runner/cublas.h"
#include "runner/fake_cuda.h"
#include "runner/launch.h"
#include "runner/timing.h"
#include "toolchain/nvrtc.h"

namespace tw::runner {
namespace {

// Kernels whose names tell the fake driver what to do; the bodies matter only for the parameters in the cubin.
constexpr const char* kSource = R"(
#define KERNEL(NAME) \
  extern "C" __global__ void NAME(const unsigned char* in, unsigned char* out, int n) { \
    if ((int)threadIdx.x < n) out[threadIdx.x] = in[threadIdx.x]; }
KERNEL(copy) KERNEL(slow) KERNEL(overrun) KERNEL(underrun) KERNEL(shift) KERNEL(scribble) KERNEL(fault)
extern "C" __global__ void scale(const unsigned char* in, unsigned char* out, int n, long long wide, float f) {
  if ((int)threadIdx.x < n) out[threadIdx.x] = in[threadIdx.x] * f + wide; }
)";

// Against the fake driver; the cubin is a real one, so these need NVRTC but no GPU.
class FakeGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(TW_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)()>(dlsym(library, "fake_cuda_reset"))();
    control_ = reinterpret_cast<fake::Control* (*)()>(dlsym(library, "fake_cuda_control"))();
  }
  void open() {
    auto driver = cuda::Driver::open(TW_FAKE_CUDA);
    ASSERT_TRUE(driver) << driver.error().message;
    auto gpu = Gpu::open(*driver);
    ASSERT_TRUE(gpu) << gpu.error().error.message;
    gpu_ = *std::move(gpu);
  }
  // (in, out, n) with 100 bytes each.
  Launch make_launch(const std::string& kernel) {
    static const std::string kCubin = [] {
      const auto nvrtc = toolchain::Nvrtc::find();
      const auto compiled = nvrtc ? nvrtc->compile(kSource, {.arch = "sm_90a"})
                                  : toolchain::CompileResult(fail(toolchain::CompileFailure{}));
      return compiled ? compiled->image : std::string();
    }();
    Launch launch;
    launch.cubin = kCubin;
    launch.kernel = kernel;
    launch.block.x = 128;
    std::vector<uint8_t> in(100);
    std::iota(in.begin(), in.end(), uint8_t{1});
    launch.arguments = {{"in", BufferArgument{in, false}},
                        {"out", BufferArgument{std::vector<uint8_t>(100, 0xff), true}},
                        {"n", int32_t{100}}};
    return launch;
  }
  void expect_no_leaks() {
    gpu_.reset();
    EXPECT_EQ(control_->live.allocations, 0);
    EXPECT_EQ(control_->live.modules, 0);
    EXPECT_EQ(control_->live.streams, 0);
    EXPECT_EQ(control_->live.events, 0);
    EXPECT_EQ(control_->live.contexts, 0);
  }
  fake::Control* control_ = nullptr;
  std::unique_ptr<Gpu> gpu_;
};

// The same with a device opened and a cubin at hand.
class FakeLaunchTest : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    if (make_launch("copy").cubin.empty()) {
      GTEST_SKIP() << "NVRTC was not found";
    }
    open();
  }
};

TEST(Driver, MissingLibraryIsAnError) {
  const auto driver = cuda::Driver::open("/no/such/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().message, "no CUDA driver on this machine");
  EXPECT_EQ(driver.error().causes.size(), 1U);
}

TEST(Driver, AnotherLibraryIsNoDriver) {
  const auto driver = cuda::Driver::open("libm.so.6");
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().message.find("cuInit"), std::string::npos);
}

TEST(Driver, StubOfTheToolkitSaysSo) {
  const char* stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (!std::filesystem::exists(stub)) {
    GTEST_SKIP() << "no CUDA toolkit here";
  }
  // NVIDIA's own library without a driver behind it: it has every symbol we bind, and refuses to start. In a process of
  // its own, because it has the name of the real driver and would be taken for it afterwards.
  const auto try_stub = [&] {
    const auto driver = cuda::Driver::open(stub);
    const bool is_refused = !driver && driver.error().message.find("does not start") != std::string::npos &&
                            driver.error().causes.size() == 1 &&
                            driver.error().causes[0].find("STUB") != std::string::npos;
    std::_Exit(is_refused ? 0 : 1);
  };
  EXPECT_EXIT(try_stub(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeGpuTest, VariableNamesTheDriver) {
  setenv("TILEWRIGHT_CUDA_DRIVER", TW_FAKE_CUDA, 1);
  const auto driver = cuda::Driver::find();
  unsetenv("TILEWRIGHT_CUDA_DRIVER");
  ASSERT_TRUE(driver);
  EXPECT_EQ(driver->version(), 13000);
  EXPECT_EQ(driver->device_count(), 1);
}

TEST_F(FakeGpuTest, DriverThatDoesNotStart) {
  control_->init_status = 100;
  const auto driver = cuda::Driver::open(TW_FAKE_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().causes.at(0).find("CUDA_ERROR_NO_DEVICE"), std::string::npos);
}

TEST_F(FakeGpuTest, NoDevice) {
  control_->device_count = 0;
  const auto driver = cuda::Driver::open(TW_FAKE_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().message.find("sees no device"), std::string::npos);
}

TEST_F(FakeGpuTest, DeviceIsDescribed) {
  open();
  const DeviceInfo& info = gpu_->info();
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.compute_major, 9);
  EXPECT_EQ(info.multiprocessors, 8);
  EXPECT_EQ(info.memory_bytes, int64_t{1} << 33);
  EXPECT_EQ(info.l2_bytes, 1 << 20);
  EXPECT_EQ(info.max_shared_per_block_bytes, 232448);
  EXPECT_EQ(info.arch(), "sm_90a");
  EXPECT_EQ(to_json(info).find("driver")->as_string(), "13.0");
  EXPECT_EQ(to_json(info).find("compute_capability")->as_string(), "9.0");
  const auto second = Gpu::open(gpu_->driver(), 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, RunErrorKind::Environment);
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, GoodKernelRunsAndComesBack) {
  const Launch launch = make_launch("copy");
  const auto output = launch_once(*gpu_, launch);
  ASSERT_TRUE(output) << output.error().error.message;
  ASSERT_EQ(output->buffers.size(), 3U);
  EXPECT_EQ(output->buffers[1], std::get<BufferArgument>(launch.arguments[0].value).bytes);
  EXPECT_TRUE(output->buffers[2].empty());
  EXPECT_TRUE(output->violations.empty());
  EXPECT_EQ(output->isolation, "none");
  EXPECT_EQ(output->registers, 42);
  EXPECT_EQ(control_->live.launches, 1);
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, ScalarsOfAllTypesArrive) {
  Launch launch = make_launch("scale");
  launch.arguments.push_back({"wide", (int64_t{3} << 40) + 1});
  launch.arguments.push_back({"factor", 2.0F});
  const auto output = launch_once(*gpu_, launch);
  ASSERT_TRUE(output) << output.error().error.message;
  EXPECT_EQ(output->buffers[1][0], 5);
  EXPECT_EQ(output->buffers[1][99], 203);
}

TEST_F(FakeLaunchTest, WritesBesideABufferAreSeen) {
  const Launch over = make_launch("overrun");
  const auto overrun = launch_once(*gpu_, over);
  ASSERT_TRUE(overrun);
  ASSERT_EQ(overrun->violations.size(), 1U);
  EXPECT_EQ(overrun->violations[0].kind, BufferViolation::Kind::GuardDamaged);
  EXPECT_EQ(overrun->violations[0].name, "out");
  EXPECT_EQ(overrun->violations[0].argument, 1U);
  EXPECT_EQ(overrun->violations[0].offset_bytes, 103);
  EXPECT_EQ(overrun->violations[0].damaged_bytes, 2);
  const Launch under = make_launch("underrun");
  const auto underrun = launch_once(*gpu_, under);
  ASSERT_TRUE(underrun);
  ASSERT_EQ(underrun->violations.size(), 1U);
  EXPECT_EQ(underrun->violations[0].offset_bytes, -2);
  EXPECT_EQ(underrun->violations[0].damaged_bytes, 2);
  const Launch shifted = make_launch("shift");
  const auto shift = launch_once(*gpu_, shifted);
  ASSERT_TRUE(shift);
  ASSERT_EQ(shift->violations.size(), 1U);
  EXPECT_EQ(shift->violations[0].offset_bytes, 100);
  EXPECT_GT(shift->violations[0].damaged_bytes, 32);
}

TEST_F(FakeLaunchTest, ChangedInputIsSeenAndOutputIsNotOne) {
  Launch launch = make_launch("scribble");
  const auto output = launch_once(*gpu_, launch);
  ASSERT_TRUE(output);
  ASSERT_EQ(output->violations.size(), 1U);
  EXPECT_EQ(output->violations[0].kind, BufferViolation::Kind::InputChanged);
  EXPECT_EQ(output->violations[0].name, "in");
  EXPECT_EQ(output->violations[0].offset_bytes, 5);
  std::get<BufferArgument>(launch.arguments[0].value).is_written = true;
  const auto allowed = launch_once(*gpu_, launch);
  ASSERT_TRUE(allowed);
  EXPECT_TRUE(allowed->violations.empty());
}

TEST_F(FakeLaunchTest, FaultBreaksTheDevice) {
  const Launch launch = make_launch("fault");
  const auto output = launch_once(*gpu_, launch);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, RunErrorKind::Fault);
  EXPECT_EQ(output.error().status, cuda::kIllegalAddress);
  EXPECT_NE(output.error().error.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
  EXPECT_TRUE(output.error().error.causes.empty());
  EXPECT_TRUE(gpu_->is_broken());
  const Launch good = make_launch("copy");
  const auto after = launch_once(*gpu_, good);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().error.causes.size(), 1U);
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, MemoryThatDoesNotFit) {
  const Launch launch = make_launch("copy");
  control_->memory_bytes = 10000;
  const auto output = launch_once(*gpu_, launch);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, RunErrorKind::OutOfMemory);
  EXPECT_FALSE(gpu_->is_broken());
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, WhatCannotBeLaunchedIsRefused) {
  const Launch good = make_launch("copy");
  const auto refuse = [&](auto change) {
    Launch launch = good;
    change(launch);
    const auto output = launch_once(*gpu_, launch);
    if (output) {
      ADD_FAILURE() << "was launched";
      return std::string();
    }
    EXPECT_EQ(output.error().kind, RunErrorKind::BadLaunch) << output.error().error.message;
    return output.error().error.message;
  };
  EXPECT_EQ(refuse([](Launch& l) { l.grid.x = 0; }), "a grid or block of zero");
  EXPECT_EQ(refuse([](Launch& l) { l.block.x = 2048; }), "2048 threads a block; the device has 1024");
  EXPECT_NE(refuse([](Launch& l) { l.grid.x = 3000000000U; }).find("3000000000"), std::string::npos);
  EXPECT_EQ(refuse([](Launch& l) { l.arguments.pop_back(); }), "2 arguments for 3 parameters");
  EXPECT_EQ(refuse([](Launch& l) { l.arguments[2].value = int64_t{100}; }),
            "argument `n` has 8 bytes, parameter 2 of the kernel 4");
  EXPECT_NE(refuse([](Launch& l) { l.shared_dynamic_bytes = 300 * 1024; }).find("dynamic shared"), std::string::npos);
  // These the driver refuses.
  EXPECT_NE(refuse([](Launch& l) { l.shared_dynamic_bytes = 210 * 1024; }).find("allowing 215040 bytes"),
            std::string::npos);
  EXPECT_NE(refuse([](Launch& l) { l.grid.x = 12345; }).find("launching"), std::string::npos);
  control_->max_threads_of_kernel = 64;
  EXPECT_EQ(refuse([](Launch&) {}), "128 threads a block; with 42 registers a thread the kernel can have 64");
  EXPECT_EQ(control_->live.launches, 0);
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, LargeSharedMemoryIsAllowedExplicitly) {
  Launch launch = make_launch("copy");
  launch.shared_dynamic_bytes = 48 * 1024;
  ASSERT_TRUE(launch_once(*gpu_, launch));
  EXPECT_EQ(control_->last_dynamic_shared_limit, 0);
  EXPECT_EQ(control_->last_shared_bytes, 48U * 1024);
  launch.shared_dynamic_bytes = 100 * 1024;
  ASSERT_TRUE(launch_once(*gpu_, launch));
  EXPECT_EQ(control_->last_dynamic_shared_limit, 100 * 1024);
}

TEST_F(FakeLaunchTest, ImagesOfNoUse) {
  Launch launch = make_launch("copy");
  launch.kernel = "absent";
  EXPECT_EQ(launch_once(*gpu_, launch).error().kind, RunErrorKind::BadImage);
  launch.kernel = "copy";
  control_->module_status = cuda::kNoBinaryForGpu;
  EXPECT_EQ(launch_once(*gpu_, launch).error().kind, RunErrorKind::BadImage);
  launch.cubin = "garbage";
  EXPECT_EQ(launch_once(*gpu_, launch).error().kind, RunErrorKind::BadImage);
}

TEST_F(FakeLaunchTest, EmptyBuffersAreFine) {
  Launch launch = make_launch("copy");
  launch.arguments[0].value = BufferArgument{{}, false};
  launch.arguments[1].value = BufferArgument{{}, true};
  launch.arguments[2].value = int32_t{0};
  const auto output = launch_once(*gpu_, launch);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->violations.empty());
}

TEST_F(FakeLaunchTest, TimingCountsTheLaunchAlone) {
  const Launch launch = make_launch("copy");
  {
    auto prepared = PreparedLaunch::prepare(*gpu_, launch);
    ASSERT_TRUE(prepared);
    TimingOptions options;
    options.warmup = 5;
    const auto timing = time_launch(*gpu_, *prepared, options);
    ASSERT_TRUE(timing) << timing.error().error.message;
    // The fake kernel takes 0.25 ms and every fill 1 ms, which must not show.
    EXPECT_NEAR(timing->median_ms, 0.25, 1e-4);
    EXPECT_NEAR(timing->max_ms, 0.25, 1e-4);
    EXPECT_EQ(timing->samples, options.min_samples);
    EXPECT_TRUE(timing->has_interval);
    EXPECT_EQ(control_->live.launches, options.warmup + timing->samples);
    EXPECT_EQ(control_->live.fills, timing->samples);
    options.is_l2_flushed = false;
    ASSERT_TRUE(time_launch(*gpu_, *prepared, options));
    EXPECT_EQ(control_->live.fills, timing->samples);
    EXPECT_TRUE(prepared->finish());
  }
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, InterleavedItemsKeepTheirTimes) {
  const Launch copy = make_launch("copy");
  const Launch slow = make_launch("slow");
  auto fast_launch = PreparedLaunch::prepare(*gpu_, copy);
  auto slow_launch = PreparedLaunch::prepare(*gpu_, slow);
  ASSERT_TRUE(fast_launch && slow_launch);
  std::string order;
  const std::vector<TimedItem> items = {
      {"slow",
       [&](cuda::Stream stream) {
         order += 's';
         return slow_launch->enqueue(stream);
       }},
      {"fast",
       [&](cuda::Stream stream) {
         order += 'f';
         return fast_launch->enqueue(stream);
       }},
  };
  TimingOptions options;
  options.warmup = 0;
  const auto timings = time_interleaved(*gpu_, items, options);
  ASSERT_TRUE(timings);
  EXPECT_NEAR(timings->at(0).median_ms, 1.0, 1e-4);
  EXPECT_NEAR(timings->at(1).median_ms, 0.25, 1e-4);
  // Both orders occur.
  ASSERT_EQ(order.size(), 60U);
  int slow_first = 0;
  for (size_t i = 0; i < order.size(); i += 2) {
    EXPECT_NE(order[i], order[i + 1]);
    slow_first += order[i] == 's' ? 1 : 0;
  }
  EXPECT_GT(slow_first, 3);
  EXPECT_LT(slow_first, 27);
}

TEST_F(FakeGpuTest, CopyIsTimed) {
  open();
  const auto timing = time_copy(*gpu_, 1 << 20, {});
  ASSERT_TRUE(timing);
  EXPECT_NEAR(timing->median_ms, 0.5, 1e-4);
  expect_no_leaks();
}

TEST_F(FakeLaunchTest, TimingReportsAFault) {
  const Launch launch = make_launch("fault");
  {
    auto prepared = PreparedLaunch::prepare(*gpu_, launch);
    ASSERT_TRUE(prepared);
    const auto timing = time_launch(*gpu_, *prepared, {});
    ASSERT_FALSE(timing);
    EXPECT_EQ(timing.error().kind, RunErrorKind::Fault);
  }
  expect_no_leaks();
}

TEST_F(FakeGpuTest, CublasMultipliesRowMajorMatricesInAllFourForms) {
  open();
  auto cublas = Cublas::open(*gpu_, TW_FAKE_CUDA);
  ASSERT_TRUE(cublas) << cublas.error().error.message;
  EXPECT_EQ((*cublas)->version(), 130100);
  constexpr int32_t kM = 3;
  constexpr int32_t kN = 5;
  constexpr int32_t kK = 4;
  const auto value = [](int32_t row, int32_t column) { return static_cast<float>(row * 7 + column * 3 % 5 - 4); };
  for (const bool is_a_transposed : {false, true}) {
    for (const bool is_b_transposed : {false, true}) {
      std::vector<float> a(kM * kK);
      std::vector<float> b(kK * kN);
      for (int32_t l = 0; l < kK; ++l) {
        for (int32_t i = 0; i < kM; ++i) {
          a[static_cast<size_t>(is_a_transposed ? l * kM + i : i * kK + l)] = value(i, l);
        }
        for (int32_t j = 0; j < kN; ++j) {
          b[static_cast<size_t>(is_b_transposed ? j * kK + l : l * kN + j)] = value(l, j);
        }
      }
      std::vector<float> d(kM * kN, -1.0F);
      GemmCall call{ElementType::F32, ElementType::F32, kM, kN, kK, is_a_transposed, is_b_transposed};
      // The fake device's memory is the host's.
      call.a = reinterpret_cast<cuda::DevicePointer>(a.data());
      call.b = reinterpret_cast<cuda::DevicePointer>(b.data());
      call.d = reinterpret_cast<cuda::DevicePointer>(d.data());
      ASSERT_TRUE((*cublas)->enqueue(call, gpu_->stream()));
      for (int32_t i = 0; i < kM; ++i) {
        for (int32_t j = 0; j < kN; ++j) {
          float expected = 0;
          for (int32_t l = 0; l < kK; ++l) {
            expected += value(i, l) * value(l, j);
          }
          EXPECT_EQ(d[static_cast<size_t>(i * kN + j)], expected) << i << ", " << j;
        }
      }
      call.m = 0;
      EXPECT_EQ((*cublas)->enqueue(call, gpu_->stream()).error().kind, RunErrorKind::BadLaunch);
      call.m = kM;
      call.input = ElementType::Bf16;
      const auto refused = (*cublas)->enqueue(call, gpu_->stream());
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().error.message.find("CUBLAS_STATUS_NOT_SUPPORTED"), std::string::npos);
    }
  }
}

TEST_F(FakeGpuTest, CublasThatIsNotThereOrDoesNotStart) {
  open();
  EXPECT_EQ(Cublas::open(*gpu_, "/no/such/libcublas.so").error().kind, RunErrorKind::Environment);
  EXPECT_EQ(Cublas::open(*gpu_, "libm.so.6").error().kind, RunErrorKind::Environment);
  control_->cublas_status = 1;
  const auto cublas = Cublas::open(*gpu_, TW_FAKE_CUDA);
  ASSERT_FALSE(cublas);
  EXPECT_EQ(cublas.error().error.message, "starting cuBLAS: CUBLAS_STATUS_NOT_INITIALIZED");
}

// On a real device, where there is one.
class RealGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto driver = cuda::Driver::find();
    if (!driver) {
      GTEST_SKIP() << driver.error().message;
    }
    const auto nvrtc = toolchain::Nvrtc::find();
    if (!nvrtc) {
      GTEST_SKIP() << nvrtc.error().message;
    }
    auto gpu = Gpu::open(*driver);
    ASSERT_TRUE(gpu) << gpu.error().error.message;
    gpu_ = *std::move(gpu);
    toolchain::CompileOptions options;
    options.arch = gpu_->info().arch();
    const auto compiled = nvrtc->compile(kRealSource, options);
    ASSERT_TRUE(compiled) << compiled.error().error.message;
    cubin_ = compiled->image;
  }
  // y[i] = alpha * x[i] for i < n + extra; n is 1000.
  Launch make_launch(int32_t extra) const {
    Launch launch;
    launch.cubin = cubin_;
    launch.kernel = "scale";
    launch.grid.x = 5;
    launch.block.x = 256;
    std::vector<float> x(1000);
    std::iota(x.begin(), x.end(), 1.0F);
    std::vector<uint8_t> bytes(x.size() * sizeof(float));
    std::memcpy(bytes.data(), x.data(), bytes.size());
    launch.arguments = {{"x", BufferArgument{bytes, false}},
                        {"y", BufferArgument{std::vector<uint8_t>(bytes.size(), 0xff), true}},
                        {"n", int32_t{1000 + extra}},
                        {"offset", int64_t{0}},
                        {"alpha", 0.5F}};
    return launch;
  }
  static constexpr const char* kRealSource = R"(
extern "C" __global__ void scale(const float* x, float* y, int n, long long offset, float alpha) {
  extern __shared__ float unused[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i + offset] = alpha * x[i < 1000 ? i : 999];
}
)";
  std::unique_ptr<Gpu> gpu_;
  std::string cubin_;
};

TEST_F(RealGpuTest, KernelComputesAndStaysInItsBuffers) {
  Launch launch = make_launch(0);
  launch.shared_dynamic_bytes = 64 * 1024;
  const auto output = launch_once(*gpu_, launch);
  ASSERT_TRUE(output) << output.error().error.message;
  std::vector<float> y(1000);
  std::memcpy(y.data(), output->buffers[1].data(), output->buffers[1].size());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(y[static_cast<size_t>(i)], 0.5F * static_cast<float>(i + 1));
  }
  EXPECT_TRUE(output->violations.empty());
  EXPECT_GT(output->registers, 0);
}

TEST_F(RealGpuTest, WriteBehindTheBufferIsSeen) {
  const Launch launch = make_launch(3);
  const auto output = launch_once(*gpu_, launch);
  ASSERT_TRUE(output) << output.error().error.message;
  ASSERT_EQ(output->violations.size(), 1U);
  EXPECT_EQ(output->violations[0].offset_bytes, 4000);
  EXPECT_GT(output->violations[0].damaged_bytes, 0);
  EXPECT_LE(output->violations[0].damaged_bytes, 12);
}

TEST_F(RealGpuTest, TimesAreThoseOfADevice) {
  const Launch launch = make_launch(0);
  auto prepared = PreparedLaunch::prepare(*gpu_, launch);
  ASSERT_TRUE(prepared) << prepared.error().error.message;
  const auto timing = time_launch(*gpu_, *prepared, {});
  ASSERT_TRUE(timing) << timing.error().error.message;
  EXPECT_GT(timing->median_ms, 0);
  EXPECT_LT(timing->median_ms, 1);
  // No device moves more than 50 TB/s through its memory.
  const auto copy = time_copy(*gpu_, int64_t{256} << 20, {});
  ASSERT_TRUE(copy) << copy.error().error.message;
  EXPECT_GT(copy->median_ms, 2.0 * (256 << 20) / 50e12 * 1e3);
}

TEST(RunReports, EveryKindHasItsCode) {
  const auto code_of = [](RunErrorKind kind) {
    diag::Sink sink;
    static_cast<void>(report_run_error(sink, {}, "k", {kind, 0, Error{"reason", {"cause"}}}));
    EXPECT_EQ(sink.diagnostics().front().notes.size(), 1U);
    return sink.diagnostics().front().code->number;
  };
  EXPECT_EQ(code_of(RunErrorKind::Environment), diag::codes::GpuMissing::kInfo.number);
  EXPECT_EQ(code_of(RunErrorKind::OutOfMemory), diag::codes::GpuOutOfMemory::kInfo.number);
  EXPECT_EQ(code_of(RunErrorKind::BadImage), diag::codes::ImageRefused::kInfo.number);
  EXPECT_EQ(code_of(RunErrorKind::BadLaunch), diag::codes::LaunchRefused::kInfo.number);
  EXPECT_EQ(code_of(RunErrorKind::Fault), diag::codes::KernelFault::kInfo.number);
  EXPECT_EQ(code_of(RunErrorKind::Driver), diag::codes::DriverFailed::kInfo.number);
  diag::Sink sink;
  static_cast<void>(report_violation(sink, {}, "k", {BufferViolation::Kind::GuardDamaged, 1, "out", 103, 2, 100}));
  static_cast<void>(report_violation(sink, {}, "k", {BufferViolation::Kind::InputChanged, 0, "in", 5, 0, 100}));
  static_cast<void>(report_no_gpu(sink, Error{"no CUDA driver on this machine", {"cause"}}));
  EXPECT_EQ(sink.diagnostics()[0].code, &diag::codes::GuardDamaged::kInfo);
  EXPECT_EQ(sink.diagnostics()[1].code, &diag::codes::InputChanged::kInfo);
  EXPECT_EQ(sink.diagnostics()[2].message(), "no GPU can be used: no CUDA driver on this machine");
  EXPECT_EQ(sink.diagnostics()[2].notes.size(), 2U);
  EXPECT_EQ(sink.diagnostics()[0].message(),
            "`k` wrote beside its parameter `out`: 2 bytes, the nearest at byte 103 of a buffer of 100 bytes");
  EXPECT_EQ(sink.diagnostics()[1].message(), "`k` changed its input `in`, first at byte 5");
}

}  // namespace
}  // namespace tw::runner

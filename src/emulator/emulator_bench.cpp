// SPDX-License-Identifier: Apache-2.0
// Time of the emulator on a 512 x 512 x 512 bf16 GEMM with 128-wide tiles: the reading alone, then both halves with
// stamps in order and under a random schedule. Prints one JSON object a line.
#include <chrono>
#include <fmt/format.h>

#include "emulator/machine.h"
#include "emulator/test_kernels.h"

namespace tw::emulator {
namespace {

template <class F>
void measure(std::string_view what, F run) {
  const auto start = std::chrono::steady_clock::now();
  const bool good = run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"bench\":\"emulator_gemm_512\",\"what\":\"{}\",\"time_s\":{:.3f},\"good\":{}}}\n", what, took.count(),
             good);
}

void run_all() {
  test::GemmOptions options;
  options.bm = 128;
  options.bn = 128;
  options.warps_m = 2;
  options.warps_n = 2;
  const ir::Function f = test::make_gemm(options);
  Problem problem;
  problem.sizes = {{"M", 512}, {"N", 512}, {"K", 512}};
  measure("reading", [&] { return !run_reading(f, problem).error; });
  measure("both_in_order", [&] { return run_machine(f, problem).is_good(); });
  Schedule random;
  random.mode = ScheduleMode::Random;
  random.async = AsyncMode::Random;
  measure("both_random", [&] { return run_machine(f, problem, random).is_good(); });
}

}  // namespace
}  // namespace tw::emulator

int main() {
  tw::emulator::run_all();
  return 0;
}

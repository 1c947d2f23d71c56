// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "emulator/machine.h"
#include "lowering/planted_faults.h"
#include "sema/sema.h"
#include "syntax/parser.h"
#include "verify/verify.h"

namespace tw::lowering {
namespace {

// Each fault is planted in the first of these programs that offers a place for it.
constexpr std::string_view kPipelined = R"(
from tilewright import *

@kernel(target="sm_80", threads=128)
def pipelined(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    assume(K % 8 == 0)
    sA = shared(bf16, (32, 32), swizzle=64)
    sB = shared(bf16, (32, 32), swizzle=64)
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        acc = zeros(f32, (32, 32))
        for k in pipeline(range(cdiv(K, 32)), stages=3):
            copy(A[bm*32:+32, k*32:+32], sA, via=cp_async)
            copy(B[bn*32:+32, k*32:+32], sB, via=cp_async)
            acc = mma(sA, sB, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))
        store(acc, D[bm*32:+32, bn*32:+32])
)";

constexpr std::string_view kStaged = R"(
from tilewright import *

@kernel(target="sm_80", threads=64)
def staged(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    sA = shared(bf16, (32, 32), swizzle=64)
    sB = shared(bf16, (32, 32), swizzle=64)
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        acc = zeros(f32, (32, 32))
        for k in range(cdiv(K, 32)):
            copy(A[bm*32:+32, k*32:+32], sA)
            copy(B[bn*32:+32, k*32:+32], sB)
            acc = mma(sA, sB, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))
        store(acc, D[bm*32:+32, bn*32:+32])
)";

constexpr std::string_view kRowSum = R"(
from tilewright import *

@kernel(target="sm_80", threads=128)
def row_sum(X: In[f32, (R, N)], S: Out[f32, (R,)]):
    for r in tiles(R):
        total = zeros(f32, (1,))
        for k in range(cdiv(N, 512)):
            total = total + reduce(load(X[r:+1, k*512:+512]), axis=1, op=add)
        check(total, lambda i: dict(R=r + i))
        store(total, S[r:+1])
)";

constexpr std::string_view kFlat = R"(
from tilewright import *

@kernel(target="sm_80", threads=128)
def flat(X: In[f32, (R * N,)], D: Out[f32, (R, N)]):
    for r in tiles(R):
        for k in range(cdiv(N, 512)):
            store(load(X[r*N + k*512:+512]), D[r, k*512:+512])
)";

std::optional<ir::Function> source_of(std::string_view text) {
  diag::SourceManager sources;
  diag::Sink sink;
  const diag::FileId file = sources.add("fault.tw.py", std::string(text));
  auto module = syntax::parse(sources, file, sink);
  if (!module) {
    return std::nullopt;
  }
  auto kernels = sema::kernels_of(*module, sink);
  if (!kernels) {
    return std::nullopt;
  }
  auto machine = sema::machine_of((*kernels)[0], "", sink);
  auto function = machine ? sema::lower_kernel(*module, (*kernels)[0], (*kernels)[0].configurations[0], **machine, sink)
                          : Checked<ir::Function>(fail(machine.error()));
  for (const diag::Diagnostic& d : sink.diagnostics()) {
    ADD_FAILURE() << d.message();
  }
  return function ? std::optional(*std::move(function)) : std::nullopt;
}

verify::Verdict verdict_of(const ir::Function& source, const ir::Function& lowered) {
  diag::Sink sink;
  return verify::check(source, lowered, {}, sink).verdict;
}

const std::vector<std::string_view>& programs() {
  static const std::vector<std::string_view> all{kPipelined, kStaged, kRowSum, kFlat};
  return all;
}

TEST(Lowering, without_a_fault_every_program_is_proved) {
  for (std::string_view text : programs()) {
    auto source = source_of(text);
    ASSERT_TRUE(source);
    diag::Sink sink;
    auto lowered = passes::lower(*source, sink);
    ASSERT_TRUE(lowered);
    EXPECT_EQ(verdict_of(*source, *lowered), verify::Verdict::Proved) << source->name;
  }
}

class PlantedFault : public ::testing::TestWithParam<const Fault*> {};

TEST_P(PlantedFault, is_refuted) {
  const Fault& fault = *GetParam();
  bool was_planted = false;
  for (std::string_view text : programs()) {
    auto source = source_of(text);
    ASSERT_TRUE(source);
    diag::Sink sink;
    auto lowered = pipeline_with(fault, &was_planted).run(*source, sink);
    if (!was_planted) {
      continue;
    }
    // A pass may notice the mistake of an earlier one; that is as good as a refutation.
    if (!lowered) {
      EXPECT_TRUE(sink.has_errors());
      return;
    }
    const verify::Verdict verdict = verdict_of(*source, *lowered);
    switch (fault.expected) {
      case Outcome::Refuted:
        EXPECT_EQ(verdict, verify::Verdict::Refuted) << fault.effect << " in " << source->name;
        break;
      case Outcome::NotProved:
        EXPECT_NE(verdict, verify::Verdict::Proved) << fault.effect << " in " << source->name;
        break;
      case Outcome::Harmless:
        EXPECT_NE(verdict, verify::Verdict::Refuted) << fault.effect << " in " << source->name;
        break;
    }
    return;
  }
  FAIL() << "no program offers a place for " << fault.name;
}

std::vector<const Fault*> all_faults() {
  std::vector<const Fault*> out;
  for (const Fault& fault : planted_faults()) {
    out.push_back(&fault);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedFault, ::testing::ValuesIn(all_faults()), [](const auto& info) {
  std::string name(info.param->name);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace tw::lowering

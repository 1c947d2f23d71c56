// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/strings.h"
#include "passes/pass.h"
#include "sema/sema.h"
#include "syntax/parser.h"
#include "verify/verify.h"

namespace tw::verify {
namespace {

struct Checked {
  std::string problem;
  Report report;

  [[nodiscard]] const Obligation* refuted(std::string_view rule) const {
    for (const Obligation& o : report.obligations) {
      if (o.verdict == Verdict::Refuted && o.counterexample && o.counterexample->rule == rule) {
        return &o;
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::string text() const {
    std::string out = problem;
    for (const Obligation& o : report.obligations) {
      out += o.id + " " + std::string(name_of(o.verdict)) + " " + o.reason + "\n";
    }
    return out;
  }
};

Checked check_program(const std::string& text, const spec::Computation* task = nullptr) {
  Checked out;
  diag::SourceManager sources;
  diag::Sink sink;
  auto file = sources.add("test.tw.py", text);
  auto fail = [&] {
    for (const diag::Diagnostic& d : sink.diagnostics()) {
      out.problem += d.message() + "\n";
    }
    return out;
  };
  auto module = syntax::parse(sources, file, sink);
  if (!module) {
    return fail();
  }
  auto kernels = sema::kernels_of(*module, sink);
  if (!kernels) {
    return fail();
  }
  auto machine = sema::machine_of(kernels->front(), "", sink);
  auto function =
      sema::lower_kernel(*module, kernels->front(), kernels->front().configurations.front(), **machine, sink);
  if (!function) {
    return fail();
  }
  auto lowered = passes::Pipeline::standard().run(*function, sink);
  if (!lowered) {
    return fail();
  }
  Options options;
  options.task = task;
  out.report = check(*function, *lowered, options, sink);
  return out;
}

constexpr const char* kGemm = R"(from tilewright import *

@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[f32, (M, N)]):
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        acc = zeros(f32, (32, 32))
        for k in range(cdiv(K, 16)):
            a = load(A[bm*32:+32, k*16:+16])
            b = load(B[bn*32:+32, k*16:+16])
            acc = mma(a, b, acc, via=fma)
        CHECK
        store(acc, D[bm*32:+32, bn*32:+32])
)";
constexpr const char* kGoodCheck = "check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))";

constexpr const char* kStaged = R"(from tilewright import *

@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)]):
    assume(K % 8 == 0)
    sA = shared(bf16, (32, 32), ring=3, pad=8)
    sB = shared(bf16, (32, 32), ring=3, pad=8)
    nk = cdiv(K, 32)
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32), order=grouped(4)):
        for k in range(2):
            with group():
                if k < nk:
                    copy(A[bm*32:+32, k*32:+32], sA[k], via=cp_async)
                    copy(B[bn*32:+32, k*32:+32], sB[k], via=cp_async)
        acc = zeros(f32, (32, 32))
        for k in range(nk):
            drain(cp_async, pending=1)
            sync()
            with group():
                if k + 2 < nk:
                    copy(A[bm*32:+32, (k + 2)*32:+32], sA[k + 2], via=cp_async)
                    copy(B[bn*32:+32, (k + 2)*32:+32], sB[k + 2], via=cp_async)
            for i in unroll(range(2)):
                a = load(sA[k, :, i*16:+16], via=ldmatrix)
                b = load(sB[k, :, i*16:+16], via=ldmatrix)
                acc = mma(a, b, acc, via=mma_m16n8k16)
        check(acc, lambda i, j: dict(M=bm*32 + i, N=bn*32 + j), over=dict(K=range(K)))
        drain(cp_async)
        sync()
        store(acc.to(bf16), D[bm*32:+32, bn*32:+32])
)";

constexpr const char* kSoftmax = R"(from tilewright import *

@kernel(target="sm_80", threads=128)
def softmax(X: In[f32, (R, N)], Y: Out[f32, (R, N)]):
    assume(N >= 1, N <= 128)
    for r in tiles(cdiv(R, 8)):
        x = load(X[r*8:+8, 0:+128], fill=-inf)
        top = reduce(x, axis=1, op=max)
        p = exp(x - top[:, None])
        total = reduce(p, axis=1, op=add)
        check(total, lambda i: dict(R=r*8 + i), over=dict(N=range(N)))
        y = p / total[:, None]
        check(y, lambda i, j: dict(R=r*8 + i, N=j))
        store(y, Y[r*8:+8, 0:+128])
)";

struct Case {
  const char* name;
  const char* base;
  // Replacements in the base program, in pairs.
  std::vector<std::string> edits;
  // Rule of the refutation; empty: proved.
  const char* rule;
};

std::string program_of(const Case& c) {
  std::string text = c.base;
  std::vector<std::string> edits = c.edits;
  edits.push_back("CHECK");
  edits.emplace_back(kGoodCheck);
  for (size_t i = 0; i + 1 < edits.size(); i += 2) {
    text = replace_all(text, edits[i], edits[i + 1]);
  }
  return text;
}

class Rules : public testing::TestWithParam<Case> {};

TEST_P(Rules, Verdict) {
  const Case& c = GetParam();
  Checked result = check_program(program_of(c));
  ASSERT_EQ(result.problem, "");
  if (std::string(c.rule).empty()) {
    EXPECT_EQ(result.report.verdict, Verdict::Proved) << result.text();
    EXPECT_EQ(result.report.scope, Scope::Full);
    return;
  }
  EXPECT_EQ(result.report.verdict, Verdict::Refuted) << result.text();
  const Obligation* refuted = result.refuted(c.rule);
  ASSERT_NE(refuted, nullptr) << result.text();
  EXPECT_TRUE(refuted->counterexample->is_replayed);
  EXPECT_FALSE(refuted->counterexample->sizes.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Rules,
    testing::Values(
        Case{"gemm", kGemm, {}, ""},
        Case{"gemm_k_of_b_ahead", kGemm, {"B[bn*32:+32, k*16", "B[bn*32:+32, (k + 1)*16"}, "k-slice-mismatch"},
        Case{"gemm_both_ahead", kGemm, {"k*16:+16", "(k + 1)*16:+16"}, "coverage-of-names"},
        Case{"gemm_wrong_rows", kGemm, {"A[bm*32:+32", "A[bn*32:+32"}, "check-failed"},
        Case{"gemm_row_moves_with_k", kGemm, {"A[bm*32:+32", "A[bm*32 + k:+32"}, "k-slice-mismatch"},
        Case{"gemm_floor", kGemm, {"range(cdiv(K, 16))", "range(K // 16)"}, "coverage-of-names"},
        Case{"gemm_floor_unchecked",
             kGemm,
             {"range(cdiv(K, 16))", "range(K // 16)", "CHECK", "pass"},
             "contraction-coverage"},
        Case{"gemm_floor_assumed",
             kGemm,
             {"range(cdiv(K, 16))", "range(K // 16)", "    for bm", "    assume(K % 16 == 0)\n    for bm"},
             ""},
        Case{"gemm_pad_of_one", kGemm, {"k*16:+16])", "k*16:+16], fill=1.0)"}, "pad-reaches-output"},
        Case{"gemm_misses_rows", kGemm, {"tiles(cdiv(M, 32)", "tiles(M // 32"}, "output-coverage"},
        Case{"gemm_overlapping_tiles", kGemm, {"D[bm*32", "D[bm*16"}, "output-coverage"},
        Case{"staged", kStaged, {}, ""},
        Case{"staged_next_version", kStaged, {"b = load(sB[k, :", "b = load(sB[k + 1, :"}, "k-slice-mismatch"},
        Case{"staged_same_half_twice", kStaged, {"b = load(sB[k, :, i*16", "b = load(sB[k, :, 0"}, "k-slice-mismatch"},
        Case{"staged_short_prologue", kStaged, {"for k in range(2)", "for k in range(1)"}, "uninitialized-read"},
        Case{"staged_outside", kStaged, {"i*16:+16], via=ldmatrix", "k*16:+16], via=ldmatrix"}, "out-of-bounds"},
        Case{"softmax", kSoftmax, {}, ""},
        Case{"softmax_pad_zero", kSoftmax, {", fill=-inf", ""}, "pad-reaches-output"},
        Case{"softmax_total_of_other_row", kSoftmax, {"Y[r*8:+8", "Y[r*8 + 1:+8"}, "output-coverage"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tw::verify

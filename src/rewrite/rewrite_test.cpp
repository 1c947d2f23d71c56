// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gtest/gtest.h>

#include "diag/sink.h"
#include "rewrite/kernel_view.h"
#include "rewrite/moves.h"
#include "syntax/parser.h"
#include "syntax/printer.h"

namespace tw::rewrite {
namespace {

constexpr std::string_view kNaive = R"(@kernel(target="sm_80", threads=128)
def gemm(A: In[bf16, (M, K)], B: In[bf16, (N, K)], D: Out[bf16, (M, N)], BM: const = 16, BN: const = 16, BK: const = 16):
    for bm, bn in tiles(cdiv(M, BM), cdiv(N, BN)):
        acc = zeros(f32, (BM, BN))
        for k in range(cdiv(K, BK)):
            a = load(A[bm*BM:+BM, k*BK:+BK])
            b = load(B[bn*BN:+BN, k*BK:+BK])
            acc = mma(a, b, acc, via=fma)
        check(acc, lambda i, j: dict(M=bm*BM + i, N=bn*BN + j), over=dict(K=range(K)))
        store(acc.to(bf16), D[bm*BM:+BM, bn*BN:+BN])
)";

syntax::Module parse(std::string_view text) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto module = syntax::parse(sources, sources.add("k.tw.py", std::string(text)), sink);
  EXPECT_TRUE(module);
  return *std::move(module);
}

// Applies the moves one after the other, each in its first way.
std::string after(std::initializer_list<std::string_view> names) {
  syntax::Module module = parse(kNaive);
  for (std::string_view name : names) {
    std::vector<Rewritten> ways = find_move(name)->apply(module);
    EXPECT_FALSE(ways.empty()) << name << " does not apply to\n" << syntax::print(module);
    if (ways.empty()) {
      return {};
    }
    module = std::move(ways.front().module);
  }
  return syntax::print(module);
}

TEST(Moves, every_move_gives_a_program_that_parses) {
  std::vector<syntax::Module> programs;
  programs.push_back(parse(kNaive));
  programs.push_back(parse(after({"enlarge_tiles", "stage_in_shared"})));
  programs.push_back(
      parse(after({"enlarge_tiles", "stage_in_shared", "align_rows", "use_tensor_cores", "copy_async"})));
  int applied = 0;
  for (const syntax::Module& program : programs) {
    for (const Move& move : moves()) {
      for (const Rewritten& way : move.apply(program)) {
        const std::string text = syntax::print(way.module);
        EXPECT_TRUE(syntax::is_same(parse(text), way.module)) << way.move << "\n" << text;
        EXPECT_FALSE(syntax::is_same(program, way.module)) << way.move << " changed nothing";
        ++applied;
      }
    }
  }
  EXPECT_GT(applied, 20);
}

TEST(Moves, staging_copies_before_the_loads) {
  const std::string text = after({"stage_in_shared"});
  EXPECT_NE(text.find("sA = shared(bf16, (BM, BK))"), std::string::npos) << text;
  const size_t copy = text.find("copy(B[");
  const size_t load = text.find("a = load(sA");
  ASSERT_NE(copy, std::string::npos);
  ASSERT_NE(load, std::string::npos);
  EXPECT_LT(copy, load);
}

TEST(Moves, staging_twice_is_refused) {
  EXPECT_TRUE(find_move("stage_in_shared")->apply(parse(after({"stage_in_shared"}))).empty());
}

TEST(Moves, a_pipeline_needs_asynchronous_copies) {
  EXPECT_TRUE(find_move("pipeline_loop")->apply(parse(after({"stage_in_shared"}))).empty());
  EXPECT_NE(after({"stage_in_shared", "copy_async", "pipeline_loop"}).find("in pipeline(range(cdiv(K, BK)), stages=3)"),
            std::string::npos);
}

TEST(Moves, aligning_rows_assumes_each_size_once) {
  const std::string text = after({"align_rows"});
  EXPECT_NE(text.find("assume(K % 8 == 0, N % 8 == 0)"), std::string::npos) << text;
  EXPECT_TRUE(find_move("align_rows")->apply(parse(text)).empty());
}

TEST(Repairs, offers_a_rounded_up_trip_count_for_a_cut_one) {
  std::string wrong(kNaive);
  wrong.replace(wrong.find("range(cdiv(K, BK))"), 18, "range(K // BK)");
  const std::vector<Rewritten> edits = repairs(parse(wrong), {});
  EXPECT_TRUE(std::ranges::any_of(edits, [&](const Rewritten& r) { return syntax::is_same(r.module, parse(kNaive)); }));
}

TEST(Repairs, offers_the_other_operands_slice) {
  std::string wrong(kNaive);
  wrong.replace(wrong.find("bn*BN:+BN, k*BK:+BK"), 19, "bn*BN:+BN, (k + 1)*BK:+BK");
  const std::vector<Rewritten> edits = repairs(parse(wrong), {});
  EXPECT_TRUE(std::ranges::any_of(edits, [&](const Rewritten& r) { return syntax::is_same(r.module, parse(kNaive)); }));
}

}  // namespace
}  // namespace tw::rewrite

// SPDX-License-Identifier: Apache-2.0
#include "sema/sema.h"

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "ir/print.h"
#include "sema/testing.h"
#include "syntax/fuzz_one.h"

namespace tw::sema {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A kernel over X and Y whose `tiles` loop runs `body` on the tile of point i.
std::string kernel(const std::string& body, const std::string& more_parameters = "", const std::string& head = "") {
  std::string out = "@kernel(target=\"sm_80\", threads=128)\ndef f(X: In[f32, (N,)], Y: Out[f32, (N,)]" +
                    more_parameters + "):\n" + head + "    for (i,) in tiles(cdiv(N, 128)):\n";
  std::string line;
  for (char c : body) {
    line += c;
    if (c == '\n') {
      out += "        " + line;
      line.clear();
    }
  }
  return out;
}

std::string ir_of(const std::string& text, const Binding& overrides = {}) {
  auto lowered = lower_text(text, overrides);
  EXPECT_THAT(lowered->codes(), IsEmpty()) << lowered->messages() << text;
  return lowered->functions.empty() ? "" : ir::print(lowered->functions[0]);
}

std::string body_of(const std::string& text) {
  std::string ir = ir_of(text);
  return ir.substr(ir.find("body {"));
}

TEST(LowerKernel, parameters_become_tensors_sizes_and_scalars) {
  const std::string ir = ir_of(
      "@kernel(target=\"sm_90a\", threads=256, min_blocks=2, sync=\"manual\", no_spills=True)\n"
      "def f(A: In[bf16, (M, K), (LDA, 1)], B: Acc[f32, (M, C), add], x: i32, y: f32, C: const = 8):\n    pass\n");
  EXPECT_THAT(ir, HasSubstr("kernel f stage=source target=sm_90a threads=256 min_blocks=2 sync=manual no_spills=1"));
  EXPECT_THAT(ir, HasSubstr("size M\nsize K\nsize LDA\n"));
  EXPECT_THAT(ir, HasSubstr("tensor A in bf16 extents(M, K) strides(LDA, 1) dims(M, K)"));
  EXPECT_THAT(ir, HasSubstr("extents(M, 8) strides(8, 1) dims(M, C)"));
  EXPECT_THAT(ir, HasSubstr("const C = 8"));
}

TEST(LowerKernel, elementwise_operations_broadcast_once) {
  const std::string body = body_of(
      "@kernel(target=\"sm_80\", threads=128)\n"
      "def f(X: In[f32, (M, N)], b: In[f32, (N,)], Y: Out[bf16, (M, N)]):\n"
      "    for i, j in tiles(cdiv(M, 16), cdiv(N, 32)):\n"
      "        x = load(X[i*16:+16, j*32:+32])\n"
      "        y = x * 2 + load(b[j*32:+32])[None, :]\n"
      "        store(where(y > 0, y, 0.5).to(bf16), Y[i*16:+16, j*32:+32])\n");
  EXPECT_THAT(body, HasSubstr("constant 2"));
  // One broadcast from (32,) to (16, 32), not two.
  EXPECT_EQ(body.find("broadcast"), body.rfind("broadcast"));
  EXPECT_THAT(body, HasSubstr("cast"));
}

TEST(LowerKernel, loops_carry_what_they_change_and_nothing_else) {
  const std::string body =
      body_of(kernel("acc = zeros(f32, (128,))\nx = load(X[i*128:+128])\nn = 0\nunused = 1\n"
                     "for k in range(N):\n    acc = acc + x\n    n = n + 1\n    unused = k\n    x = x\n"
                     "store(acc * n.to(f32), Y[i*128:+128])\n"));
  size_t carries = 0;
  for (size_t at = body.find("carry"); at != std::string::npos; at = body.find("carry", at + 1)) {
    ++carries;
  }
  EXPECT_EQ(carries, 2U) << body;
}

TEST(LowerKernel, compile_time_control_flow_leaves_no_trace) {
  const std::string body =
      body_of(kernel("x = load(X[i*128:+128])\n"
                     "for k in unroll(range(3)):\n    if k == 1:\n        continue\n    x = x + k\n"
                     "for a, b in static((1.0, 2.0), (3.0, 4.0)):\n    x = x * a - b\n    if a > 2:\n        break\n"
                     "store(x if B > 4 else -x, Y[i*128:+128])\n",
                     ", B: const = 8"));
  EXPECT_THAT(body, Not(HasSubstr("for ")));
  EXPECT_THAT(body, Not(HasSubstr("if ")));
  EXPECT_THAT(body, Not(HasSubstr("neg")));
}

TEST(LowerKernel, run_time_branches_yield_tiles_and_select_scalars) {
  const std::string body =
      body_of(kernel("x = load(X[i*128:+128])\nn = 0\n"
                     "if i > 3:\n    x = x + 1.0\n    n = 5\nelif i == 0:\n    x = x * 2.0\nelse:\n    n = 7\n"
                     "store(x, Y[n:+128])\n"));
  EXPECT_THAT(body, HasSubstr("results("));
  EXPECT_THAT(body, HasSubstr("select("));
}

TEST(LowerKernel, functions_are_inlined_and_may_return_tuples) {
  const std::string body =
      body_of("@fn\ndef both(x, scale=2.0):\n    if scale > 1:\n        return x * scale, x\n    return x, x\n\n" +
              kernel("a, b = both(load(X[i*128:+128]), scale=3.0)\nstore(a + b, Y[i*128:+128])\n"));
  EXPECT_THAT(body, HasSubstr("constant 3"));
}

TEST(LowerKernel, asynchronous_copies_form_groups) {
  const std::string text = "    s, t = shared(f32, (128,), ring=2), shared(f32, (128,), pad=4, alias=())\n";
  const std::string body =
      body_of(kernel("copy(X[i*128:+128], s[0], via=cp_async)\n"
                     "with group():\n    copy(X[i*128:+128], s[i], via=cp_async(16), when=i > 0)\n    "
                     "copy(X[i*128:+128], t, via=cp_async, fill=1)\n"
                     "drain(cp_async, pending=1)\nsync()\nstore(load(t), Y[i*128:+128])\n",
                     "", text));
  size_t commits = 0;
  for (size_t at = body.find("commit"); at != std::string::npos; at = body.find("commit", at + 1)) {
    ++commits;
  }
  EXPECT_EQ(commits, 2U) << body;
  EXPECT_THAT(body, HasSubstr("drain cp_async pending=1"));
}

TEST(LowerKernel, transposed_and_nested_regions_name_the_same_elements) {
  const std::string body = body_of(
      "@kernel(target=\"sm_80\", threads=128)\n"
      "def f(A: In[bf16, (M, K)], B: In[bf16, (K, N)], D: Out[f32, (M, N)]):\n"
      "    sB = shared(bf16, (32, 64))\n"
      "    for i, j in tiles(cdiv(M, 64), cdiv(N, 64)):\n"
      "        copy(B[0:+32, j*64:+64], sB)\n"
      "        part = sB[16:+16, :]\n"
      "        d = mma(load(A[i*64:+64, 0:+16]), load(part.T[0:+64]), via=mma_m16n8k16, warps=(2, 2))\n"
      "        e = mma(load(A[i*64:+64, :][:, 0:+16] if False else A[i*64:+64, 0:+16]), part[:, :].T, d, "
      "via=mma_m16n8k16)\n"
      "        store(e, D[i*64:+64, j*64:+64])\n");
  EXPECT_THAT(body, HasSubstr("sB[16:+16, 0:+64]"));
}

TEST(LowerKernel, checks_and_tags_are_functions_of_coordinates) {
  const std::string ir = ir_of(
      "@kernel(target=\"sm_80\", threads=128)\n"
      "def f(A: In[f32, (M, M)], Y: Out[f32, (M,)]):\n"
      "    tag(A, lambda i, j: dict(M=i, K=j))\n    assume(M % 8 == 0, finite(A), 1 > 0)\n"
      "    for (i,) in tiles(cdiv(M, 16)):\n"
      "        s = reduce(load(A[i*16:+16, 0:+64]), axis=1, op=add)\n"
      "        check(s, lambda r: dict(M=i*16 + r), over=dict(K=range(64)), where=lambda r: r < 8)\n"
      "        store(s, Y[i*16:+16])\n");
  EXPECT_THAT(ir, HasSubstr("over(K: 0 .. 64)"));
  EXPECT_THAT(ir, HasSubstr("where=lt("));
  EXPECT_THAT(ir, HasSubstr("assume finite"));
}

TEST(Configurations, come_from_the_decorator_the_defaults_and_the_command_line) {
  const std::string text =
      "@kernel(configs=(dict(A=1), dict(A=2, B=5), dict(A=1)))\ndef f(A: const, B: const = A * 10, flag: const = "
      "True):\n    pass\n";
  auto lowered = lower_text(text);
  ASSERT_THAT(lowered->codes(), IsEmpty()) << lowered->messages();
  ASSERT_EQ(lowered->kernels.size(), 1U);
  std::vector<std::string> configurations;
  for (const Binding& binding : lowered->kernels[0].configurations) {
    configurations.push_back(to_string(binding));
  }
  EXPECT_THAT(configurations, ElementsAre("A=1, B=10, flag=1", "A=2, B=5, flag=1"));
  EXPECT_EQ(lowered->kernels[0].consts[0].default_value, std::nullopt);
  EXPECT_TRUE(lowered->kernels[0].consts[2].is_bool);
  auto overridden = configurations_with(*lowered->module, lowered->kernels[0], {{"A", 3}, {"flag", 0}}, lowered->sink);
  ASSERT_TRUE(overridden);
  ASSERT_EQ(overridden->size(), 2U);
  EXPECT_EQ(to_string((*overridden)[0]), "A=3, B=30, flag=0");
  EXPECT_FALSE(configurations_with(*lowered->module, lowered->kernels[0], {{"Z", 3}}, lowered->sink));
  EXPECT_EQ(lowered->sink.diagnostics().back().code->number, 1018);
}

TEST(Machine, target_option_overrides_the_kernel) {
  auto lowered = lower_text("@kernel(target=\"sm_80\")\ndef f():\n    pass\n");
  ASSERT_EQ(lowered->kernels.size(), 1U);
  auto machine = machine_of(lowered->kernels[0], "sm_90a", lowered->sink);
  ASSERT_TRUE(machine);
  EXPECT_EQ((*machine)->name, "sm_90a");
  EXPECT_FALSE(machine_of(lowered->kernels[0], "sm_12", lowered->sink));
}

TEST(Errors, several_in_one_run_and_none_follows_from_another) {
  auto lowered =
      lower_text(kernel("x = lod(X[i*128:+128])\ny = x + 1.0\nz = load(X[i*128:+64])\nstore(z, "
                        "Y[i*128:+128])\nstore(y, Y[i*128:+128])\nw = undefined\n"));
  EXPECT_THAT(lowered->codes(), ElementsAre(1001, 1010)) << lowered->messages();
  EXPECT_EQ(lowered->sink.error_count(), 3) << lowered->messages();
  ASSERT_FALSE(lowered->sink.diagnostics()[0].fixits.empty());
  EXPECT_EQ(lowered->sink.diagnostics()[0].fixits[0].edits[0].replacement, "load");
}

TEST(Errors, every_error_of_a_loop_and_of_a_branch_is_found) {
  auto lowered =
      lower_text(kernel("for k in undefined:\n    a = missing\nif i > 0:\n    b = absent\nelse:\n    c = lost\n"));
  EXPECT_EQ(lowered->sink.error_count(), 4) << lowered->messages();
}

TEST(Errors, constructs_that_are_not_lowered_are_named_once) {
  auto lowered =
      lower_text(kernel("with role(\"a\", warps=1):\n    pass\nwith role(\"b\", warps=1):\n    wait(x)\nbreak\nwhile i "
                        "> 0:\n    pass\n"));
  EXPECT_THAT(lowered->codes(), ElementsAre(1002)) << lowered->messages();
  EXPECT_EQ(lowered->sink.error_count(), 3) << lowered->messages();
}

TEST(Errors, a_slice_is_no_type) {
  EXPECT_THAT(lower_text("@kernel(target=\"sm_80\")\ndef f(X: In[:, (N,)]):\n    pass\n")->codes(), ElementsAre(1008));
}

TEST(Errors, a_name_may_change_type_in_a_loop_that_does_not_read_it) {
  auto lowered = lower_text(
      kernel("t = load(X[i*128:+64])\nfor k in range(N):\n    t = load(X[k*128:+128])\n    store(t, Y[k*128:+128])\n"));
  EXPECT_THAT(lowered->codes(), IsEmpty()) << lowered->messages();
}

TEST(Limits, hostile_programs_end_with_an_error) {
  std::string doubling = "t = (1, 2)\n";
  for (int i = 0; i < 64; ++i) {
    doubling += "t = (t, t)\n";
  }
  EXPECT_THAT(lower_text(kernel(doubling))->codes(), ElementsAre(1033));
  EXPECT_THAT(lower_text(kernel("x = i\nfor k in unroll(range(1000)):\n    x = x * N + x\n"))->codes(),
              ElementsAre(1033));
  EXPECT_THAT(lower_text(kernel("g = lambda x: g(x)\ny = g(1)\n"))->codes(), ElementsAre(1033));
  EXPECT_THAT(
      lower_text(kernel("for a in unroll(range(1000)):\n    for b in unroll(range(1000)):\n        x = a\n"))->codes(),
      ElementsAre(1033));
  EXPECT_THAT(
      lower_text("@fn\ndef a(x):\n    return b(x)\n@fn\ndef b(x):\n    return a(x)\n" + kernel("y = a(1)\n"))->codes(),
      ElementsAre(1026));
  std::string chain = "x = 0\nif i == 0:\n    x = 1\n";
  std::string known_chain = "x = 0\nif B == 0:\n    x = 1\n";
  for (int k = 1; k <= 20000; ++k) {
    chain += fmt::format("elif i == {}:\n    x = 1\n", k);
    known_chain += fmt::format("elif B == {}:\n    x = 1\n", 100 + k);
  }
  EXPECT_THAT(lower_text(kernel(chain))->codes(), ElementsAre(1033));
  EXPECT_THAT(lower_text(kernel(known_chain, ", B: const = 8"))->codes(), IsEmpty());
  EXPECT_THAT(lower_text(kernel("x = zeros(f32, (1000000000000,))\n"))->codes(), ElementsAre(1008));
  EXPECT_THAT(lower_text(kernel("x = 9223372036854775807 + 1\n"))->codes(), ElementsAre(1023));
  EXPECT_THAT(lower_text(kernel("x = 2 ** 100\ny = (-1) ** 1000001\n"))->codes(), ElementsAre(1023));
}

TEST(Limits, mutated_programs_are_lowered_or_refused_with_an_error) {
  std::vector<std::string> corpus{syntax::kFuzzSeedProgram};
  for (const char* name : {"every_construct", "gemm_ampere", "moe"}) {
    std::ifstream in(fmt::format("{}/tests/corpora/parser_fuzz/{}.tw.py", TW_SOURCE_DIR, name), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::ifstream reference(std::string(TW_SOURCE_DIR) + "/docs/language.md", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(reference), std::istreambuf_iterator<char>()};
  for (std::string& program : fenced_blocks(text, "python ok")) {
    corpus.push_back(std::move(program));
  }
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    auto lowered = lower_text(syntax::mutate(corpus, seed));
    ASSERT_TRUE(!lowered->functions.empty() || lowered->sink.has_errors()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tw::sema

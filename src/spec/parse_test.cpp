// SPDX-License-Identifier: Apache-2.0
#include "spec/parse.h"

#include <gtest/gtest.h>

#include "spec/domain.h"

namespace tw::spec {
namespace {

Computation declarations() {
  Computation c;
  c.dims = {{"M", {}}, {"N", {}}, {"K", {}}};
  DimId m(0);
  DimId n(1);
  DimId k(2);
  c.tensors = {{"A", ElementType::Bf16, {m, k}, Direction::In},
               {"B", ElementType::Bf16, {n, k}, Direction::In},
               {"bias", ElementType::F32, {n}, Direction::In},
               {"rows", ElementType::I32, {m}, Direction::In},
               {"D", ElementType::Bf16, {m, n}, Direction::Out}};
  return c;
}

struct Outcome {
  std::optional<Computation> computation;
  diag::Sink sink;
  std::vector<std::string> codes;
};

void parse_into(Outcome& outcome, std::string_view text) {
  diag::SourceManager sources;
  diag::FileId file = sources.add("t.toml", std::string(text));
  auto parsed = parse(text, {{file, 0, static_cast<uint32_t>(text.size())}, true}, declarations(), outcome.sink);
  if (parsed.has_value()) {
    outcome.computation = *parsed;
  }
  for (const diag::Diagnostic& diagnostic : outcome.sink.diagnostics()) {
    outcome.codes.push_back("TW" + std::to_string(diagnostic.code->number));
    EXPECT_LE(diagnostic.primary.end, text.size());
  }
}

TEST(SpecParse, a_matrix_product_is_read_and_printed) {
  Outcome outcome;
  parse_into(outcome, "D[m, n] = sum(k, A[m, k] * B[n, k])  # nt\n");
  ASSERT_TRUE(outcome.computation.has_value());
  EXPECT_EQ(print(*outcome.computation), "D[m, n] = sum(k, A[m, k] * B[n, k])\n");
  EXPECT_EQ(classify(*outcome.computation), WorkloadClass::Contraction);
  EXPECT_EQ(accumulation_length(*outcome.computation, {2, 3, 70}), 70);
  EXPECT_EQ(operation_count(*outcome.computation, {2, 3, 70}), 2.0 * 2 * 3 * 70);
}

TEST(SpecParse, printing_and_reading_again_gives_the_same_terms) {
  const char* texts[] = {
      "D[m, n] = gelu(sum(k, A[m, k] * B[n, k]) + bias[n])",
      "let s[i] = sum(j, A[i, j]) / K\nD[m, n] = (s[m] - -bias[n]).to(bf16) * 2.0 - (1 - (2 - m)) - 3 // 2 % 2",
      "D[m, n] = where(m <= n and not (n == 3 or m > 2), max(k, A[m, k]), -inf)",
      "let c = sum(i in M, j in N, 1.0)\nD[m, n] = A[rows[m], n % K] / c",
      "D[a, b] = sum(k, A[a, k] * max(m in M, A[m, k])) - 1e-05 * minimum(0.5, -2.0)",
      "D[m, n] = -(-(bias[n])) * (bias[n] * (bias[n] / bias[n]))",
  };
  for (const char* text : texts) {
    Outcome first;
    parse_into(first, text);
    ASSERT_TRUE(first.computation.has_value()) << text << ": " << first.sink.diagnostics()[0].message();
    Outcome second;
    parse_into(second, print(*first.computation));
    ASSERT_TRUE(second.computation.has_value()) << print(*first.computation);
    ASSERT_EQ(first.computation->equations.size(), second.computation->equations.size());
    for (size_t i = 0; i < first.computation->equations.size(); ++i) {
      EXPECT_TRUE(equal(first.computation->equations[i].term, second.computation->equations[i].term))
          << print(*first.computation);
    }
  }
}

TEST(SpecParse, names_of_indices_do_not_matter) {
  Outcome a;
  parse_into(a, "D[m, n] = sum(k, A[m, k] * B[n, k])");
  Outcome b;
  parse_into(b, "D[row, col] = sum(x, A[row, x] * B[col, x])");
  EXPECT_TRUE(equal(a.computation->equations[0].term, b.computation->equations[0].term));
  Outcome other;
  parse_into(other, "D[m, n] = sum(k, B[n, k] * A[m, k])");
  EXPECT_FALSE(equal(a.computation->equations[0].term, other.computation->equations[0].term));
}

TEST(SpecParse, each_mistake_has_its_code_and_its_near_neighbour_is_read) {
  struct Case {
    const char* wrong;
    const char* code;
    const char* right;
  };
  const Case cases[] = {
      {"D[m, n] = sum(k, A[m, k] * )", "TW8120", "D[m, n] = sum(k, A[m, k] * 2)"},
      {"D[m, n] = sum(k, A[m, k]) A", "TW8120", "D[m, n] = sum(k, A[m, k])"},
      {"D[m, n] = sum(k, A[m, k]", "TW8120", "D[m, n] = sum(k, A[m, k])"},
      {"D[m, n] = sum(A[m, n])", "TW8120", "D[m, n] = sum(k, A[m, k])"},
      {"D[m, n] = exp(bias[n], 1)", "TW8120", "D[m, n] = exp(bias[n])"},
      {"D[m, n] = bias[n].to(i32)", "TW8120", "D[m, n] = bias[n].to(f16)"},
      {"D[m, n] = \x01\xff", "TW8120", "D[m, n] = 1"},
      {"D[m, n] = sum(k, A[m, k] * C[n, k])", "TW8121", "D[m, n] = sum(k, A[m, k] * B[n, k])"},
      {"D[m, n] = softplus(bias[n])", "TW8121", "D[m, n] = silu(bias[n])"},
      {"E[m, n] = 1", "TW8121", "let e[m] = A[m, 0]\nD[m, n] = e[m]"},
      {"D[m] = 1", "TW8122", "D[m, n] = 1"},
      {"D[m, n] = bias[n, n]", "TW8122", "D[m, n] = bias[n]"},
      {"D[m, n] = A[m, n]", "TW8123", "D[m, n] = A[m, n % K]"},
      {"D[m, n] = sum(k, A[m, k] * B[k, n])", "TW8123", "D[m, n] = sum(k, A[m, k] * B[n, k])"},
      {"D[m, n] = sum(k, A[m, k + 0])", "TW8124", "D[m, n] = sum(k in K, A[m, k + 0])"},
      {"D[m, n] = 1\nD[m, n] = 2", "TW8125", "D[m, n] = 1"},
      {"A[m, k] = 1\nD[m, n] = 1", "TW8125", "D[m, n] = 1"},
      {"let x[m] = rows[m]", "TW8125", "let x[m] = rows[m]\nD[m, n] = x[m]"},
      {"D[m, n] = sum(m, A[m, 0])", "TW8125", "D[m, n] = sum(i, A[i, 0])"},
      {"D[m, n] = where(m, 1, 2)", "TW8127", "D[m, n] = where(m < 2, 1, 2)"},
      {"D[m, n] = A[m, bias[n]]", "TW8127", "D[m, n] = A[rows[m], 0]"},
      {"D[m, n] = m < n", "TW8127", "D[m, n] = m - n"},
      {"D[m, n] = bias[n] // 2", "TW8127", "D[m, n] = rows[m] // 2"},
  };
  for (const Case& c : cases) {
    Outcome wrong;
    parse_into(wrong, c.wrong);
    EXPECT_FALSE(wrong.computation.has_value()) << c.wrong;
    ASSERT_FALSE(wrong.codes.empty()) << c.wrong;
    EXPECT_EQ(wrong.codes[0], c.code) << c.wrong << ": " << wrong.sink.diagnostics()[0].message();
    Outcome right;
    parse_into(right, c.right);
    EXPECT_TRUE(right.computation.has_value()) << c.right << ": " << right.sink.diagnostics()[0].message();
  }
}

TEST(SpecParse, several_errors_are_reported_and_a_failed_let_only_once) {
  Outcome outcome;
  parse_into(outcome, "let a[m] = foo[m]\nlet b[m] = a[m] + a[m]\nD[m, n] = bar[n] + b[m]\n");
  EXPECT_EQ(outcome.codes, (std::vector<std::string>{"TW8121", "TW8121"}));
}

TEST(SpecParse, deep_and_long_texts_are_refused_not_crashed_on) {
  Outcome deep;
  parse_into(deep, "D[m, n] = " + std::string(200000, '(') + "1");
  EXPECT_EQ(deep.codes.at(0), "TW8126");
  Outcome minus;
  parse_into(minus, "D[m, n] = " + std::string(200000, '-') + "1");
  EXPECT_EQ(minus.codes.at(0), "TW8126");
  std::string sum = "D[m, n] = 1";
  for (int i = 0; i < 100000; ++i) {
    sum += " + 1";
  }
  Outcome flat;
  parse_into(flat, sum);
  EXPECT_EQ(flat.codes.at(0), "TW8126");
  Outcome nearly;
  parse_into(nearly, "D[m, n] = " + std::string(50, '(') + "1" + std::string(50, ')'));
  EXPECT_TRUE(nearly.computation.has_value());
}

TEST(SpecParse, workload_class_follows_from_the_graph) {
  auto class_of = [](const char* text) {
    Outcome outcome;
    parse_into(outcome, text);
    return classify(*outcome.computation);
  };
  EXPECT_EQ(class_of("D[m, n] = gelu(bias[n]) + m"), WorkloadClass::ElementWise);
  EXPECT_EQ(class_of("D[m, n] = bias[n].to(bf16)"), WorkloadClass::DataMovement);
  EXPECT_EQ(class_of("D[m, n] = A[rows[m], n % K]"), WorkloadClass::DataMovement);
  EXPECT_EQ(class_of("D[m, n] = sum(k, A[m, k])"), WorkloadClass::Reduction);
  EXPECT_EQ(class_of("D[m, n] = sum(k, A[m, k] * A[m, k])"), WorkloadClass::Reduction);
  EXPECT_EQ(class_of("D[m, n] = bias[n] - max(j, bias[j])"), WorkloadClass::Normalization);
  EXPECT_EQ(class_of("D[m, n] = sum(j, exp(sum(k, A[m, k] * B[j, k])) * (bias[j] + n)) * sum(k, A[m, k] * B[n, k])"),
            WorkloadClass::Attention);
}

TEST(ShapeDomain, ranges_contain_what_they_say) {
  SizeRange range{8, 64, 8};
  EXPECT_TRUE(range.contains(int64_t{64}));
  EXPECT_FALSE(range.contains(int64_t{12}));
  EXPECT_FALSE(range.contains(int64_t{72}));
  EXPECT_EQ((SizeRange{5, 30, 8}.smallest()), 8);
  EXPECT_EQ((SizeRange{5, 30, 8}.largest()), 24);
  EXPECT_TRUE(range.contains(SizeRange{9, 63, 16}));
  EXPECT_FALSE(range.contains(SizeRange{9, 63, 4}));
  EXPECT_TRUE(range.contains(SizeRange{16, 16, 1}));
  EXPECT_FALSE(range.contains(SizeRange{}));
  EXPECT_EQ(print("K", range), "8 <= K <= 64, K % 8 == 0");
  EXPECT_EQ(print("K", SizeRange{}), "K >= 1");
}

}  // namespace
}  // namespace tw::spec

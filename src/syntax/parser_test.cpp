// SPDX-License-Identifier: Apache-2.0
#include "syntax/parser.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace tw::syntax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Parsed {
  diag::SourceManager sources;
  diag::Sink sink;
  std::optional<Module> module;

  [[nodiscard]] std::vector<int> errors() const {
    std::vector<int> out;
    for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
      out.push_back(diagnostic.code->number);
    }
    return out;
  }
  [[nodiscard]] std::string first_message() const {
    return sink.diagnostics().empty() ? "" : sink.diagnostics()[0].message();
  }
  // The text after the safe fix-its of all diagnostics.
  [[nodiscard]] std::string fixed() const {
    std::vector<diag::Edit> edits;
    for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
      for (const diag::FixIt& fixit : diagnostic.fixits) {
        if (fixit.applicability == diag::Applicability::Safe) {
          edits.insert(edits.end(), fixit.edits.begin(), fixit.edits.end());
        }
      }
    }
    std::ranges::sort(edits, std::greater<>(), [](const diag::Edit& edit) { return edit.span.begin; });
    std::string text(sources.text(diag::FileId(0)));
    for (const diag::Edit& edit : edits) {
      text.replace(edit.span.begin, edit.span.end - edit.span.begin, edit.replacement);
    }
    return text;
  }
};

std::unique_ptr<Parsed> parse_text(std::string text) {
  auto out = std::make_unique<Parsed>();
  auto module = parse(out->sources, out->sources.add("a.tw.py", std::move(text)), out->sink);
  EXPECT_EQ(module.has_value(), !out->sink.has_errors());
  if (module) {
    out->module = *std::move(module);
  }
  return out;
}

std::string dump_of(std::string text) {
  auto parsed = parse_text(std::move(text));
  return parsed->module ? dump(*parsed->module) : "error: " + parsed->first_message();
}

TEST(Parser, operators_bind_as_in_python) {
  EXPECT_EQ(dump_of("a + b * c ** -d\n"), dump_of("(a + (b * (c ** (-d))))\n"));
  EXPECT_EQ(dump_of("a - b - c // d % e\n"), dump_of("((a - b) - ((c // d) % e))\n"));
  EXPECT_EQ(dump_of("not a == b and c or d\n"), dump_of("(((not (a == b)) and c) or d)\n"));
  EXPECT_EQ(dump_of("a | b ^ c & d << e + f\n"), dump_of("(a | (b ^ (c & (d << (e + f)))))\n"));
  EXPECT_EQ(dump_of("-a ** b\n"), dump_of("(-(a ** b))\n"));
  EXPECT_EQ(dump_of("a if b else c if d else e\n"), dump_of("(a if b else (c if d else e))\n"));
  EXPECT_EQ(dump_of("lambda i, j: i if j else i\n"), dump_of("(lambda i, j: (i if j else i))\n"));
}

TEST(Parser, comparisons_chain) {
  EXPECT_EQ(dump_of("0 <= a < n\n"), "ExprStmt\n  Compare <= <\n    Int 0\n    Name a\n    Name n\n");
}

TEST(Parser, slices_are_a_start_and_a_count) {
  EXPECT_EQ(dump_of("T[i, a*2:+n + 1, :, None]\n"),
            "ExprStmt\n  Subscript\n    Name T\n    Name i\n    Slice\n      Binary *\n        Name a\n        Int 2\n"
            "      Binary +\n        Name n\n        Int 1\n    FullSlice\n    None\n");
}

TEST(Parser, a_slice_with_an_end_says_what_to_write) {
  auto parsed = parse_text("x = T[0:n]\n");
  EXPECT_THAT(parsed->errors(), ElementsAre(15));
  EXPECT_EQ(parsed->fixed(), "x = T[0:+n]\n");
  EXPECT_THAT(parse_text("x = T[a:b]\n")->errors(), ElementsAre(15));
  EXPECT_THAT(parse_text("x = T[::2]\n")->errors(), ElementsAre(15));
  EXPECT_THAT(parse_text("x = T[a:+b:2]\n")->errors(), ElementsAre(15));
}

TEST(Parser, statements_of_every_kind) {
  auto parsed = parse_text(
      "from tilewright import *\n"
      "@kernel(target=\"sm_80\")\n@other\n"
      "def f(A: In[bf16, (M, K), (L, 1)], n: i32, B: const = 4, C=3) -> int:\n"
      "    '''doc'''\n"
      "    a, (b, c) = 1, (2, 3); d += 1\n"
      "    for i, (j,) in enumerate(tiles(n)):\n"
      "        if i: break\n"
      "        elif j:\n            continue\n"
      "        else:\n            pass\n"
      "    while a < b:\n        a = b\n"
      "    with group(), split(warp) as w:\n        copy(a, b, via=tma, fill={1: [2]})\n"
      "    return a, b\n");
  EXPECT_THAT(parsed->errors(), IsEmpty());
  const FunctionDef* function = parsed->module->find_function("f");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(function->parameters.size(), 4U);
  EXPECT_NE(function->find_decorator("kernel"), nullptr);
  EXPECT_NE(function->find_decorator("other"), nullptr);
  EXPECT_EQ(function->find_decorator("program"), nullptr);
  EXPECT_EQ(function->body.statements.size(), 7U);
}

TEST(Parser, spans_cover_what_was_written) {
  auto parsed = parse_text("x = a + f(b)  # c\nif x:\n    y = (1)\n");
  const Stmt& first = *parsed->module->body.statements[0];
  EXPECT_EQ(parsed->sources.text(first.span), "x = a + f(b)");
  EXPECT_EQ(parsed->sources.text(first.as<Assign>()->value->span), "a + f(b)");
  const Stmt& second = *parsed->module->body.statements[1];
  EXPECT_EQ(parsed->sources.text(second.span), "if x:\n    y = (1)");
  EXPECT_EQ(parsed->sources.text(second.header_span), "if x");
}

TEST(Parser, python_outside_the_language_is_named) {
  const char* const refused[] = {
      "class A:\n    pass\n",
      "try:\n    a\nexcept E:\n    b\nfinally:\n    c\n",
      "assert a\n",
      "x = [i for i in y]\n",
      "f(i for i in y)\n",
      "x = f'{a}'\n",
      "x = b'a'\n",
      "x: int = 1\n",
      "x = y = 1\n",
      "f(*a)\n",
      "f(**a)\n",
      "def f(*a):\n    pass\n",
      "a @ b\n",
      "a is b\n",
      "a not in b\n",
      "x = {1, 2}\n",
      "T[...]\n",
      "import torch\n",
      "for i in x:\n    a\nelse:\n    b\n",
      "while a:\n    b\nelse:\n    c\n",
      "def f():\n    def g():\n        pass\n",
      "x = (y := 1)\n",
      "global a\n",
      "match x:\n    pass\n",
      "lambda a=1: a\n",
      "a = yield\n",
      "x @= y\n",
      "x = 'a' 'b'\n",
  };
  for (const char* text : refused) {
    auto parsed = parse_text(text);
    EXPECT_THAT(parsed->errors(), ElementsAre(14)) << text << parsed->first_message();
  }
}

TEST(Parser, one_run_reports_several_errors_and_goes_on) {
  auto parsed = parse_text(
      "def f():\n    a = = 1\n    b = 2\n    c = T[0:4]\n"
      "def g()\n    d = 3 4\n"
      "x = (1,\n"
      "def h():\n    e = )\n");
  // Two of the lexer's, then the parser's: `= =`, the slice, the missing colon, `3 4`.
  EXPECT_THAT(parsed->errors(), ElementsAre(5, 6, 20, 15, 12, 12));
}

TEST(Parser, slips_get_fixits_that_work) {
  EXPECT_EQ(parse_text("if a && b || !c:\n    pass\n")->fixed(), "if a and b or not c:\n    pass\n");
  EXPECT_EQ(parse_text("def f()\n    i++\n")->fixed(), "def f():\n    i += 1\n");
  EXPECT_THAT(parse_text("def f():\n    i += 1\n")->errors(), IsEmpty());
  EXPECT_THAT(parse_text("if a = b:\n    pass\n")->errors(), ElementsAre(20));
}

TEST(Parser, assignment_targets_are_names) {
  auto parsed = parse_text("T[0] = 1\nf(x) = 2\na.b = 3\n1 = x\nT[0] += 1\n");
  EXPECT_THAT(parsed->errors(), ElementsAre(16, 16, 16, 16, 16));
  EXPECT_THAT(parsed->first_message(), HasSubstr("an element of a tile"));
}

TEST(Parser, arguments_and_parameters_do_not_repeat) {
  EXPECT_THAT(parse_text("f(a=1, a=2)\n")->errors(), ElementsAre(18));
  EXPECT_THAT(parse_text("f(a=1, 2)\n")->errors(), ElementsAre(17));
  EXPECT_THAT(parse_text("def f(a, a):\n    pass\n")->errors(), ElementsAre(18));
}

TEST(Parser, blocks_and_indentation) {
  EXPECT_THAT(parse_text("if a:\nb\n")->errors(), ElementsAre(10));
  EXPECT_THAT(parse_text("a\n    b\n")->errors(), ElementsAre(11));
  EXPECT_THAT(parse_text("if a:\n        b\n    c\n")->errors(), ElementsAre(9));
  EXPECT_THAT(parse_text("else:\n    b\n")->errors(), ElementsAre(12));
}

TEST(Parser, hostile_input_ends_with_an_error) {
  EXPECT_THAT(parse_text("")->errors(), IsEmpty());
  EXPECT_THAT(parse_text(std::string(50000, '-') + "a")->errors(), ElementsAre(13));
  std::string sum = "x = a";
  for (int i = 0; i < 100000; ++i) {
    sum += " + a";
  }
  EXPECT_THAT(parse_text(sum)->errors(), ElementsAre(13));
  std::string calls = "x = f";
  for (int i = 0; i < 100000; ++i) {
    calls += "()";
  }
  EXPECT_THAT(parse_text(calls)->errors(), ElementsAre(13));
  std::string lambdas;
  for (int i = 0; i < 10000; ++i) {
    lambdas += "lambda: ";
  }
  EXPECT_THAT(parse_text(lambdas + "1")->errors(), ElementsAre(13));
  std::string nots;
  for (int i = 0; i < 10000; ++i) {
    nots += "not ";
  }
  EXPECT_THAT(parse_text(nots + "1")->errors(), ElementsAre(13));
  std::string elifs = "if a:\n  b\n";
  for (int i = 0; i < 20000; ++i) {
    elifs += "elif a:\n  b\n";
  }
  EXPECT_THAT(parse_text(elifs)->errors(), IsEmpty());
}

TEST(Parser, errors_are_bounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "a b\n";
  }
  auto parsed = parse_text(text);
  EXPECT_EQ(parsed->errors().size(), 21U);
  EXPECT_EQ(parsed->errors().back(), 19);
}

TEST(Parser, an_open_bracket_is_one_error) {
  EXPECT_THAT(parse_text("x = f(1,\ndef g():\n    pass\n")->errors(), ElementsAre(5));
  EXPECT_THAT(parse_text("x = f(1\n")->errors(), ElementsAre(5));
}

TEST(ParseExpression, takes_one_expression) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto expr = parse_expression(sources, sources.add("option", "2**4 - 1"), sink);
  ASSERT_TRUE(expr);
  EXPECT_TRUE((*expr)->is<Binary>());
  EXPECT_FALSE(parse_expression(sources, sources.add("option", "1 2"), sink));
  EXPECT_FALSE(parse_expression(sources, sources.add("option", ""), sink));
  EXPECT_FALSE(parse_expression(sources, sources.add("option", "1\n2"), sink));
}

TEST(Ast, substitute_respects_lambda_parameters) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto expr = parse_expression(sources, sources.add("e", "f(k, lambda k: k, lambda i: k + i)"), sink);
  auto expected = parse_expression(sources, sources.add("e", "f(7, lambda k: k, lambda i: 7 + i)"), sink);
  ASSERT_TRUE(expr && expected);
  substitute(*expr, "k", *make_int(7));
  EXPECT_TRUE(is_same(**expr, **expected));
}

TEST(Ast, made_nodes_equal_parsed_ones) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto expected = parse_expression(sources, sources.add("e", "copy(A[k*32:+32, :], sA, via=vector(16))"), sink);
  ASSERT_TRUE(expected);
  ExprPtr slice = make_slice(make_binary(BinaryOp::Mul, make_name("k"), make_int(32)), make_int(32));
  ExprPtr source = make_subscript(make_name("A"), exprs(std::move(slice), make_full_slice()));
  ExprPtr call = make_call("copy", exprs(std::move(source), make_name("sA")));
  add_keyword(*call, "via", make_call("vector", exprs(make_int(16))));
  EXPECT_TRUE(is_same(*call, **expected));
}

}  // namespace
}  // namespace tw::syntax

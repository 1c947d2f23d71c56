// SPDX-License-Identifier: Apache-2.0
#include "syntax/fuzz_one.h"

#include <array>
#include <random>
#include <string_view>

#include "diag/sink.h"
#include "syntax/parser.h"
#include "syntax/printer.h"

namespace tw::syntax {

const char* const kFuzzSeedProgram = R"(# A program that touches every construct.
from tilewright import *

@fn
def online(s, m, scale):  # comment
    m2 = maximum(m, reduce(s, axis=1, op=max))
    return exp2(s * scale - m2[:, None]), m2

@kernel(target="sm_80", threads=256, configs=(dict(BM=64), dict(BM=128)))
def gemm(A: In[bf16, (M, K), (LDA, 1)], D: Out[f32, (M, N)],
         BM: const = 128, # inside
         S: const = 4, x: i32):
    """doc"""
    assume(K % 8 == 0, 0 <= K < 2**31, forall(NB, lambda b: cq[b] <= cq[b + 1] and not flag))
    sA, sB = shared(bf16, (BM, 32), ring=S, swizzle=64), shared(f32, (1,), pad=8, alias=(sA,))
    for bm, (bn, n) in enumerate(tiles(cdiv(M, BM), lambda i, j: -i, order=grouped(8))):
        # own line
        acc = zeros(f32, (BM, 1)); acc += 1.5e-3 * ~x
        while k > 0 or k < -3 and (a if b else c):
            with group(), role("m", warps=1) as w:
                copy(A[bm*BM:+BM, :, None], sA[k - 1 if k else 0], via=vector(16), fill=-inf)
            if k == 1:
                break
            # about elif
            elif k != 2:
                continue
            else:
                pass
            # dangling
        table = {"a": [1, 0x10, 1_000], 'b': None}
        check(acc, lambda i, j: dict(M=bm*BM + i), over=dict(K=range(K)), where=lambda i: (i | 1) ^ 2 & 3 << 4 >> 1)
        store(acc.to(bf16).T, D[bm*BM:+BM, 0:+(BM if True else 1)], via=vector(2 ** -1))
    return
)";

namespace {

std::optional<std::string> spans_in_file(const diag::Sink& sink, const diag::SourceManager& sources) {
  for (const diag::Diagnostic& diagnostic : sink.diagnostics()) {
    auto is_bad = [&](diag::Span span) {
      return !span.is_valid() || span.begin > span.end || span.end > sources.text(span.file).size();
    };
    if (is_bad(diagnostic.primary)) {
      return "a diagnostic points outside the file: " + diagnostic.message();
    }
    for (const diag::FixIt& fixit : diagnostic.fixits) {
      for (const diag::Edit& edit : fixit.edits) {
        if (is_bad(edit.span)) {
          return "a fix-it edits outside the file: " + diagnostic.message();
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fuzz_one(const std::string& text) {
  diag::SourceManager sources;
  diag::Sink sink;
  auto module = parse(sources, sources.add("fuzz.tw.py", text), sink);
  if (auto broken = spans_in_file(sink, sources)) {
    return broken;
  }
  if (!module) {
    return sink.has_errors() ? std::nullopt : std::optional<std::string>("refused without an error");
  }
  if (sink.has_errors()) {
    return "accepted with errors";
  }
  const std::string printed = print(*module);
  diag::Sink second_sink;
  auto again = parse(sources, sources.add("printed.tw.py", printed), second_sink);
  if (!again) {
    return "the printed text does not parse: " + second_sink.diagnostics()[0].message() + "\n" + printed;
  }
  if (!is_same(*module, *again, true)) {
    return "the printed text is another program:\n" + printed;
  }
  if (!is_same(clone(*module), *module, true)) {
    return "a clone differs";
  }
  return std::nullopt;
}

std::string mutate(const std::vector<std::string>& corpus, uint64_t seed) {
  static constexpr std::array<std::string_view, 48> kTokens = {
      "(",    ")",   "[",      "]",     "{",    "}",   ":",       ",",    ".",      "=",        "==",   "+",
      "-",    "*",   "**",     "//",    "%",    "<",   "lambda ", "if ",  "else ",  "not ",     "and ", "or ",
      "for ", "in ", "while ", "with ", "def ", "@",   "return ", "\n",   "\n    ", "\n\t",     "\r\n", " ",
      "#x\n", "\"",  "'''",    "\\\n",  "0",    "1e9", "0x",      "None", "\xff",   "\xc3\xa9", ":+",   "(1,)"};
  std::mt19937_64 random(seed);
  auto below = [&](size_t limit) { return limit == 0 ? size_t{0} : static_cast<size_t>(random() % limit); };
  std::string text = corpus[below(corpus.size())];
  const size_t edits = 1 + below(6);
  for (size_t i = 0; i < edits; ++i) {
    const size_t at = below(text.size() + 1);
    switch (below(7)) {
      case 0:
        text.insert(at, kTokens[below(kTokens.size())]);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 3: {
        // A piece of the text again, elsewhere.
        const size_t from = below(text.size() + 1);
        text.insert(at, text.substr(from, below(60)));
        break;
      }
      case 4: {
        // Many of one token: deep nesting and long chains.
        const std::string_view token = kTokens[below(kTokens.size())];
        std::string run;
        const size_t count = below(200);
        for (size_t n = 0; n < count; ++n) {
          run += token;
        }
        text.insert(at, run);
        break;
      }
      case 5:
        text.resize(at);
        break;
      default: {
        const size_t line = text.find('\n', at);
        if (line != std::string::npos) {
          text.insert(line + 1, std::string(below(9), ' '));
        }
        break;
      }
    }
  }
  return text;
}

}  // namespace tw::syntax

# SPDX-License-Identifier: Apache-2.0
"""Compares our layout algebra with C++ CuTe on generated static layouts, compiled for the host.

How "no answer" is observed in C++: CuTe refuses with static_assert inside function bodies, which no trait can see and no
program can survive. So the compiler itself is asked: all cases go into one translation unit, one function a case, each
function on its own line of a file named `case`; `g++ -fsyntax-only` goes on after a failed assertion, and the cases whose
lines appear in the errors' instantiation traces are those that CuTe refuses. A specialization reports its assertion only
the first time, so a refused case can hide behind another that shares it: the cases that passed are compiled again without
the refused ones until none fails. What passed is then compiled to a program that prints each result, and checks the law
that CuTe documents for it (@post in layout.hpp) at every coordinate; a result that breaks its own law counts as no answer,
and is counted apart.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import case_generator as g

EXIT_SKIP = 77
BATCHES = 4

PRELUDE = r"""
#include <cstdint>
#include <iostream>
#include <sstream>
#include <cute/layout.hpp>
#include <cute/layout_composed.hpp>
#include <cute/swizzle.hpp>
#include <cute/swizzle_layout.hpp>
using namespace cute;
template <int N> using I = Int<N>;
template <class S, class D> constexpr auto L(S const& s, D const& d) { return make_layout(s, d); }
template <class... T> constexpr auto T_(T const&... t) { return make_tuple(t...); }
template <class R> void print_result(int id, bool law, R const& r) {
  std::ostringstream text;
  text << r;
  std::cout << id << '\t' << (law ? "ok" : "broken") << '\t' << text.str() << '\n';
}
// The laws that CuTe documents, at every coordinate.
template <class A, class B, class R> bool law_composition(A const& a, B const& b, R const& r) {
  if (!bool(compatible(shape(b), shape(r)))) return false;
  for (int i = 0; i < int(size(b)); ++i) if (int(r(i)) != int(a(int(b(i))))) return false;
  return true;
}
template <class A, class R> bool law_same(A const& a, R const& r) {
  if (int(size(a)) != int(size(r))) return false;
  for (int i = 0; i < int(size(a)); ++i) if (int(a(i)) != int(r(i))) return false;
  return true;
}
template <class A, class R> bool law_complement(A const& a, R const& r) {
  for (int i = 1; i < int(size(r)); ++i) {
    if (int(r(i)) <= int(r(i - 1))) return false;
    for (int j = 0; j < int(size(a)); ++j) if (int(r(i)) == int(a(j))) return false;
  }
  return true;
}
template <class A, class R> bool law_right(A const& a, R const& r) {
  for (int i = 0; i < int(size(r)); ++i) if (int(a(int(r(i)))) != i) return false;
  return true;
}
template <class A, class R> bool law_left(A const& a, R const& r) {
  for (int i = 0; i < int(size(a)); ++i) if (int(a(int(r(int(a(i)))))) != int(a(i))) return false;
  return true;
}
template <class A, class B, class R> bool law_common(A const& a, B const& b, R const& r) {
  for (int i = 0; i < int(size(r)); ++i) if (int(a(int(r(i)))) != i || int(b(int(r(i)))) != i) return false;
  return true;
}
template <class A, class T, class R> bool law_divide(A const& a, T const& t, R const& r) {
  auto both = make_layout(t, complement(t, shape(coalesce(a))));
  return law_composition(a, both, r);
}
template <class A, class T, class R> bool law_product(A const& a, T const& t, R const& r) {
  auto rest = complement(a, size(a) * cosize(t));
  return law_same(a, get<0>(r)) && law_composition(rest, t, get<1>(r));
}
template <class R> constexpr bool no_law(R const&) { return true; }
"""


def static(value):
    if isinstance(value, tuple):
        return "T_(" + ",".join(map(static, value)) + ")"
    return "_" if value is None else f"I<{value}>{{}}"


def static_layout(layout):
    return f"L({static(layout[0])},{static(layout[1])})"


# Each maker gives (question for our driver, C++ expression of the result, C++ expression of its law with the result as r).


def unary(name, law):
    def make(gen):
        a = gen.layout(max_size=128)
        return f"{name}|{g.show_layout(a)}", f"{name}({static_layout(a)})", law.format(a=static_layout(a))

    return make


def make_composition(gen):
    a = gen.layout(max_size=200)
    b = gen.divisor_layout(g.size(a[0])) if gen.random.random() < 0.35 else gen.layout(max_size=48, max_leaves=3)
    ca, cb = static_layout(a), static_layout(b)
    return (
        f"composition|{g.show_layout(a)}|{g.show_layout(b)}",
        f"composition({ca},{cb})",
        f"law_composition({ca},{cb},r)",
    )


def make_complement(gen):
    a = gen.layout(max_size=64, max_leaves=3)
    target = gen.random.choice([(gen.random.choice([1, 6, 12, 24, 48, 100]),), (4, 6), (8, 3, 2), ((2, 3), 8)])
    target = target[0] if len(target) == 1 else target
    ca = static_layout(a)
    return f"complement|{g.show_layout(a)}|{g.show(target)}", f"complement({ca},{static(target)})", f"law_complement({ca},r)"


def make_common(gen):
    a, b = gen.layout(max_size=64, max_leaves=4), gen.layout(max_size=64, max_leaves=4)
    if gen.random.random() < 0.5:
        b = gen.build(g.flat(a[0]), gen.strides(g.flat(a[0])))
    ca, cb = static_layout(a), static_layout(b)
    return (
        f"max_common_layout|{g.show_layout(a)}|{g.show_layout(b)}",
        f"max_common_layout({ca},{cb})",
        f"law_common({ca},{cb},r)",
    )


def tiled(name, law):
    is_divide = name.endswith("divide")

    def make(gen):
        a = gen.layout(max_size=96 if is_divide else 24, max_leaves=4 if is_divide else 3)

        def part(n):
            return gen.divisor_layout(n) if is_divide else gen.layout(max_size=8, max_leaves=2, max_depth=1)

        if isinstance(a[0], tuple) and gen.random.random() < 0.6:
            tilers = [part(g.size(a[0][i])) for i in range(gen.random.randint(1, len(a[0])))]
            text = "<" + ",".join(map(g.show_layout, tilers)) + ">"
            ca, tile = static_layout(a), f"make_tile({','.join(map(static_layout, tilers))})"
            # The law mode by mode, on the ungathered form that every form is a rearrangement of.
            base = "logical_divide" if is_divide else "logical_product"
            each = "law_divide(get<{i}>(a),{t},get<{i}>(q))" if is_divide else "law_product(get<{i}>(a),{t},get<{i}>(q))"
            laws = " && ".join(each.format(i=i, t=static_layout(t)) for i, t in enumerate(tilers))
            return (
                f"{name}|{g.show_layout(a)}|{text}",
                f"{name}({ca},{tile})",
                f"[]{{ auto a = {ca}; auto q = {base}(a,{tile}); return {laws}; }}()",
            )
        t = part(g.size(a[0]))
        ca, ct = static_layout(a), static_layout(t)
        return f"{name}|{g.show_layout(a)}|{g.show_layout(t)}", f"{name}({ca},{ct})", law.format(a=ca, t=ct)

    return make


def binary_product(name):
    def make(gen):
        a, b = gen.layout(max_size=16, max_leaves=3, max_depth=2), gen.layout(max_size=12, max_leaves=3, max_depth=1)
        return (
            f"{name}|{g.show_layout(a)}|{g.show_layout(b)}",
            f"{name}({static_layout(a)},{static_layout(b)})",
            "no_law(r)",
        )

    return make


def make_compose_by(gen):
    a = gen.layout(max_size=96)
    while not isinstance(a[0], tuple):
        a = gen.layout(max_size=96)
    count = gen.random.randint(1, len(a[0]))
    tilers = [gen.divisor_layout(g.size(a[0][i])) for i in range(count)]
    text = "<" + ",".join(map(g.show_layout, tilers)) + ">"
    tile = ",".join(map(static_layout, tilers))
    law = " && ".join(f"law_composition(get<{i}>({static_layout(a)}),{static_layout(t)},get<{i}>(r))" for i, t in enumerate(tilers))
    return f"compose_by|{g.show_layout(a)}|{text}", f"composition({static_layout(a)},make_tile({tile}))", law


def make_coalesce_by(gen):
    a = gen.layout()
    profile = tuple(1 for _ in range(gen.random.randint(1, 3)))
    ca = static_layout(a)
    return f"coalesce_by|{g.show_layout(a)}|{g.show(profile)}", f"coalesce({ca},{static(profile)})", f"law_same({ca},r)"


def make_slice(name):
    def make(gen):
        a = gen.layout()
        while not isinstance(a[0], tuple) or len(a[0]) < 2:
            a = gen.layout()
        c = gen.coordinate(a[0], free=0.4)
        flat = g.flat(c)
        # A slice without an open mode, or a dice without a fixed one, is the empty layout, which CuTe cannot build.
        while not isinstance(c, tuple) or (None not in flat) or all(x is None for x in flat):
            c = gen.coordinate(a[0], free=0.4)
            flat = g.flat(c)
        return f"{name}|{g.show_layout(a)}|{g.show(c)}", f"{name}({static(c)},{static_layout(a)})", "no_law(r)"

    return make


def make_tile_to_shape(gen):
    a = gen.layout(max_size=24, max_leaves=3, max_depth=1)
    modes = a[0] if isinstance(a[0], tuple) else (a[0],)
    shape = tuple(g.size(m) * gen.random.choice([1, 2, 2, 3]) + (1 if gen.random.random() < 0.15 else 0) for m in modes)
    shape = shape if isinstance(a[0], tuple) else shape[0]
    return f"tile_to_shape|{g.show_layout(a)}|{g.show(shape)}", f"tile_to_shape({static_layout(a)},{static(shape)})", "no_law(r)"


def make_recast(name):
    def make(gen):
        a = gen.layout(max_size=128)
        n = gen.random.choice([2, 2, 4, 8, 3])
        return f"{name}|{g.show_layout(a)}|{n}", f"{name}<{n}>({static_layout(a)})", "no_law(r)"

    return make


def make_shape_div(gen):
    a, b = gen.layout(max_leaves=3)[0], gen.layout(max_leaves=2)[0]
    return f"shape_div|{g.show(a)}|{g.show(b)}", f"shape_div({static(a)},{static(b)})", "no_law(r)"


def make_values(gen):
    bits, base = gen.random.randint(1, 3), gen.random.randint(0, 3)
    shift = gen.random.choice([-1, 1]) * gen.random.randint(1, 4)
    offset = gen.random.randrange(64)
    a = gen.layout(max_size=64)
    return (
        f"values|Sw<{bits},{base},{shift}> o {offset} o {g.show_layout(a)}",
        f"values_of(composition(Swizzle<{bits},{base},{shift}>{{}},I<{offset}>{{}},{static_layout(a)}))",
        "no_law(r)",
    )


def make_swizzle_merge(gen):
    parts = []
    for _ in range(2):
        parts.append((gen.random.randint(1, 2), gen.random.randint(0, 5), gen.random.choice([2, 2, 3, 3, -3])))
    texts = ["<{},{},{}>".format(*p) for p in parts]
    return (
        "swizzle_composition|Sw{}|Sw{}".format(*texts),
        "composition(Swizzle{}{{}},Swizzle{}{{}})".format(*texts),
        "law_swizzle(Swizzle{}{{}},Swizzle{}{{}},r)".format(*texts),
    )


MAKERS = {
    "composition": (34, make_composition),
    "complement": (12, make_complement),
    "right_inverse": (6, unary("right_inverse", "law_right({a},r)")),
    "left_inverse": (9, unary("left_inverse", "law_left({a},r)")),
    "coalesce": (4, unary("coalesce", "law_same({a},r)")),
    "coalesce_by": (3, make_coalesce_by),
    "filter": (3, unary("filter", "no_law(r)")),
    "nullspace": (2, unary("nullspace", "no_law(r)")),
    "compose_by": (5, make_compose_by),
    "max_common_layout": (6, make_common),
    "logical_divide": (6, tiled("logical_divide", "law_divide({a},{t},r)")),
    "zipped_divide": (3, tiled("zipped_divide", "law_divide({a},{t},r)")),
    "tiled_divide": (2, tiled("tiled_divide", "no_law(r)")),
    "flat_divide": (3, tiled("flat_divide", "no_law(r)")),
    "logical_product": (5, tiled("logical_product", "law_product({a},{t},r)")),
    "zipped_product": (2, tiled("zipped_product", "law_product({a},{t},r)")),
    "tiled_product": (2, tiled("tiled_product", "no_law(r)")),
    "flat_product": (2, tiled("flat_product", "no_law(r)")),
    "blocked_product": (5, binary_product("blocked_product")),
    "raked_product": (4, binary_product("raked_product")),
    "tile_to_shape": (3, make_tile_to_shape),
    "slice": (3, make_slice("slice")),
    "dice": (2, make_slice("dice")),
    "upcast": (4, make_recast("upcast")),
    "downcast": (2, make_recast("downcast")),
    "shape_div": (6, make_shape_div),
    "values": (6, make_values),
    "swizzle_composition": (3, make_swizzle_merge),
}

EXTRA = r"""
template <class R> std::string values_of(R const& r) {
  std::string text;
  for (int i = 0; i < int(size(r)); ++i) text += (i == 0 ? "" : ",") + std::to_string(int(r(i)));
  return text;
}
template <class A, class B, class R> bool law_swizzle(A const& a, B const& b, R const& r) {
  for (int x = 0; x < 4096; ++x) if (r(x) != a(b(x))) return false;
  return true;
}
"""


class Compiler:
    def __init__(self, command, includes, folder):
        self.base = [command, "-std=c++20", "-w", "-DNDEBUG", "-fno-asynchronous-unwind-tables"] + [f"-I{i}" for i in includes]
        self.folder = folder

    def write(self, name, cases):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(PRELUDE + EXTRA)
            for number, (_, expression, law) in cases:
                out.write(f'#line {number + 1} "case"\n')
                out.write(f"void c{number}() {{ auto r = {expression}; print_result({number}, {law}, r); }}\n")
            out.write('#line 1 "main"\nint main() {\n')
            for number, _ in cases:
                out.write(f"  c{number}();\n")
            out.write("}\n")
        return path

    def refused(self, name, cases):
        """The numbers of the cases whose instantiation the compiler refuses."""
        path = self.write(name, cases)
        done = subprocess.run(
            self.base + ["-fsyntax-only", "-fmax-errors=0", "-ftemplate-backtrace-limit=0", path],
            text=True,
            capture_output=True,
        )
        numbers = {int(n) - 1 for n in re.findall(r"^case:(\d+):", done.stderr, re.MULTILINE)}
        if done.returncode != 0 and not numbers:
            raise RuntimeError("the compiler fails outside the cases:\n" + done.stderr[:4000])
        return numbers

    def run(self, name, cases):
        path = self.write(name + ".cpp", cases)
        program = os.path.join(self.folder, name)
        done = subprocess.run(self.base + ["-O0", path, "-o", program], text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError("cases that passed -fsyntax-only do not compile:\n" + done.stderr[:4000])
        return subprocess.run([program], text=True, capture_output=True, check=True).stdout


def judge(compiler, batch, cases):
    """{case number: None if C++ refuses, else ('ok'|'broken', text)}"""
    answers = {}
    left = cases
    turn = 0
    while left:
        refused = compiler.refused(f"batch{batch}_{turn}.cpp", left)
        turn += 1
        for number in refused:
            answers[number] = None
        left = [c for c in left if c[0] not in refused]
        if not refused:
            break
    if left:
        for line in compiler.run(f"batch{batch}", left).splitlines():
            number, law, text = line.split("\t")
            answers[int(number)] = (law, text)
    return answers


def normal(text):
    """CuTe's text without the mark of static integers."""
    return re.sub(r"_(?=-?\d)", "", text).replace(" ", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--include", action="append", default=[], help="folders of the CuTe and CUDA headers")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20260102)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="compare only the cases whose question matches this regular expression")
    options = parser.parse_args()
    for header in ("cute/layout.hpp", "cuda_runtime_api.h"):
        if not any(os.path.exists(os.path.join(i, header)) for i in options.include):
            print(f"skipped: {header} is in none of {options.include}")
            return EXIT_SKIP

    gen = g.Generator(options.seed)
    names = list(MAKERS)
    weights = [MAKERS[n][0] for n in names]
    cases, seen = [], set()
    while len(cases) < options.count:
        case = MAKERS[gen.random.choices(names, weights)[0]][1](gen)
        if case[0] not in seen:
            seen.add(case[0])
            cases.append((len(cases), case))
    if options.only:
        chosen = [case for _, case in cases if re.search(options.only, case[0])]
        cases = list(enumerate(chosen))
    ours = subprocess.run(
        [options.driver], input="\n".join(c[0] for _, c in cases) + "\n", text=True, capture_output=True, check=True
    ).stdout.splitlines()

    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options.compiler, options.include, folder)
        size = (len(cases) + BATCHES - 1) // BATCHES
        batches = [cases[i : i + size] for i in range(0, len(cases), size)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for part in pool.map(lambda b: judge(compiler, b[0], b[1]), enumerate(batches)):
                answers.update(part)

    counts = collections.Counter()
    by_operation = collections.defaultdict(collections.Counter)
    for number, (line, _, _) in cases:
        operation, mine, theirs = line.split("|")[0], ours[number], answers.get(number)
        if mine.startswith("!"):
            if theirs is None:
                verdict = "no answer"
            elif theirs[0] == "broken":
                verdict = "no answer (CuTe's result breaks its documented law)"
            else:
                verdict = f"DISAGREE: C++ answers {theirs[1]}"
        elif theirs is None:
            verdict = "DISAGREE: C++ has no answer"
        elif theirs[0] == "broken":
            verdict = f"DISAGREE: C++ breaks its law with {theirs[1]}"
        elif normal(theirs[1]) == normal(mine):
            verdict = "same"
        else:
            verdict = f"DISAGREE: C++ says {theirs[1]}"
        kind = verdict.split(":")[0]
        counts[kind] += 1
        by_operation[operation][kind] += 1
        if kind == "DISAGREE":
            print(f"{line} -> {mine}   {verdict}")
    for operation in names:
        print(f"{operation}: {dict(by_operation[operation])}")
    refused = sum(n for kind, n in counts.items() if kind.startswith("no answer"))
    print(f"{len(cases)} cases, seed {options.seed}: {dict(counts)}; {refused / len(cases):.1%} without an answer on both sides")
    if not options.only and refused < len(cases) / 5:
        print("fewer than a fifth of the cases have no answer: the test does not test refusals enough")
        return 1
    return 1 if counts["DISAGREE"] else 0


if __name__ == "__main__":
    sys.exit(main())

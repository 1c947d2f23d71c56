# SPDX-License-Identifier: Apache-2.0
"""Compares our layout algebra with pycute on random layouts.

Both sides must give the same answer, or both none. "None" for pycute is an exception or a result that breaks the law that
CuTe documents for the operation (checked here at every coordinate). The places where we follow C++ CuTe instead of pycute
are named in docs/decisions/0002-layout-algebra-and-cute.md; each is recognized by a rule below, our answer must then obey the
law by itself, and the number of such cases is printed.
"""

import argparse
import collections
import subprocess
import sys

import case_generator as g

EXIT_SKIP = 77


# What an answer must satisfy, by direct evaluation.


def law_composition(a, b, r):
    return g.compatible(b[0], r[0]) and all(v == g.evaluate(a, i) for v, i in zip(g.values(r), g.values(b)))


def law_same_function(a, r):
    return g.values(a) == g.values(r)


def law_complement(a, r):
    reached = set(g.values(a))
    own = g.values(r)
    increasing = all(x < y for x, y in zip(own, own[1:]))
    # A copy of the layout at each place, none meeting another.
    apart = len({x + y for x in reached for y in own}) == len(reached) * len(own)
    return increasing and apart


def law_right_inverse(a, r):
    return all(g.evaluate(a, v) == i for i, v in enumerate(g.values(r)))


def law_left_inverse(a, r):
    return all(g.evaluate(a, g.evaluate(r, v)) == v for v in g.values(a))


def stays_inside(inverse, a):
    return all(0 <= g.evaluate(inverse, v) < g.size(a[0]) for v in g.values(a))


class Side:
    """pycute, with every way of having no answer folded into None.

    Division and product are built from composition and complement. An intermediate that breaks its own law (an extent of
    0, elements lost to a division that rounds down) is no answer either, so both are wrapped with their law.
    """

    def __init__(self, pycute):
        self.p = pycute
        module = pycute.layout
        plain_composition, plain_complement = module.composition, module.complement

        def composition(a, b):
            result = plain_composition(a, b)
            if isinstance(b, module.Layout):
                assert law_composition(self.pair(a), self.pair(b), self.pair(result))
            return result

        def complement(a, cotarget=1):
            result = plain_complement(a, cotarget)
            assert all(extent > 0 for extent in g.flat(result.shape))
            if isinstance(a, module.Layout):
                assert law_complement(self.pair(a), self.pair(result))
            return result

        module.composition = pycute.composition = composition
        module.complement = pycute.complement = complement

    def layout(self, pair):
        return self.p.Layout(pair[0], pair[1])

    def pair(self, layout):
        return layout.shape, layout.stride

    def call(self, function, *arguments):
        try:
            result = function(*arguments)
        except (AssertionError, ZeroDivisionError, IndexError, TypeError, ValueError):
            return None
        if isinstance(result, self.p.LayoutBase):
            result = self.pair(result)
            if any(extent < 1 for extent in g.flat(result[0])):
                return None
        return result


def make_case(gen, side, operation):
    """(line for our driver, pycute's answer, law of an answer or None)"""
    p, call, lay = side.p, side.call, side.layout
    if operation == "coalesce":
        a = gen.layout(negative=True)
        return f"coalesce|{g.show_layout(a)}", call(p.coalesce, lay(a)), lambda r: law_same_function(a, r)
    if operation == "coalesce_by":
        a = gen.layout()
        profile = tuple(1 for _ in range(gen.random.randint(1, 3)))
        return (
            f"coalesce_by|{g.show_layout(a)}|{g.show(profile)}",
            call(p.coalesce, lay(a), profile),
            lambda r: law_same_function(a, r),
        )
    if operation == "filter":
        a = gen.layout()
        return f"filter|{g.show_layout(a)}", call(p.filter, lay(a)), lambda r: set(g.values(a)) == set(g.values(r))
    if operation == "composition":
        a = gen.layout(max_size=300, negative=True)
        b = gen.divisor_layout(g.size(a[0])) if gen.random.random() < 0.3 else gen.layout(max_size=64, max_leaves=3)
        return (
            f"composition|{g.show_layout(a)}|{g.show_layout(b)}",
            call(p.composition, lay(a), lay(b)),
            lambda r: law_composition(a, b, r),
        )
    if operation == "complement":
        a = gen.layout(max_size=64, max_leaves=3)
        cotarget = gen.random.choice([1, 2, 6, 12, 24, 48, 64, 100, 256])
        return (
            f"complement|{g.show_layout(a)}|{cotarget}",
            call(p.complement, lay(a), cotarget),
            lambda r: law_complement(a, r),
        )
    if operation == "right_inverse":
        a = gen.layout()
        return f"right_inverse|{g.show_layout(a)}", call(p.right_inverse, lay(a)), lambda r: law_right_inverse(a, r)
    if operation == "left_inverse":
        a = gen.layout(max_size=128)
        return f"left_inverse|{g.show_layout(a)}", call(p.left_inverse, lay(a)), lambda r: law_left_inverse(a, r)
    if operation in ("logical_divide", "zipped_divide", "tiled_divide", "logical_product", "zipped_product", "tiled_product"):
        is_divide = operation.endswith("divide")
        a = gen.layout(max_size=128 if is_divide else 24, max_leaves=4 if is_divide else 3)
        if isinstance(a[0], tuple) and gen.random.random() < 0.6:
            count = gen.random.randint(1, len(a[0]))
            tilers = []
            for i in range(count):
                n = g.size(a[0][i])
                tilers.append(gen.divisor_layout(n) if is_divide else gen.layout(max_size=8, max_leaves=2, max_depth=1))
            text = "<" + ",".join(map(g.show_layout, tilers)) + ">"
            tiler = tuple(lay(t) for t in tilers)
        else:
            t = gen.divisor_layout(g.size(a[0])) if is_divide else gen.layout(max_size=12, max_leaves=2, max_depth=1)
            text, tiler = g.show_layout(t), lay(t)
        return f"{operation}|{g.show_layout(a)}|{text}", call(getattr(p, operation), lay(a), tiler), None
    if operation == "crd2idx":
        a = gen.layout(negative=True)
        c = gen.coordinate(a[0], out_of_range=gen.random.random() < 0.3)
        if gen.random.random() < 0.3 and isinstance(c, tuple):
            c = c + (0,)
        return f"crd2idx|{g.show_layout(a)}|{g.show(c)}", call(lambda: p.crd2idx(c, a[0], a[1])), None
    if operation == "idx2crd":
        a = gen.layout()
        i = gen.random.randrange(g.size(a[0]))
        return f"idx2crd|{i}|{g.show(a[0])}", call(lambda: p.idx2crd(i, a[0])), None
    if operation == "slice":
        a = gen.layout()
        while not isinstance(a[0], tuple):
            a = gen.layout()
        c = gen.coordinate(a[0], free=0.4)
        while c is None or isinstance(c, int):
            c = gen.coordinate(a[0], free=0.4)
        return (
            f"slice|{g.show_layout(a)}|{g.show(c)}",
            call(lambda: p.Layout(p.slice_(c, a[0]), p.slice_(c, a[1]))),
            None,
        )
    if operation == "shape_div":
        a, b = gen.layout()[0], gen.layout(max_leaves=2)[0]
        return f"shape_div|{g.show(a)}|{g.show(b)}", call(lambda: p.shape_div(a, b)), None
    if operation == "swizzle":
        # pycute recurses without end on a shift of 0.
        bits, base, shift = gen.random.randint(0, 5), gen.random.randint(0, 4), gen.random.choice([-4, -3, -2, -1, 1, 2, 3, 4])
        offset = gen.random.randrange(1 << 16)
        return (
            f"swizzle|Sw<{bits},{base},{shift}>|{offset}",
            call(lambda: p.swizzle.Swizzle(bits, base, shift)(offset)),
            None,
        )
    if operation == "composed":
        bits, base = gen.random.randint(1, 3), gen.random.randint(0, 3)
        shift = gen.random.choice([-1, 1]) * gen.random.randint(1, 4)
        a = gen.layout(max_size=128)
        offset = gen.random.randrange(64)

        def value():
            composed = p.swizzle.ComposedLayout(p.swizzle.Swizzle(bits, base, shift), offset, lay(a))
            return ",".join(str(composed(i)) for i in range(g.size(a[0])))

        return f"values|Sw<{bits},{base},{shift}> o {offset} o {g.show_layout(a)}", call(value), None
    raise ValueError(operation)


WEIGHTS = {
    "coalesce": 6,
    "coalesce_by": 3,
    "filter": 4,
    "composition": 28,
    "complement": 9,
    "right_inverse": 7,
    "left_inverse": 7,
    "logical_divide": 8,
    "zipped_divide": 4,
    "tiled_divide": 3,
    "logical_product": 6,
    "zipped_product": 3,
    "tiled_product": 3,
    "crd2idx": 5,
    "idx2crd": 2,
    "slice": 3,
    "shape_div": 5,
    "swizzle": 3,
    "composed": 3,
}


def compare(operation, line, ours_text, theirs, law):
    """'same', 'same up to unit modes', 'none', a named difference, or 'DISAGREE: reason'."""
    ours_none = ours_text.startswith("!")
    if theirs is not None and law is not None and not law(theirs):
        theirs = None
    if ours_none and theirs is None:
        return "none"
    if ours_none and operation == "left_inverse" and not stays_inside(theirs, g.parse_layout(line.split("|")[1])):
        return "differs: pycute's left inverse of an overlapping layout leaves its domain (0002)"
    if ours_none and ours_text.startswith("!stride-divisibility") and " of 1:" in ours_text:
        return "differs: an extent of 1 whose stride steps over a mode has no answer, as in C++ (0002)"
    if ours_none:
        return f"DISAGREE: pycute has an answer {theirs}, we have none"
    if ":" in ours_text:
        ours = g.parse_layout(ours_text)
        if law is not None and not law(ours):
            return "DISAGREE: our answer breaks the law"
    else:
        ours = None
    if theirs is None:
        if operation == "composition":
            return "differs: we answer where pycute asserts or leaves A(B(c)) (0002, stride within a mode; open end)"
        if operation == "left_inverse":
            return "differs: left inverse of layouts with gaps or overlaps (0002)"
        if operation.endswith("divide") or operation.endswith("product"):
            return "differs: we answer where pycute's composition asserts (0002, stride within a mode)"
        return "DISAGREE: pycute has no answer, we have one"
    if ours is None:
        theirs_text = theirs if isinstance(theirs, str) else g.show(theirs)
        return "same" if ours_text == theirs_text else f"DISAGREE: pycute says {theirs_text}"
    if g.unit_strides_dropped(ours) == g.unit_strides_dropped(theirs):
        return "same"
    if operation == "right_inverse" and g.size(ours[0]) > g.size(theirs[0]):
        return "differs: right inverse goes on past strides 0 and repeated strides, as in C++ (0002)"
    if operation == "right_inverse" and g.size(ours[0]) == g.size(theirs[0]):
        return "differs: another of several right inverses (0002)"
    if operation == "left_inverse":
        return "differs: left inverse beyond the image (0002)"
    if g.merged(*ours) == g.merged(*theirs):
        return "same up to unit modes"
    return f"DISAGREE: pycute says {g.show_layout(theirs)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", required=True, help="the program that evaluates our algebra")
    parser.add_argument("--pycute", required=True, help="the folder that holds the package pycute")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    sys.path.insert(0, options.pycute)
    try:
        import pycute
        import pycute.swizzle
    except ImportError as error:
        print(f"skipped: pycute is not in {options.pycute}: {error}")
        return EXIT_SKIP

    gen = g.Generator(options.seed)
    side = Side(pycute)
    operations = list(WEIGHTS)
    cases = []
    for _ in range(options.count):
        operation = gen.random.choices(operations, list(WEIGHTS.values()))[0]
        cases.append((operation, *make_case(gen, side, operation)))
    answers = subprocess.run(
        [options.driver], input="\n".join(c[1] for c in cases) + "\n", text=True, capture_output=True, check=True
    ).stdout.splitlines()
    if len(answers) != len(cases):
        print(f"the driver gave {len(answers)} answers to {len(cases)} questions")
        return 1

    counts = collections.Counter()
    by_operation = collections.defaultdict(collections.Counter)
    disagreements = []
    for (operation, line, theirs, law), ours in zip(cases, answers):
        verdict = compare(operation, line, ours, theirs, law)
        kind = verdict.split(":")[0] if verdict.startswith("DISAGREE") else verdict
        counts[kind] += 1
        by_operation[operation][kind] += 1
        if kind == "DISAGREE":
            disagreements.append(f"{line} -> {ours}   {verdict}")
    for text in disagreements[:25]:
        print(text)
    for operation in operations:
        print(f"{operation}: {dict(by_operation[operation])}")
    none_share = counts["none"] / len(cases)
    print(f"{len(cases)} cases, seed {options.seed}: {dict(counts)}; {none_share:.1%} without an answer on both sides")
    if none_share < 0.2:
        print("fewer than a fifth of the cases have no answer: the test does not test refusals enough")
        return 1
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())

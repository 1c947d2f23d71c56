# SPDX-License-Identifier: Apache-2.0
"""Random layouts and operations for the agreement tests, and a direct evaluation of layouts to judge answers by.

Nothing here uses pycute, CuTe or our algebra: a claim about an answer is checked by evaluating it at every coordinate.
"""

import random


# Text form


def parse(text):
    """The value of a tuple in text form: ints, tuples, None for `_`."""
    position = 0

    def read():
        nonlocal position
        if text[position] == "(":
            position += 1
            items = []
            while text[position] != ")":
                items.append(read())
                if text[position] == ",":
                    position += 1
            position += 1
            return tuple(items)
        start = position
        while position < len(text) and text[position] not in ",()":
            position += 1
        word = text[start:position].strip()
        return None if word == "_" else int(word.lstrip("_"))

    value = read()
    assert position == len(text), text
    return value


def show(value):
    if isinstance(value, tuple):
        return "(" + ",".join(show(v) for v in value) + ")"
    return "_" if value is None else str(value)


def parse_layout(text):
    shape, stride = text.replace(" ", "").split(":")
    return parse(shape), parse(stride)


def show_layout(layout):
    return show(layout[0]) + ":" + show(layout[1])


# Evaluation


def flat(value):
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def size(shape):
    result = 1
    for extent in flat(shape):
        result *= extent
    return result


def depth(value):
    return 1 + max(map(depth, value), default=0) if isinstance(value, tuple) else 0


def evaluate(layout, index):
    """Leftmost leaf fastest; the last leaf takes what is left, so the layout goes on beyond its domain."""
    extents, strides = flat(layout[0]), flat(layout[1])
    total = 0
    for extent, stride in zip(extents[:-1], strides[:-1]):
        total += index % extent * stride
        index //= extent
    return total + index * strides[-1] if extents else 0


def values(layout):
    result = [0]
    for extent, stride in zip(flat(layout[0]), flat(layout[1])):
        result = [v + c * stride for c in range(extent) for v in result]
    return result


def compatible(a, b):
    """Every coordinate into shape a is one into shape b."""
    if not isinstance(a, tuple):
        return a == size(b)
    return isinstance(b, tuple) and len(a) == len(b) and all(compatible(x, y) for x, y in zip(a, b))


def merged(shape, stride):
    modes = []
    for s, d in zip(flat(shape), flat(stride)):
        if s == 1:
            continue
        if modes and modes[-1][0] * modes[-1][1] == d:
            modes[-1] = (modes[-1][0] * s, modes[-1][1])
        else:
            modes.append((s, d))
    return modes


def unit_strides_dropped(layout):
    """Strides of extent 1, which are never stepped along, as 0."""

    def walk(shape, stride):
        if isinstance(shape, tuple):
            return tuple(walk(s, d) for s, d in zip(shape, stride))
        return 0 if shape == 1 else stride

    return layout[0], walk(*layout)


# Generation


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def extent(self):
        return self.random.choice([1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6, 7, 8, 8, 9, 10, 12, 16])

    def flat_extents(self, max_leaves, max_size):
        extents = []
        total = 1
        for _ in range(self.random.randint(1, max_leaves)):
            extent = self.extent()
            if total * extent > max_size:
                break
            total *= extent
            extents.append(extent)
        return extents or [self.random.choice([1, 2, 3, 4])]

    def strides(self, extents, negative=False):
        kind = self.random.random()
        order = list(range(len(extents)))
        strides = [0] * len(extents)
        if kind < 0.65:
            # Compact in some order, perhaps scaled, padded or broadcast in places.
            if self.random.random() < 0.6:
                self.random.shuffle(order)
            current = self.random.choice([1, 1, 1, 1, 2, 3, 4])
            for i in order:
                strides[i] = current
                current *= extents[i]
                if self.random.random() < 0.12:
                    current *= self.random.choice([2, 3])
                if self.random.random() < 0.05:
                    current += self.random.choice([1, 2])
            for i in order:
                if self.random.random() < 0.08:
                    strides[i] = 0
        else:
            choices = [0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 9, 12, 16, 24, 32]
            strides = [self.random.choice(choices) for _ in extents]
        if negative and self.random.random() < 0.1:
            i = self.random.randrange(len(extents))
            strides[i] = -strides[i]
        return strides

    def nest(self, leaves, max_depth):
        """A nesting of the leaf numbers: rank 1 to 4, up to max_depth levels."""
        if len(leaves) == 1:
            return leaves[0] if self.random.random() < 0.85 or max_depth == 0 else (leaves[0],)
        if max_depth <= 1:
            return tuple(leaves)
        cuts = sorted(self.random.sample(range(1, len(leaves)), min(self.random.randint(0, 3), len(leaves) - 1)))
        parts = [leaves[a:b] for a, b in zip([0] + cuts, cuts + [len(leaves)])]
        if len(parts) == 1:
            return tuple(self.nest([leaf], 0) for leaf in leaves) if len(leaves) <= 4 else tuple(leaves)
        return tuple(self.nest(part, max_depth - 1) for part in parts)

    def build(self, extents, strides, max_depth=3):
        profile = self.nest(list(range(len(extents))), max_depth)

        def fill(tree, values_of):
            return tuple(fill(t, values_of) for t in tree) if isinstance(tree, tuple) else values_of[tree]

        return fill(profile, extents), fill(profile, strides)

    def layout(self, max_leaves=5, max_size=256, max_depth=3, negative=False):
        extents = self.flat_extents(max_leaves, max_size)
        return self.build(extents, self.strides(extents, negative), max_depth)

    def divisor_layout(self, n):
        """A layout that is likely to compose with one of n elements: extents and strides from the divisors of n."""
        extents, strides = [], []
        rest = n
        current = 1
        for _ in range(self.random.randint(1, 3)):
            divisors = [d for d in range(1, rest + 1) if rest % d == 0]
            skip = self.random.choice(divisors)
            rest //= skip
            current *= skip
            divisors = [d for d in range(1, rest + 1) if rest % d == 0]
            extent = self.random.choice(divisors)
            extents.append(extent)
            strides.append(current)
            rest //= extent
            current *= extent
        pairs = list(zip(extents, strides))
        self.random.shuffle(pairs)
        if self.random.random() < 0.15:
            i = self.random.randrange(len(pairs))
            pairs[i] = (pairs[i][0] + self.random.choice([0, 1, 2]), pairs[i][1] + self.random.choice([0, 1, 2]))
        return self.build([p[0] for p in pairs], [p[1] for p in pairs], 2)

    def coordinate(self, shape, out_of_range=False, free=0.0):
        """A coordinate of any form: linear, one number a mode, natural, or a mixture."""
        if self.random.random() < free:
            return None
        if isinstance(shape, tuple) and self.random.random() < 0.75:
            return tuple(self.coordinate(s, out_of_range, free) for s in shape)
        limit = size(shape)
        return self.random.randrange(limit * 2 if out_of_range else limit)

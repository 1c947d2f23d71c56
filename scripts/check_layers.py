#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the rooms are the layers that they are said to be.

Three statements must agree: the table in docs/architecture.md (what a room may use), the DEPS of its CMakeLists.txt (what
it links) and its #includes (what it uses). Also: every source file is named in its CMakeLists.txt and the lists are
sorted, files stay below 800 lines, each opens with its licence line, headers with #pragma once, and every preset is used
by a script.

Usage: check_layers.py [ROOT]      prints one line a finding; exit code 1 when there is any
"""

import json
import posixpath
import re
import subprocess
import sys
from pathlib import Path

MAX_LINES = 800
LICENCE = "SPDX-License-Identifier: Apache-2.0"
SOURCE_SUFFIXES = {".h", ".cpp", ".def", ".py", ".sh", ".pyi", ".cmake", ".cu"}
# Inputs of tests are what they are: damaged files, recorded traffic, programs with line numbers in their goldens.
EXEMPT_FOLDERS = ("tests/file/", "tests/corpora/", "tests/cassettes/", "tests/docs/fixtures/", "tests/lint/fixtures/")
KEYWORDS = {"NAME", "SOURCES", "TESTS", "FUZZ", "DEPS", "LIBRARIES", "LABELS", "SOURCE"}


class Findings:
    def __init__(self):
        self.lines = []

    def add(self, place, text):
        self.lines.append(f"{place}: {text}")


def read_calls(path):
    """The tw_add_... calls of a CMakeLists.txt as (function, {keyword: [words]})."""
    text = re.sub(r"#[^\n]*", "", path.read_text())
    calls = []
    for match in re.finditer(r"\b(tw_add_\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", text):
        arguments, keyword = {}, None
        for word in match.group(2).split():
            if word in KEYWORDS:
                keyword = word
                arguments.setdefault(keyword, [])
            elif keyword:
                arguments[keyword].append(word.strip('"'))
        calls.append((match.group(1), arguments))
    return calls


def read_room_order(root):
    text = (root / "src/CMakeLists.txt").read_text()
    return re.search(r"set\(TW_ROOMS([^)]*)\)", text).group(1).split()


def read_table(root, order, findings):
    """{room: set of rooms it may use}, from the table of docs/architecture.md."""
    path = root / "docs/architecture.md"
    rows = []
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[0].isdigit():
            rows.append((int(cells[0]), re.findall(r"`([\w/]+)`", cells[1]), cells[3]))
    if not rows:
        findings.add(path, "no table of rooms found")
    layer_of = {room: layer for layer, rooms, _ in rows for room in rooms}
    table = {}
    for layer, rooms, uses in rows:
        allowed = set()
        uses, _, excluded = uses.partition(" but ")
        for part in [part.strip(" `") for part in uses.split(",")]:
            span = re.fullmatch(r"layers (\d+)-(\d+)", part)
            if span:
                low, high = int(span.group(1)), int(span.group(2))
                allowed |= {room for room, of in layer_of.items() if low <= of <= high}
            elif part == "all":
                allowed |= {room for room, of in layer_of.items() if of < layer}
            elif part not in ("-", ""):
                if part not in layer_of:
                    findings.add(path, f"`{part}` is used by {rooms} but is no room of the table")
                allowed.add(part)
        allowed -= {part.strip(" `") for part in excluded.split(",")}
        for room in rooms:
            table[room] = allowed - {room}
    for room in order:
        if room not in table:
            findings.add(path, f"room `{room}` of src/CMakeLists.txt is not in the table")
    return table


def room_of_include(include, rooms):
    """The room that `#include "a/b/c.h"` reaches into; the longest name wins (targets/cuda)."""
    parts = include.split("/")
    for length in range(len(parts) - 1, 0, -1):
        name = "/".join(parts[:length])
        if name in rooms:
            return name
    return None


def includes_of(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def is_test(path):
    return path.stem.endswith(("_test", "_fuzz")) or "test" in path.stem.split("_")


def check_room(root, room, order, table, findings):
    folder = root / "src" / room
    cmake = folder / "CMakeLists.txt"
    calls = read_calls(cmake)
    own = [arguments for function, arguments in calls if function in ("tw_add_room", "tw_add_program")]
    deps = set().union(*(arguments.get("DEPS", []) for arguments in own)) if own else set()
    allowed = table.get(room, set())
    for dep in sorted(deps - allowed - {room}):
        findings.add(cmake.relative_to(root), f"DEPS has `{dep}`, which the table in docs/architecture.md does not allow `{room}`")
    for dep in sorted(deps & set(order)):
        if order.index(dep) > order.index(room):
            findings.add(cmake.relative_to(root), f"`{dep}` comes after `{room}` in src/CMakeLists.txt")

    other_rooms = [other for other in order if other.startswith(room + "/")]
    files = [path for path in sorted(folder.rglob("*"))
             if path.suffix in (".h", ".cpp") and not any((root / "src" / other) in path.parents for other in other_rooms)]
    for path in files:
        if is_test(path):
            continue
        for number, include in includes_of(path):
            used = room_of_include(include, set(order))
            if used and used != room and used not in deps:
                reason = "is not in its DEPS" if used in allowed else "is not allowed by the table in docs/architecture.md"
                findings.add(f"{path.relative_to(root)}:{number}", f"`{room}` includes \"{include}\", but `{used}` {reason}")

    # Anywhere in the file: some tests build a helper of their own.
    listed = set(re.sub(r"#[^\n]*", "", cmake.read_text()).replace("(", " ").replace(")", " ").split())
    for _, arguments in calls:
        for keyword in ("SOURCES", "TESTS", "FUZZ"):
            names = arguments.get(keyword, [])
            # Folder by folder, the room's own files first.
            if names != sorted(names, key=lambda name: (posixpath.dirname(name), name)):
                findings.add(cmake.relative_to(root), f"{keyword} is not sorted: {' '.join(names)}")
    for path in files:
        if path.suffix == ".cpp" and path.relative_to(folder).as_posix() not in listed:
            findings.add(path.relative_to(root), "is named in no list of its CMakeLists.txt")


def check_file(root, name, findings):
    path = root / name
    if path.suffix not in SOURCE_SUFFIXES and path.name != "CMakeLists.txt" and name != ".ci/run":
        return
    # Tile programs look like what a user writes; the licence of the shipped ones is that of the tree.
    if name.startswith(EXEMPT_FOLDERS) or name.endswith(".tw.py"):
        return
    lines = path.read_text(errors="replace").splitlines()
    if len(lines) >= MAX_LINES:
        findings.add(name, f"{len(lines)} lines; files stay below {MAX_LINES}")
    if not any(LICENCE in line for line in lines[:2]):
        findings.add(name, f"does not open with `{LICENCE}`")
    if path.suffix == ".h" and "#pragma once" not in lines:
        findings.add(name, "has no `#pragma once`")


def check_presets(root, findings):
    presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
    scripts = "\n".join(path.read_text() for folder in ("scripts", ".ci") for path in sorted((root / folder).iterdir())
                        if path.is_file())
    for preset in presets:
        # As `--preset NAME`, as an argument of slow.sh's `build`, or in the list of a loop.
        name = re.escape(preset["name"])
        used = re.search(rf"(--preset|\bbuild|for preset in)[^\n]*\b{name}\b", scripts)
        if not preset.get("hidden") and not used:
            findings.add("CMakePresets.json", f"preset `{preset['name']}` is used by no script")


def tracked_files(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    return [path.relative_to(root).as_posix() for path in root.rglob("*")
            if path.is_file() and path.relative_to(root).parts[0] not in ("build", ".git")]


def check(root):
    findings = Findings()
    order = read_room_order(root)
    table = read_table(root, order, findings)
    for room in order:
        if (root / "src" / room / "CMakeLists.txt").exists():
            check_room(root, room, order, table, findings)
    for path in sorted((root / "src").rglob("CMakeLists.txt")):
        room = path.parent.relative_to(root / "src").as_posix()
        if room not in order + ["."]:
            findings.add(path.relative_to(root), f"`{room}` is no room of src/CMakeLists.txt")
    for name in tracked_files(root):
        check_file(root, name, findings)
    check_presets(root, findings)
    return findings.lines


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    lines = check(root)
    print("\n".join(lines + [f"check_layers: {len(lines)} findings"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

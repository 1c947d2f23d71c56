#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The repository checks must be able to fail: each is run on a small tree with one fault planted."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import check_codes  # noqa: E402
import check_layers  # noqa: E402

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
CMAKE_LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
HEADER = LICENCE + "#pragma once\n"

LAYER_TREE = {
    "docs/architecture.md": "| layer | room | purpose | may use |\n|---|---|---|---|\n"
                            "| 0 | `low` | x | - |\n| 1 | `mid` | x | low |\n| 2 | `top` | x | layers 0-1 but low |\n",
    "src/CMakeLists.txt": CMAKE_LICENCE + "set(TW_ROOMS\n  low mid top)\n",
    "src/low/CMakeLists.txt": CMAKE_LICENCE + "tw_add_room(NAME low SOURCES low.cpp TESTS low_test.cpp)\n",
    "src/low/low.cpp": LICENCE + '#include "low/low.h"\n',
    "src/low/low.h": HEADER,
    "src/low/low_test.cpp": LICENCE,
    "src/mid/CMakeLists.txt": CMAKE_LICENCE + "tw_add_room(NAME mid SOURCES a.cpp b.cpp DEPS low)\n",
    "src/mid/a.cpp": LICENCE + '#include "low/low.h"\n',
    "src/mid/b.cpp": LICENCE,
    "src/mid/mid.h": HEADER,
    "src/top/CMakeLists.txt": CMAKE_LICENCE + "tw_add_room(NAME top SOURCES t.cpp DEPS mid)\n",
    "src/top/t.cpp": LICENCE + '#include "mid/mid.h"\n',
    "CMakePresets.json": '{"configurePresets": [{"name": "base", "hidden": true}, {"name": "dev"}]}',
    "scripts/build.sh": CMAKE_LICENCE + "cmake --preset dev\n",
    ".ci/run": CMAKE_LICENCE,
}

PAGE = "# TW1001: UnknownName\n\n```python fail\nx\n```\n```python ok\ny\n```\n"
CODE_TREE = {
    "src/diag/codes/sema.def": 'TW_DIAG(1001, UnknownName, Error, "sema", "no name `{}`"\n        " here", "0.1")\n',
    "src/diag/codes/cli.def": 'TW_DIAG(8001, NoFile, Error, "cli", "no file `{}`", "0.1")\n',
    "docs/diagnostics/TW1001.md": PAGE,
    "docs/diagnostics/TW8001.md": "# TW8001: NoFile\n\n```console\n$ tilewright check nothing\n```\n",
    "docs/diagnostics/untested.txt": "TW8001 NoFile\n",
    "tests/a_test.cpp": LICENCE + "// TW1001\n",
}


class Tree(unittest.TestCase):
    def findings(self, check, tree, changes):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {**tree, **changes}.items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text)
            self.prepare(root)
            return check(root)

    def prepare(self, root):
        pass

    def assert_finds(self, words, changes):
        found = self.run_check(changes)
        self.assertTrue(any(words in line for line in found), f"{words!r} not in {found}")


class Layers(Tree):
    def run_check(self, changes):
        return self.findings(check_layers.check, LAYER_TREE, changes)

    def test_the_sound_tree_has_no_findings(self):
        self.assertEqual(self.run_check({}), [])

    def test_an_include_that_is_not_linked(self):
        self.assert_finds("is not in its DEPS", {"src/mid/CMakeLists.txt": CMAKE_LICENCE + "tw_add_room(NAME mid SOURCES a.cpp b.cpp)\n"})

    def test_an_include_upwards(self):
        self.assert_finds("is not allowed", {"src/low/low.cpp": LICENCE + '#include "mid/mid.h"\n'})

    def test_an_excluded_room(self):
        self.assert_finds("does not allow", {"src/top/CMakeLists.txt": CMAKE_LICENCE + "tw_add_room(NAME top SOURCES t.cpp DEPS low mid)\n"})

    def test_a_source_that_is_not_listed(self):
        self.assert_finds("is named in no list", {"src/mid/c.cpp": LICENCE})

    def test_a_list_that_is_not_sorted(self):
        self.assert_finds("is not sorted", {"src/mid/CMakeLists.txt": CMAKE_LICENCE + "tw_add_room(NAME mid SOURCES b.cpp a.cpp DEPS low)\n"})

    def test_a_long_file(self):
        self.assert_finds("files stay below", {"src/mid/b.cpp": LICENCE + "\n" * 800})

    def test_a_missing_licence_line(self):
        self.assert_finds("does not open with", {"src/mid/b.cpp": "int x;\n"})

    def test_a_header_without_pragma_once(self):
        self.assert_finds("#pragma once", {"src/mid/mid.h": LICENCE})

    def test_a_preset_that_nothing_uses(self):
        self.assert_finds("used by no script", {"scripts/build.sh": CMAKE_LICENCE})

    def test_a_room_outside_the_table(self):
        self.assert_finds("is not in the table", {"src/CMakeLists.txt": CMAKE_LICENCE + "set(TW_ROOMS low mid top new)\n"})


class Codes(Tree):
    def prepare(self, root):
        import subprocess
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)

    def run_check(self, changes):
        return self.findings(check_codes.check, CODE_TREE, changes)

    def test_the_sound_tree_has_no_findings(self):
        self.assertEqual(self.run_check({}), [])

    def test_a_missing_page(self):
        self.assert_finds("is missing", {"docs/diagnostics/TW1001.md": None})

    def test_a_page_without_its_near_neighbour(self):
        self.assert_finds("only one of the blocks", {"docs/diagnostics/TW1001.md": "# TW1001: UnknownName\n```python fail\n```\n"})

    def test_a_page_with_a_wrong_title(self):
        self.assert_finds("the first line is not", {"docs/diagnostics/TW1001.md": PAGE.replace("Name", "Other", 1)})

    def test_a_page_of_no_code(self):
        self.assert_finds("there is no such code", {"docs/diagnostics/TW1002.md": PAGE})

    def test_a_test_that_names_an_unknown_code(self):
        self.assert_finds("which there is not", {"tests/a_test.cpp": "// TW1002\n"})

    def test_a_code_that_nothing_tests(self):
        self.assert_finds("no test and no page", {"docs/diagnostics/untested.txt": ""})

    def test_a_tested_code_on_the_list_of_untested_ones(self):
        self.assert_finds("take it off the list", {"tests/a_test.cpp": "// TW8001\n"})

    def test_a_number_outside_its_range(self):
        self.assert_finds("outside", {"src/diag/codes/sema.def": CODE_TREE["src/diag/codes/sema.def"].replace("1001", "2001")})

    def test_wording(self):
        for message in ("No name", "no name.", "an invalid name"):
            definition = f'TW_DIAG(1001, UnknownName, Error, "sema", "{message}", "0.1")\n'
            self.assert_finds("the message", {"src/diag/codes/sema.def": definition})


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The block runner must be able to fail: a scripted program stands in for tilewright."""

import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import run_blocks  # noqa: E402

# Reports TW0001 with a safe fix-it for each `bad` in the file.
FAKE = """#!/usr/bin/env python3
import json, sys
path = sys.argv[-1]
text = open(path).read()
at = text.find("bad")
if at >= 0:
    span = {"file": path, "begin": at, "end": at + 3}
    print(json.dumps({"schema": "tw.diagnostic/1", "code": "TW0001", "severity": "error",
        "rendered": "error[TW0001]: bad\\n", "fixits": [
        {"title": "t", "applicability": "safe", "edits": [{"span": span, "replacement": "REPLACEMENT"}]}]}), file=sys.stderr)
    sys.exit(1)
"""


class RunBlocks(unittest.TestCase):
    def run_page(self, text, name="page.md", replacement="good"):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "fake"
            program.write_text(FAKE.replace("REPLACEMENT", replacement))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            page = Path(folder) / name
            page.write_text(text)
            report = run_blocks.Report()
            run_blocks.run_page(os.fspath(program), page, report)
            return report

    def test_accepted_and_refused_programs_pass(self):
        report = self.run_page("```python ok\ngood\n```\ntext\n```python fail TW0001\nbad\n```\n```python\ngood\n```\n")
        self.assertEqual((report.passed, report.failures), (3, []))

    def test_the_code_comes_from_the_name_of_the_page(self):
        self.assertEqual(self.run_page("```python fail\nbad\n```\n", "TW0001.md").passed, 1)
        self.assertEqual(len(self.run_page("```python fail\nbad\n```\n", "TW0002.md").failures), 1)

    def test_a_program_that_should_fail_and_does_not_is_a_failure(self):
        self.assertEqual(len(self.run_page("```python fail TW0001\ngood\n```\n").failures), 1)

    def test_a_program_that_should_pass_and_does_not_is_a_failure(self):
        self.assertEqual(len(self.run_page("```python\nbad\n```\n").failures), 1)

    def test_a_safe_fixit_that_does_not_help_is_a_failure(self):
        self.assertEqual(len(self.run_page("```python fail TW0001\nbad\n```\n", replacement="bad!").failures), 1)

    def test_output_that_is_shown_must_be_what_is_printed(self):
        page = "```python fail TW0001 file=a.tw.py\nbad\n```\n```text output\nerror[TW0001]: %s\n```\n"
        self.assertEqual(self.run_page(page % "bad").failures, [])
        self.assertEqual(len(self.run_page(page % "good").failures), 1)
        self.assertEqual(len(self.run_page("```text output\nbad\n```\n").failures), 1)

    def test_console_blocks_print_what_they_show(self):
        page = "```console run\n$ echo 'error[TW0001]: x'; echo more\n%s\n...\n```\n"
        self.assertEqual(self.run_page(page % "error[TW0001]: x", "TW0001.md").failures, [])
        self.assertEqual(len(self.run_page(page % "error[TW0001]: y", "TW0001.md").failures), 1)
        self.assertEqual(len(self.run_page(page % "more", "TW0002.md").failures), 1)

    def test_fragments_are_counted_as_skipped(self):
        report = self.run_page("```python fragment\nbad\n```\n```console\nbad\n```\n")
        self.assertEqual((report.passed, report.skipped, report.failures), (0, 1, []))

    def test_unknown_words_and_open_blocks_are_failures(self):
        self.assertEqual(len(self.run_page("```python wrong\ngood\n```\n").failures), 1)
        self.assertEqual(len(self.run_page("```python ok\ngood\n").failures), 1)


if __name__ == "__main__":
    unittest.main()

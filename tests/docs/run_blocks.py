#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the ```python and ```console run blocks of documentation pages with the built program.

The words after `python` say what a block is:
  ok                    `check` accepts it: exit code 0. Also what a block without words means.
  fail [TWnnnn]         `check` reports the code; on a page docs/diagnostics/TWnnnn.md it need not be named. An error must
                        also give an exit code other than 0. A fix-it marked safe, applied, must make the code go away.
  fragment              not a whole program; skipped and counted.
  --option[=value]      passed on to `check`.
  file=NAME             the name of the program's file, as diagnostics print it.
A block ```text output after a `fail` block must be the diagnostic as a terminal shows it, to the letter.
In a block ```console run the lines that start with `$ ` are given to a shell in an empty folder with a proved kernel
`kernel.tw.py`; every other line must be among what they print, and so must the code of the page. `...` stands for lines
left out.

On a page docs/diagnostics/TWnnnn.md an `ok` block must not report that code, not even as a warning.

Usage: run_blocks.py --program PROGRAM PAGE...
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT_S = 120
CONSOLE_KERNEL = """from tilewright import *

@kernel(target="sm_80", threads=128)
def twice(X: In[f32, (M, N)], Y: Out[f32, (M, N)]):
    for bm, bn in tiles(cdiv(M, 32), cdiv(N, 32)):
        x = load(X[bm*32:+32, bn*32:+32])
        store(x + x, Y[bm*32:+32, bn*32:+32])
"""


@dataclass
class Block:
    page: Path
    line: int
    kind: str
    code: str
    options: list
    text: str
    file: str = "block.tw.py"
    output: str = None

    def place(self):
        return f"{self.page}:{self.line}"


@dataclass
class Outcome:
    exit_code: int
    diagnostics: list
    output: str

    def codes(self):
        return [diagnostic["code"] for diagnostic in self.diagnostics]

    def describe(self):
        lines = [f"{diagnostic['code']}: {diagnostic.get('message')}" for diagnostic in self.diagnostics]
        return f"exit code {self.exit_code} and " + ("\n  ".join(["", *lines]) if lines else f"no diagnostics\n{self.output}")


@dataclass
class Report:
    passed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)


def read_blocks(page):
    """The python blocks of a page; an unknown word is a failure of the page, returned as text."""
    page_code = page.stem if re.fullmatch(r"TW\d{4}", page.stem) else ""
    blocks, problems = [], []
    fence, words, start, lines = None, [], 0, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        match = re.match(r"^(`{3,})(.*)$", line)
        if fence is None:
            if match:
                fence, words, start, lines = match.group(1), match.group(2).split(), number, []
            continue
        if line.strip() != fence:
            lines.append(line)
            continue
        fence = None
        if words == ["text", "output"]:
            if blocks and blocks[-1].kind == "fail":
                blocks[-1].output = "\n".join(lines)
            else:
                problems.append(f"{page}:{start}: the output of which `fail` block?")
        if words == ["console", "run"]:
            blocks.append(Block(page, start, "console", page_code, [], "\n".join(lines) + "\n"))
        if words[:1] != ["python"]:
            continue
        block = Block(page, start, "ok", page_code, [], "\n".join(lines) + "\n")
        for word in words[1:]:
            if word in ("ok", "fail", "fragment"):
                block.kind = word
            elif re.fullmatch(r"TW\d{4}", word):
                block.code = word
            elif word.startswith("--"):
                block.options.append(word)
            elif word.startswith("file="):
                block.file = word[len("file="):]
            else:
                problems.append(f"{page}:{start}: unknown word `{word}` after ```python")
        if block.kind == "fail" and not block.code:
            problems.append(f"{page}:{start}: which code does the block fail with?")
        blocks.append(block)
    if fence is not None:
        problems.append(f"{page}:{start}: the block has no end")
    return blocks, problems


def read_diagnostics(text):
    diagnostics = []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if value.get("schema") == "tw.diagnostic/1":
            diagnostics.append(value)
    return diagnostics


def run_check(program, block, text, folder):
    (Path(folder) / block.file).write_text(text)
    command = [Path(program).resolve(), "check", "--format=json", *block.options, block.file]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, cwd=folder)
    return Outcome(result.returncode, read_diagnostics(result.stdout) + read_diagnostics(result.stderr),
                   result.stdout + result.stderr)


def apply_fixit(text, fixit, file):
    """The text with all edits of the fix-it; None when an edit is for another file."""
    data = text.encode()
    edits = sorted(fixit["edits"], key=lambda edit: edit["span"]["begin"], reverse=True)
    for edit in edits:
        if edit["span"]["file"] != file:
            return None
        data = data[:edit["span"]["begin"]] + edit["replacement"].encode() + data[edit["span"]["end"]:]
    return data.decode()


def check_fail(program, block, folder):
    outcome = run_check(program, block, block.text, folder)
    found = [diagnostic for diagnostic in outcome.diagnostics if diagnostic["code"] == block.code]
    if not found:
        return f"expected {block.code}, got {outcome.describe()}"
    if found[0]["severity"] == "error" and outcome.exit_code not in (1, 2, 3, 4):
        return f"an error was reported but the exit code is {outcome.exit_code}"
    if block.output is not None and block.output.strip() != found[0]["rendered"].strip():
        return f"the output shown is not what is printed:\n{found[0]['rendered']}"
    for fixit in found[0]["fixits"]:
        if fixit["applicability"] != "safe":
            continue
        fixed = apply_fixit(block.text, fixit, block.file)
        if fixed is None:
            continue
        again = run_check(program, block, fixed, folder)
        if block.code in again.codes():
            return f"the fix-it `{fixit['title']}` is marked safe but {block.code} is still reported after it"
    return None


def check_ok(program, block, folder):
    outcome = run_check(program, block, block.text, folder)
    if outcome.exit_code != 0:
        return f"expected to be accepted, got {outcome.describe()}"
    if block.code and block.code in outcome.codes():
        return f"the accepted neighbour reports {block.code} too"
    return None


def check_console(program, block, folder):
    bin_folder = Path(folder) / "bin"
    work = Path(folder) / "work"
    bin_folder.mkdir()
    work.mkdir()
    (bin_folder / "tilewright").symlink_to(Path(program).resolve())
    (work / "kernel.tw.py").write_text(CONSOLE_KERNEL)
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    output = ""
    for command in [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]:
        result = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, cwd=work, env=environment)
        output += result.stdout
    printed = {line.rstrip() for line in output.splitlines()}
    for line in block.text.splitlines():
        if not line.startswith("$ ") and line.strip() not in ("", "...") and line.rstrip() not in printed:
            return f"this line is not printed: {line}\n{output}"
    if block.code and f"[{block.code}]" not in output:
        return f"{block.code} is not printed\n{output}"
    return None


CHECKS = {"ok": check_ok, "fail": check_fail, "console": check_console}


def run_page(program, page, report):
    blocks, problems = read_blocks(page)
    report.failures += problems
    for block in blocks:
        if block.kind == "fragment":
            report.skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = CHECKS[block.kind](program, block, folder)
            except subprocess.TimeoutExpired:
                problem = f"no answer within {TIMEOUT_S} s"
        if problem:
            report.failures.append(f"{block.place()}: {problem}")
        else:
            report.passed += 1


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    report = Report()
    for page in options.pages:
        run_page(options.program, page, report)
    print("\n".join(report.failures + [f"{report.passed} passed, {len(report.failures)} failed, {report.skipped} skipped"]))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

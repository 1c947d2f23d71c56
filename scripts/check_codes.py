#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the registry of diagnostic codes against pages and tests.

Every code of src/diag/codes/*.def has a number in the range of its file, a message worded as CONTRIBUTING.md says, and a
page docs/diagnostics/TWnnnn.md with a `python fail` and a `python ok` block (tests/docs runs both), or a `console` block
when no program can bring it about (`console run` when a command can; it is run too). A code of neither kind must be named by a test, or stand in
docs/diagnostics/untested.txt, which may hold no code that is tested. No page, test or document names an unknown code.

Usage: check_codes.py [ROOT]
"""

import re
import subprocess
import sys
from pathlib import Path

RANGES = {
    "syntax": (1, 999),
    "sema": (1000, 1999),
    "layout": (2000, 2999),
    "verify": (3000, 3999),
    "lower": (4000, 4999),
    "toolchain": (5000, 5999),
    "emulator": (6000, 6999),
    "agent": (7000, 7999),
    "cli": (8000, 8999),
    "internal": (9000, 9999),
}
# Numbers that tests of the registry and the renderers make up.
TEST_NUMBERS = re.compile(r"TW(3900|3999|9998|0000)\b")
ENTRY = re.compile(
    r"TW_DIAG\(\s*(\d+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*\"([^\"]*)\"\s*,\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+),\s*\"([^\"]*)\"\s*\)")
UNWANTED_WORDS = ("illegal", "invalid", "sorry", "please")


def read_registry(root, findings):
    codes = {}
    for path in sorted((root / "src/diag/codes").glob("*.def")):
        if path.name == "all.def":
            continue
        text = re.sub(r"^\s*//[^\n]*", "", path.read_text(), flags=re.MULTILINE)
        entries = list(ENTRY.finditer(text))
        if len(entries) != len(re.findall(r"\bTW_DIAG\(", text)):
            findings.append(f"{path.relative_to(root)}: an entry does not read TW_DIAG(number, Name, Severity, \"area\", \"message\", \"since\")")
        last = 0
        for entry in entries:
            number, name = int(entry.group(1)), entry.group(2)
            place = f"{path.relative_to(root)}: TW{number:04d}"
            low, high = RANGES.get(path.stem, (0, 0))
            if not low <= number <= high:
                findings.append(f"{place}: outside {low}-{high}, the range of this file")
            if number in codes:
                findings.append(f"{place}: the number is taken by {codes[number]['name']}")
            if name in [code["name"] for code in codes.values()]:
                findings.append(f"{place}: the name {name} is taken")
            if number < last:
                findings.append(f"{place}: entries are not in the order of their numbers")
            last = number
            message = "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", entry.group(5)))
            check_wording(place, message, findings)
            codes[number] = {"name": name, "severity": entry.group(3), "message": message}
    return codes


def check_wording(place, message, findings):
    if not re.match(r"[a-z`{0-9]", message):
        findings.append(f"{place}: the message starts with neither a small letter nor code")
    if message.endswith("."):
        findings.append(f"{place}: the message ends with a period")
    for word in UNWANTED_WORDS:
        if re.search(rf"\b{word}\b", message, re.IGNORECASE):
            findings.append(f"{place}: the message says `{word}`; say what was found")


def check_page(root, number, code, findings):
    """True when its program blocks test the code."""
    path = root / f"docs/diagnostics/TW{number:04d}.md"
    if not path.exists():
        findings.append(f"{path.relative_to(root)}: the page of {code['name']} is missing")
        return False
    text = path.read_text()
    title = f"# TW{number:04d}: {code['name']}"
    if text.splitlines()[:1] != [title]:
        findings.append(f"{path.relative_to(root)}: the first line is not `{title}`")
    infos = re.findall(r"^```(\w[^\n]*)$", text, re.MULTILINE)
    has_fail = any(info.split()[:2] == ["python", "fail"] for info in infos)
    has_ok = any(info.split()[:2] == ["python", "ok"] for info in infos)
    has_console = any(info.split()[:1] == ["console"] for info in infos)
    if has_fail != has_ok:
        findings.append(f"{path.relative_to(root)}: has only one of the blocks `python fail` and `python ok`")
    if not has_fail and not has_console:
        findings.append(f"{path.relative_to(root)}: has neither program blocks nor a `console` block")
    return has_fail or "console run" in infos


def tracked_text(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "src", "tests", "docs", "kernels", "README.md",
                             "CONTRIBUTING.md", "python"], capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        path = root / name
        if name and path.is_file() and path.suffix in (".cpp", ".h", ".py", ".md", ".sh", ".txt", ".json", ".jsonl"):
            yield name, path.read_text(errors="replace")


def is_test(name):
    return name.startswith("tests/") or re.search(r"_(test|fuzz)\.cpp$", name)


def check(root):
    findings = []
    codes = read_registry(root, findings)
    tested = {number for number, code in codes.items() if check_page(root, number, code, findings)}
    for path in sorted((root / "docs/diagnostics").glob("TW*.md")):
        if not re.fullmatch(r"TW\d{4}", path.stem) or int(path.stem[2:]) not in codes:
            findings.append(f"{path.relative_to(root)}: there is no such code")

    untested_path = root / "docs/diagnostics/untested.txt"
    untested = {int(line[2:6]) for line in untested_path.read_text().splitlines() if line.startswith("TW")} \
        if untested_path.exists() else set()
    names = {code["name"]: number for number, code in codes.items()}
    for name, text in tracked_text(root):
        if name.startswith("tests/lint/"):
            continue
        for number in {int(number) for number in re.findall(r"\bTW(\d{4})\b", TEST_NUMBERS.sub("", text))}:
            if number not in codes:
                findings.append(f"{name}: names TW{number:04d}, which there is not")
            elif is_test(name):
                tested.add(number)
        if is_test(name):
            tested |= {names[used] for used in re.findall(r"\bcodes::(\w+)", text) if used in names}
    for number in sorted(set(codes) - tested - untested):
        findings.append(f"TW{number:04d} {codes[number]['name']}: no test and no page brings it about")
    for number in sorted(untested):
        if number in tested:
            findings.append(f"{untested_path.relative_to(root)}: TW{number:04d} is tested; take it off the list")
        elif number not in codes:
            findings.append(f"{untested_path.relative_to(root)}: there is no TW{number:04d}")
    return findings


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    findings = check(root)
    print("\n".join(findings + [f"check_codes: {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one tile program whose comments say what `tilewright check` must find.

usage: run_verify.py BINARY FILE

  # expect: proved full                all obligations proved, scope full
  # expect: refuted KIND               an obligation of this kind is refuted; each counterexample is reproduced by `run --replay`
  # expect: unknown KIND               a wrong program that is too large to show, or not followed: not proved, for this kind
  # expect: vacuous KIND               an obligation of this kind compares nothing: not proved
  # task: NAME                         check it against tasks/NAME.toml
  # expect: rejected CODE              refused before the proof, with this diagnostic
"""

import json
import pathlib
import subprocess
import sys
import tempfile

EXIT_CODES = {"proved": 0, "refuted": 1, "unknown": 3, "vacuous": 3, "rejected": 1}
LIMIT_S = 300


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


def task_of(path):
    found = [line for line in path.read_text().splitlines() if line.startswith("# task: ")]
    root = pathlib.Path(__file__).resolve().parents[2]
    return [f"--task={root / 'tasks' / (line[len('# task: '):] + '.toml')}" for line in found]


def expectation(path):
    for line in path.read_text().splitlines():
        if line.startswith("# expect: "):
            verdict, _, detail = line[len("# expect: "):].partition(" ")
            if verdict not in EXIT_CODES or not detail:
                raise SystemExit(f"{path}: `{line}` is no expectation")
            return verdict, detail
    raise SystemExit(f"{path}: says nothing of what is expected")


def problems_of(binary, path, verdict, detail):
    with tempfile.TemporaryDirectory() as folder:
        done = run([binary, "check", str(path), "--format=json", f"--cex={folder}", *task_of(path)])
        if done.returncode != EXIT_CODES[verdict]:
            yield f"exit code {done.returncode} instead of {EXIT_CODES[verdict]}\n{done.stderr[-2000:]}"
        found = json.loads(done.stdout)["files"][0]
        if found["verdict"] != verdict:
            yield f"{found['verdict']} instead of {verdict}\n{done.stderr[-3000:]}"
            return
        if verdict == "rejected":
            if detail not in done.stderr:
                yield f"refused without {detail}:\n{done.stderr[-2000:]}"
            return
        if verdict == "proved":
            if found["scope"] != detail:
                yield f"scope {found['scope']} instead of {detail}"
            return
        kinds = {o["kind"] for o in found["obligations"] if o["verdict"] == verdict}
        if detail not in kinds:
            yield f"{verdict}: {sorted(kinds)}, not {detail}"
        if verdict in ("unknown", "vacuous"):
            return
        counterexamples = sorted(pathlib.Path(folder).iterdir())
        if not counterexamples:
            yield "no counterexample"
        for counterexample in counterexamples:
            found = json.loads(counterexample.read_text())
            if not found["replay"]["replayed"]:
                yield f"{counterexample.name} was not replayed"
            shown = run([binary, "show-cex", str(counterexample)])
            if shown.returncode != 0 or found["claim"] not in shown.stdout:
                yield f"{counterexample.name} is not shown: {shown.stdout}{shown.stderr}"
            again = run([binary, "run", str(path), f"--replay={counterexample}", "--format=json", *task_of(path)])
            if again.returncode != 1 or not json.loads(again.stdout)["reproduced"]:
                yield f"{counterexample.name} is not reproduced: {again.stdout}{again.stderr}"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    path = pathlib.Path(sys.argv[2])
    verdict, detail = expectation(path)
    problems = list(problems_of(sys.argv[1], path, verdict, detail))
    for problem in problems:
        print(f"{path.name}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of `tilewright optimize` as a whole process.

usage: run_optimize.py BINARY kill TASK [COUNT]     kill -9 at COUNT instants, `--resume`: the same result as without
       run_optimize.py BINARY without TASK          every move that the run used is left out once: still proved
       run_optimize.py BINARY from TASK FILE        from a wrong program: mended, and proved in the end
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

BINARY = ""
# Of a whole run; a machine under load gets ten times what an idle one needs.
LIMIT_S = 240


def optimize(folder, *arguments):
    return [BINARY, "optimize", *arguments, f"--store={folder / 'store'}"]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)


def proof_of(folder):
    proof = json.loads((folder / "proof.json").read_text())
    return proof["verdict"], proof["scope"], [kernel["ir_hash"] for kernel in proof["kernels"]]


def check_kill(task, count):
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        begin = time.monotonic()
        done = run(optimize(root, task, "-o", str(root / "whole")))
        length = time.monotonic() - begin
        if done.returncode != 0:
            print(f"FAIL the uninterrupted run: exit code {done.returncode}\n{done.stderr[-2000:]}")
            return 0, 1
        wanted = proof_of(root / "whole")
        rng = random.Random(1)
        for i in range(count):
            folder = root / f"kill{i}"
            folder.mkdir()
            out = folder / "out"
            # Twice in one run: the second time while it resumes.
            delays = [rng.uniform(0.02, length), rng.uniform(0.02, length)]
            command = optimize(folder, task, "-o", str(out))
            for delay in delays:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(delay)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                # Killed before the run was on record: there is nothing to go on with.
                runs = json.loads(run([BINARY, "runs", "--format=json", f"--store={folder / 'store'}"]).stdout or "{}")
                known = runs.get("runs", [])
                if known and known[-1]["state"] == "done":
                    break
                command = optimize(folder, *(["--resume"] if known else [task]), "-o", str(out))
            if not (out / "proof.json").exists() or not known or known[-1]["state"] != "done":
                done = run(command)
                if done.returncode != 0:
                    print(f"FAIL killed after {delays}: the resumed run ends with {done.returncode}\n{done.stderr[-2000:]}")
                    failures += 1
                    continue
            found = proof_of(out)
            if found != wanted:
                print(f"FAIL killed after {delays}: {found} instead of {wanted}")
                failures += 1
    return count - failures, failures


def check_without(task):
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        done = run(optimize(root, task, "-o", str(root / "whole")))
        moves = sorted(set(re.findall(r"^move +(\w+)", done.stderr + done.stdout, re.M)))
        if not moves:
            print(f"FAIL no move in the run's output:\n{done.stderr[-2000:]}")
            return 0, 1
        for move in moves:
            out = root / move
            done = run(optimize(root, task, f"--without={move}", "-o", str(out)))
            verdict = proof_of(out)[:2] if (out / "proof.json").exists() else ("none", "")
            if done.returncode == 0 and verdict == ("proved", "full"):
                passed += 1
            else:
                print(f"FAIL without {move}: exit code {done.returncode}, {verdict}\n{done.stderr[-1500:]}")
                failed += 1
    return passed, failed


def check_from(task, program):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        done = run(optimize(root, task, f"--from={program}", "-o", str(root / "out")))
        verdict = proof_of(root / "out")[:2] if (root / "out" / "proof.json").exists() else ("none", "")
        if done.returncode == 0 and verdict == ("proved", "full") and "mended: " in done.stderr:
            return 1, 0
        print(f"FAIL exit code {done.returncode}, {verdict}\n{done.stderr[-2000:]}")
        return 0, 1


def main():
    global BINARY
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    BINARY = sys.argv[1]
    if sys.argv[2] == "kill":
        passed, failed = check_kill(sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 8)
    elif sys.argv[2] == "from":
        passed, failed = check_from(sys.argv[3], sys.argv[4])
    else:
        passed, failed = check_without(sys.argv[3])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

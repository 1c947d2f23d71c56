#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles what `emit` writes for every shipped kernel and looks at the registers.

usage: compile_kernels.py BINARY nvrtc|nvcc [WORD]     WORD: only kernels whose path contains it

All configurations for sm_80 and sm_90a. A kernel that says `no_spills` must not spill. Exit code 77: no compiler here.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("sm_80", "sm_90a")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def configurations(binary, kernel):
    found = json.loads(run([binary, "check", str(kernel), "--format=json"]).stdout)["files"][0]
    return [c["constants"] for c in found["configurations"]]


def spills_of(text):
    return [int(n) for n in re.findall(r"(\d+) bytes spill", text)]


def compile_with_nvrtc(emit, folder):
    done = run([*emit, "--to=cubin", f"--output={folder / 'k.cubin'}", "--format=json"])
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr.strip()[-600:]}", None
    resources = json.loads(done.stdout)["resources"]
    if not resources:
        return "the compiler reported no resources", None
    return None, sum(r["spill_store_bytes"] + r["spill_load_bytes"] for r in resources)


def compile_with_nvcc(emit, folder, nvcc, target):
    done = run([*emit, f"--output={folder / 'k.cu'}"])
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr.strip()[-600:]}", None
    done = run([nvcc, "-cubin", f"-arch={target}", "-Xptxas=-v", "-Werror=all-warnings", "-o", str(folder / "k.cubin"),
                str(folder / "k.cu")])
    if done.returncode != 0:
        return done.stderr.strip()[-600:], None
    return None, sum(spills_of(done.stderr))


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("nvrtc", "nvcc"):
        print(__doc__, file=sys.stderr)
        return 2
    binary, compiler = sys.argv[1:3]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if compiler == "nvcc" and not os.access(nvcc, os.X_OK):
        print("skipped: no nvcc")
        return 77
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kernel in sorted((ROOT / "kernels").glob("*/*.tw.py")):
            if len(sys.argv) > 3 and sys.argv[3] not in str(kernel):
                continue
            no_spills = "no_spills=True" in kernel.read_text()
            for constants in configurations(binary, kernel):
                for target in TARGETS:
                    emit = [binary, "emit", str(kernel), f"--target={target}",
                            *(f"--param={k}={v}" for k, v in constants.items())]
                    if compiler == "nvrtc":
                        problem, spills = compile_with_nvrtc(emit, folder)
                    else:
                        problem, spills = compile_with_nvcc(emit, folder, nvcc, target)
                    if problem is None and no_spills and spills > 0:
                        problem = f"{spills} bytes of registers spill"
                    if problem is None:
                        passed += 1
                    else:
                        failed += 1
                        print(f"FAIL {kernel.relative_to(ROOT)} {constants} {target}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

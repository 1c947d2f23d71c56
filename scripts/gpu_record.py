#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shipped kernels on this machine's GPU against their tasks and writes a `tw.bench/1` record.

usage: gpu_record.py --binary=build/release/tilewright --out=bench/results/DATE-kernels-CARD.json [--only=WORD] [--target=sm_90a]

Each case is one process: `tilewright run KERNEL --on=gpu --task=TASK`. A kernel that fails is a row with its verdict and
without a time.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Kernel -> task that judges it.
CASES = {
    "gemm/naive": "gemm_bf16",
    "gemm/tiled_fma": "gemm_bf16",
    "gemm/mma": "gemm_bf16",
    "gemm/mma_nn": "gemm_bf16_nn",
    "gemm/mma_tn": "gemm_bf16_tn",
    "gemm/mma_tt": "gemm_bf16_tt",
    "gemm/pipelined": "gemm_bf16",
    "gemm/pipelined_nn": "gemm_bf16_nn",
    "gemm/pipelined_tn": "gemm_bf16_tn",
    "gemm/pipelined_tt": "gemm_bf16_tt",
    "gemm/ampere": "gemm_bf16",
    "gemm/ampere_prefetch": "gemm_bf16",
    "gemm/f16_pipelined": "gemm_f16",
    "gemm/tf32_mma": "gemm_tf32",
    "gemm/tf32_pipelined": "gemm_tf32",
    "gemm/bias_gelu": "gemm_bf16_bias_gelu",
    "gemm/bias_gelu_any": "gemm_bf16_bias_gelu",
    "gemm/bias_relu": "gemm_bf16_bias_relu",
    "gemm/bias_relu_any": "gemm_bf16_bias_relu",
    "softmax/row": "softmax",
    "softmax/long": "softmax",
    "layernorm/row": "layernorm",
    "layernorm/long": "layernorm",
    "rmsnorm/row": "rmsnorm",
    "rmsnorm/long": "rmsnorm",
    "gelu/elementwise": "gelu",
    "gelu/vector": "gelu",
    "sum_rows/row": "sum_rows",
    "sum_rows/vector": "sum_rows",
}

# The configuration to run where the default one does not admit the task's headline shape.
PARAMETERS = {kernel: ["BR=1", "C=4096"] for kernel in ("softmax/row", "layernorm/row", "rmsnorm/row")}


def run_case(binary, kernel, task, target):
    command = [binary, "run", str(ROOT / "kernels" / f"{kernel}.tw.py"), "--on=gpu",
               f"--task={ROOT / 'tasks' / (task + '.toml')}", f"--target={target}", "--format=json",
               *(f"--param={p}" for p in PARAMETERS.get(kernel, []))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        return {"name": kernel, "verdict": "HANG"}, "timed out"
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"name": kernel, "verdict": "NOT_RUN", "reason": done.stderr.strip()[:300]}, done.stderr.strip()[:200]
    status = found["evaluation"]["status"]
    case = {"name": kernel, "parameters": PARAMETERS.get(kernel, []), "task": task, "ir_hash": found["ir_hash"], "verdict": status, "device": found["device"]}
    if status == "correct":
        case["worst_error_ratio"] = found["evaluation"]["worst_ratio"]
    timing = found.get("timing")
    if timing:
        case.update(shape=found["shape"], ms=timing["ms"], ms_low=timing["ms_low"], ms_high=timing["ms_high"])
        case["tflop_per_s"] = found["operations"] / timing["ms"] * 1e-9
        case["tb_per_s"] = found["least_bytes"] / timing["ms"] * 1e-9
        peers = {}
        if "cublas" in found:
            peers["cublas"] = found["cublas"]
            case["ratio_best_peer"] = found["cublas"]["ms"] / timing["ms"]
        if "copy" in found:
            peers["copy"] = found["copy"]
            case["ratio_copy"] = found["copy"]["ms"] / timing["ms"]
        case["peers"] = peers
    return case, json.dumps(found["evaluation"])[:300]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build/release/tilewright"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--target", default="sm_90a")
    options = parser.parse_args()
    cases = []
    for kernel, task in CASES.items():
        if options.only not in kernel:
            continue
        case, detail = run_case(options.binary, kernel, task, options.target)
        cases.append(case)
        line = f"{case['verdict']:<12} {kernel:<22}"
        if "ms" in case:
            line += f" {case['ms']:9.4f} ms {case['tflop_per_s']:7.1f} TFLOP/s {case['tb_per_s']:6.2f} TB/s"
            line += f"  {case['ratio_best_peer']:.3f} of cuBLAS" if "ratio_best_peer" in case else ""
            line += f"  {case['ratio_copy']:.3f} of a copy" if "ratio_copy" in case else ""
        else:
            line += " " + detail
        print(line, flush=True)
    device = next((c["device"] for c in cases if "device" in c), "none")
    version = subprocess.run([options.binary, "--version"], capture_output=True, text=True).stdout.strip()
    record = {
        "schema": "tw.bench/1",
        "date": datetime.date.today().isoformat(),
        "machine": {"gpu": device},
        "versions": {"tilewright": version},
        "command": "scripts/gpu_record.py --target=" + options.target,
        "isolation": "none",
        "cases": cases,
    }
    pathlib.Path(options.out).write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(c["verdict"] == "correct" for c in cases) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Emits the kernel, compiles it with the host program and says how to run it. Needs nvcc.
#   examples/host/build.sh [OUT-FOLDER] [TARGET]      default: build/examples/host, sm_90a
#   TILEWRIGHT: the binary, default build/release/tilewright
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
out="${1:-$root/build/examples/host}"
target="${2:-sm_90a}"
mkdir -p "$out"
"${TILEWRIGHT:-$root/build/release/tilewright}" emit "$root/kernels/gemm/ampere_prefetch.tw.py" --target="$target" \
  --output="$out/gemm_ampere_prefetch.cu"
nvcc -O2 -std=c++17 -arch="$target" -o "$out/gemm_host" "$root/examples/host/main.cpp" "$out/gemm_ampere_prefetch.cu"
echo "run: $out/gemm_host 1000 2040 520"

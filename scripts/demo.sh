#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the program (no tests) and lets it work on a real bf16 matrix product.
#   scripts/demo.sh [OUTPUT-FOLDER]        default: a new folder below build/demo/
# Needs no GPU, key or CUDA toolkit. As root, or as a user with sudo.
set -euo pipefail
start_folder="$PWD"
cd "$(dirname "$0")/.."
say() { echo "[demo] $*"; }
started=$SECONDS

if [ $# -gt 1 ]; then
  echo "usage: scripts/demo.sh [OUTPUT-FOLDER]" >&2
  exit 2
fi
if [ $# -eq 1 ]; then
  case "$1" in
    /*) out="$1" ;;
    *) out="$start_folder/$1" ;;
  esac
else
  out="build/demo/$(date +%Y%m%d-%H%M%S)"
  number=1
  while [ -e "$out" ]; do
    number=$((number + 1))
    out="build/demo/$(date +%Y%m%d-%H%M%S)-$number"
  done
fi

scripts/setup.sh
if [ ! -f build/release/build.ninja ]; then
  say "configure build/release"
  cmake --preset release -DTW_BUILD_TESTS=OFF >build/demo-configure.log || {
    cat build/demo-configure.log >&2
    exit 4
  }
fi
say "build build/release/tilewright"
cmake --build --preset release --target tilewright
program=build/release/tilewright
say "set up and built after $((SECONDS - started)) s"

mkdir -p "$out"
echo "+ $program optimize tasks/gemm_bf16.toml -o $out"
"$program" optimize tasks/gemm_bf16.toml -o "$out"
say "done after $((SECONDS - started)) s; the results are in $out"

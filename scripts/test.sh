#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs the tests: the quick ones under AddressSanitizer and UBSan, then
# all but the slow ones in the release build (with the repository checks: layers, codes, format, names).
#   scripts/test.sh [CTEST-OPTION...]      the options go to the release run
set -euo pipefail
cd "$(dirname "$0")/.."
say() { echo "[test] $*"; }
started=$SECONDS
jobs="$(nproc)"

scripts/setup.sh --tests
for preset in asan release; do
  say "configure and build build/$preset"
  cmake --preset "$preset" -DTW_BUILD_TESTS=ON >"build/test-configure-$preset.log" || {
    cat "build/test-configure-$preset.log" >&2
    exit 4
  }
  cmake --build --preset "$preset"
  say "build/$preset built after $((SECONDS - started)) s"
done
say "quick tests under ASan and UBSan"
ctest --preset asan -L quick -j "$jobs" --output-on-failure --progress
say "all but slow tests, release build (after $((SECONDS - started)) s)"
ctest --preset release -LE slow -j "$jobs" --output-on-failure --progress "$@"

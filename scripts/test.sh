#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs the tests: the quick ones under AddressSanitizer and UBSan, then
# all but the slow ones in the release build (with the repository checks: layers, codes, format, names).
#   scripts/test.sh [CTEST-OPTION...]      the options go to the release run
# Tests named in tests/known_failures.txt run too and must fail: one that passes ends the run until its line is removed.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { echo "[test] $*"; }
started=$SECONDS
jobs="$(nproc)"
# One regular expression of all known failures; never empty, so that -E excludes nothing by accident.
known="$({ echo '^$'; awk '!/^#/ && NF {print $1}' tests/known_failures.txt; } | paste -sd '|')"

scripts/setup.sh --tests
for preset in ${TW_TEST_PRESETS:-asan release}; do
  say "configure and build build/$preset"
  cmake --preset "$preset" -DTW_BUILD_TESTS=ON >"build/test-configure-$preset.log" || {
    cat "build/test-configure-$preset.log" >&2
    exit 4
  }
  cmake --build --preset "$preset"
  say "build/$preset built after $((SECONDS - started)) s"
done
if [ -z "${TW_TEST_PRESETS:-}" ]; then
  say "quick tests under ASan and UBSan"
  ctest --preset asan -L quick -E "$known" -j "$jobs" --output-on-failure --progress
fi
say "known failures (tests/known_failures.txt): each must still fail"
ctest --preset release -LE slow -R "$known" -j "$jobs" -N | { grep -E 'Test +#' || true; } | sed -E 's/.*Test +#[0-9]+: //; s/ +# GetParam.*//' |
  while read -r name; do
    if ctest --preset release -R "^${name}" >/dev/null 2>&1; then
      echo "[test] '$name' passes: remove it from tests/known_failures.txt" >&2
      exit 1
    fi
    say "fails as known: $name"
  done
say "all but slow tests, release build (after $((SECONDS - started)) s)"
ctest --preset release -LE slow -E "$known" -j "$jobs" --output-on-failure --progress "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that is too slow for the gate. Run before an issue is called resolved.
#   scripts/slow.sh [--minutes=N] [SUITE...]     N: time for each fuzzer (default 30); no suite named: all of them
#   scripts/slow.sh --list
# To add a suite: one line in `suites` and one function `suite_NAME` that fails when something is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

suites=(
  "tests      ctest entries labelled slow (agreement with CuTe, large programs), release build"
  "mutants    every mutant of the shipped kernels that is wrong on the emulator is refuted"
  "tsan       tests of the rooms with threads or processes under ThreadSanitizer"
  "tidy       clang-tidy over the whole tree"
  "fuzz       each fuzzer for --minutes under ASan and UBSan"
)

minutes=30
chosen=()
for argument in "$@"; do
  case "$argument" in
    --minutes=*) minutes="${argument#*=}" ;;
    --list) printf '%s\n' "${suites[@]}"; exit 0 ;;
    -*) echo "slow.sh: what is '$argument'? (--minutes=N, --list)" >&2; exit 2 ;;
    *) chosen+=("$argument") ;;
  esac
done
if [ ${#chosen[@]} -eq 0 ]; then
  for suite in "${suites[@]}"; do
    chosen+=("${suite%% *}")
  done
fi
for suite in "${chosen[@]}"; do
  if ! declare -p suites | grep -q "\"$suite "; then
    echo "slow.sh: no suite '$suite'; --list shows them" >&2
    exit 2
  fi
done

say() { echo "[slow] $*"; }
jobs="$(nproc)"

build() {
  cmake --preset "$1" "${@:2}" >"build/slow-configure-$1.log" || {
    cat "build/slow-configure-$1.log" >&2
    return 1
  }
  cmake --build --preset "$1"
}

suite_tests() {
  build release -DTW_BUILD_TESTS=ON
  ctest --preset release -L slow -j "$jobs" --output-on-failure --no-tests=error
}

suite_mutants() {
  cmake --preset release >/dev/null
  cmake --build --preset release --target tilewright
  build/release/tilewright bench mutants --format=json >build/mutants.json
  python3 - build/mutants.json <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
print({key: value for key, value in result.items() if key != "by_operator"})
wrong = []
if result["mutants"] < 200:
    wrong.append("fewer than 200 mutants")
if len(result["by_operator"]) < 20:
    wrong.append("fewer than 20 operators")
if 2 * result["emulator_wrong"] < result["mutants"] - result["not_built"]:
    wrong.append("less than half of the mutants are wrong on the emulator")
if result["missed"] or result["false_alarms"]:
    wrong.append("missed mutants or false alarms")
if result["replayed"] != result["refuted"]:
    wrong.append("refutations that were not replayed")
sys.exit("; ".join(wrong) or 0)
PY
}

suite_tsan() {
  build tsan -DTW_BUILD_TESTS=ON
  ctest --preset tsan -R '^(Process|Files|Runner|Store|Agent|Loop|Executor|Worker|Cache)' -j "$jobs" --output-on-failure \
    --no-tests=error
}

suite_tidy() {
  scripts/check_style.sh --all --deep
}

suite_fuzz() {
  scripts/setup.sh --slow
  build fuzz
  local fuzzer found=0
  for fuzzer in build/fuzz/bin/fuzz/tw_*_fuzz; do
    [ -x "$fuzzer" ] || continue
    found=1
    local name folder
    name="$(basename "$fuzzer")"
    mkdir -p "build/fuzz/corpus/$name" build/fuzz/crashes
    local seeds=()
    while read -r folder; do
      [ -d "$folder" ] && seeds+=("$folder")
    done <"$fuzzer.corpus"
    say "$name for $minutes minutes"
    # A crash is kept as a file whose name the fuzzer prints; run the fuzzer on it to see it again.
    "$fuzzer" -max_total_time=$((minutes * 60)) -timeout=25 -rss_limit_mb=4096 -fork="$jobs" -ignore_crashes=0 \
      -artifact_prefix=build/fuzz/crashes/ "build/fuzz/corpus/$name" "${seeds[@]}"
  done
  [ "$found" = 1 ] || { echo "no fuzzers were built" >&2; return 1; }
}

scripts/setup.sh --tests
failed=()
passed=0
for suite in "${chosen[@]}"; do
  say "=== $suite"
  started=$SECONDS
  # Not as the condition of an `if`: there `set -e` would not hold inside the function.
  set +e
  (set -e; "suite_$suite")
  status=$?
  set -e
  if [ "$status" -eq 0 ]; then
    passed=$((passed + 1))
    say "=== $suite passed after $((SECONDS - started)) s"
  else
    failed+=("$suite")
    say "=== $suite FAILED after $((SECONDS - started)) s; again: scripts/slow.sh $suite"
  fi
done
echo "$passed passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format (clang-format 19) and names (clang-tidy 19), after making sure that the naming rules fire at all.
#   scripts/check_style.sh format          every tracked C++ file
#   scripts/check_style.sh fix             formats them
#   scripts/check_style.sh names [BASE]    files changed since BASE (default: where the branch left origin/main, else the
#                                          last commit)
#   scripts/check_style.sh --all [--deep]  both, whole tree; --deep with every check of .clang-tidy instead of names only
# Without arguments: `format` and `names`.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files 'src/*.h' 'src/*.cpp' 'tools/*.h' 'tools/*.cpp' 'tests/*.cpp' 'tests/*.h' |
  grep -v -e '^tests/lint/fixtures/' -e '^tests/file/')

check_format() {
  clang-format-19 --dry-run -Werror "${sources[@]}"
  echo "check_style: ${#sources[@]} files are formatted"
}

naming=(clang-tidy-19 --quiet --extra-arg=-Wno-deprecated-declarations '--checks=-*,readability-identifier-naming')

# A configuration that is silently off accepts everything: each rule must object to its line of the fixture.
check_rules_fire() {
  local fixture=tests/lint/fixtures/misnamed.cpp output name missing=0
  output="$("${naming[@]}" "$fixture" -- -std=c++20 2>/dev/null || true)"
  while read -r name; do
    if ! grep -q "'$name'" <<<"$output"; then
      echo "check_style: no rule objects to '$name' of $fixture" >&2
      missing=1
    fi
  done < <(grep -oE '\b(Bad|bad_|BAD_|private_member)\w+' "$fixture" | sort -u)
  [ "$missing" -eq 0 ]
}

tidy() {
  local -a files=()
  local file
  for file in "$@"; do
    [[ "$file" == *.cpp && -f "$file" ]] && files+=("$file")
  done
  if [ ${#files[@]} -eq 0 ]; then
    echo "check_style: no changed C++ sources"
    return
  fi
  # Only the compile commands are needed.
  mkdir -p build
  cmake --preset dev >build/check-style-configure.log
  printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" "${command[@]}" -p build/dev
  echo "check_style: ${#files[@]} files follow the naming rules"
}

command=("${naming[@]}")
mode="${1:-both}"
case "$mode" in
  format) check_format ;;
  fix) clang-format-19 -i "${sources[@]}" ;;
  names | both)
    [ "$mode" = both ] && check_format
    check_rules_fire
    base="${2:-$(git merge-base HEAD origin/main 2>/dev/null || true)}"
    if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
      base="$(git rev-parse -q --verify HEAD~1 || true)"
    fi
    if [ -n "$base" ]; then
      mapfile -t changed < <(git diff --name-only "$base" -- src tools tests |
        grep -v -e '^tests/lint/fixtures/' -e '^tests/file/' || true)
    else
      changed=("${sources[@]}")
    fi
    tidy "${changed[@]}"
    ;;
  --all)
    [ "${2:-}" = --deep ] && command=(clang-tidy-19 --quiet)
    check_format
    check_rules_fire
    tidy "${sources[@]}"
    ;;
  *)
    echo "check_style.sh: what is '$mode'? (format, fix, names [BASE], --all [--deep])" >&2
    exit 2
    ;;
esac

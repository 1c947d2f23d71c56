#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the relocatable folder: program, its libraries, kernels, tasks, knowledge, explanations of the codes.
#   scripts/release.sh [FOLDER]            default: build/tilewright
# It runs unpacked anywhere with a C library at least as new as the one it was built with.
set -euo pipefail
start_folder="$PWD"
cd "$(dirname "$0")/.."
root="$PWD"
out="${1:-$root/build/tilewright}"
case "$out" in
  /*) ;;
  *) out="$start_folder/$out" ;;
esac
scripts/setup.sh
cmake --preset release >build/release-configure.log
cmake --build --preset release --target tilewright
rm -rf "$out.new"
cmake --install build/release --prefix "$out.new" --strip >build/release-install.log
strip --strip-unneeded "$out.new"/lib/*.so.*.* 2>/dev/null || true
rm -rf "$out"
mv "$out.new" "$out"

# The program must find everything inside the folder, wherever that is.
elsewhere="$(mktemp -d)"
trap 'rm -rf "$elsewhere"' EXIT
cp -a "$out" "$elsewhere/moved"
libraries="$(env -i ldd "$elsewhere/moved/bin/tilewright")"
foreign="$(grep -F "$root" <<<"$libraries" || true)"
if [ -n "$foreign" ]; then
  echo "release.sh: the program reaches back into the source tree: $foreign" >&2
  exit 1
fi
(cd / && env -i HOME="$elsewhere" "$elsewhere/moved/bin/tilewright" --version)
size_mb=$(($(du -sk "$out" | cut -f1) / 1024))
echo "[release] $out: $size_mb MB"
if [ "$size_mb" -ge 40 ]; then
  echo "release.sh: larger than 40 MB" >&2
  exit 1
fi

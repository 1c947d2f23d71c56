#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what building and running tilewright needs and is missing. Called by demo.sh, test.sh and slow.sh.
#   scripts/setup.sh            compiler, libraries, pinned Z3 and NVRTC: enough for the program
#   scripts/setup.sh --tests    also the test libraries, clang-format, clang-tidy, CuTe's headers
#   scripts/setup.sh --slow     also clang with its fuzzing run-time library
# System packages come from apt (as root or by sudo); Python packages are unpacked below build/deps, never installed for
# the system. Does nothing on the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

with_tests=false
with_slow=false
for argument in "$@"; do
  case "$argument" in
    --tests) with_tests=true ;;
    --slow) with_tests=true with_slow=true ;;
    *) echo "setup.sh: what is '$argument'? (--tests, --slow)" >&2; exit 2 ;;
  esac
done

say() { echo "[setup] $*"; }

packages=(
  ca-certificates
  ccache
  cmake
  g++
  libcli11-dev
  libfmt-dev
  libsqlite3-dev
  libtomlplusplus-dev
  mold
  ninja-build
  nlohmann-json3-dev
  python3
  python3-venv
)
test_packages=(
  clang-format-19
  clang-tidy-19
  libbenchmark-dev
  libgmock-dev
  libgtest-dev
)
slow_packages=(
  clang-19
  libclang-rt-19-dev
)
$with_tests && packages+=("${test_packages[@]}")
$with_slow && packages+=("${slow_packages[@]}")

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() {
  local missing=()
  local package
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup.sh: missing packages and no right to install them; as root:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 4
    fi
    as_root=(sudo)
  fi
  say "apt-get update, then install ${missing[*]}"
  "${as_root[@]}" apt-get -q=2 update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q=2 -o Dpkg::Use-Pty=0 install -y \
    --no-install-recommends "${missing[@]}" >build/setup-apt.log 2>&1 || {
    tail -n 20 build/setup-apt.log >&2
    echo "setup.sh: apt-get install failed; the whole log is in build/setup-apt.log" >&2
    exit 4
  }
}

# Downloads the wheel of exactly this version and unpacks it: unpack_wheel STAMP REQUIREMENT TARGET
unpack_wheel() {
  local stamp="build/deps/.stamp-$1" requirement="$2" target="$3"
  if [ "$(cat "$stamp" 2>/dev/null)" = "$requirement" ]; then
    return
  fi
  if [ ! -x build/venv/bin/pip ]; then
    say "Python environment in build/venv (used for downloading only)"
    python3 -m venv build/venv
  fi
  say "download $requirement"
  local wheels
  wheels="$(mktemp -d build/wheels.XXXXXX)"
  local attempt
  for attempt in 1 2 3; do
    if build/venv/bin/pip -q --disable-pip-version-check download --no-deps --only-binary :all: -d "$wheels" "$requirement"; then
      break
    elif [ "$attempt" = 3 ]; then
      rm -rf "$wheels"
      echo "setup.sh: cannot download $requirement" >&2
      exit 4
    fi
    sleep 5
  done
  mkdir -p "$target"
  build/venv/bin/python -m zipfile -e "$wheels"/*.whl "$target"
  rm -rf "$wheels"
  echo "$requirement" >"$stamp"
}

mkdir -p build/deps
if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_packages
else
  say "not a Debian-like system; the following must be there already: ${packages[*]}"
fi

if [ ! -e build/deps/z3/lib/libz3.so ]; then
  rm -f build/deps/.stamp-z3
fi
unpack_wheel z3 'z3-solver==4.13.4.0' build/deps/z3.wheel
if [ -d build/deps/z3.wheel ]; then
  # The wheel holds the library twice; one copy under the name that it calls itself, and a link for the linker.
  rm -rf build/deps/z3
  mkdir -p build/deps/z3/lib
  mv build/deps/z3.wheel/z3/include build/deps/z3/
  mv build/deps/z3.wheel/z3/lib/libz3.so.* build/deps/z3/lib/
  (cd build/deps/z3/lib && ln -s libz3.so.* libz3.so)
  rm -rf build/deps/z3.wheel
fi
# Unpacks to build/deps/nvidia/cu13/lib. The line of the driver that the kernels are to be loaded by.
unpack_wheel nvrtc 'nvidia-cuda-nvrtc==13.0.*' build/deps
if $with_tests; then
  for package in nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl; do
    unpack_wheel "${package#nvidia-cuda-}" "$package==13.0.*" build/deps
  done
  unpack_wheel cutlass 'nvidia-cutlass==4.2.0.0' build/deps/cutlass
fi
say "ready"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds examples/host into the given folder; 77: there is no nvcc.
set -euo pipefail
if [ ! -x "${TW_NVCC:-}" ]; then
  echo "skipped: no nvcc"
  exit 77
fi
PATH="$(dirname "$TW_NVCC"):$PATH" exec "$(dirname "$0")/../../examples/host/build.sh" "$1"

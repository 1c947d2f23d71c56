// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolchain/dynamic_library.h"

namespace tw::toolchain {

// One of NVIDIA's libraries that are opened at run time.
struct LibraryRequest {
  // "NVRTC, NVIDIA's run-time compiler": begins the message when it is not found.
  std::string description;
  // Names the library or the folder that holds it; when set, nothing else is tried.
  std::string variable;
  // File names, the preferred one first: "libnvrtc.so.13".
  std::vector<std::string> names;
};

// Where it may be, in order: the variable; the package folder `nvidia/cu13/lib` beside the program, above it or under
// `deps` there; a CUDA toolkit ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda); the loader's search path.
std::vector<std::string> library_candidates(const LibraryRequest& request);

// Nothing when the candidate is worth opening; else why not, empty where a missing file is no news.
std::optional<std::string> explain_missing(const LibraryRequest& request, const std::string& candidate);

// The first candidate that can be opened and that `accept` takes. The error says what was there and why it was not
// used.
template <class Accept>
auto find_library(const LibraryRequest& request, Accept accept) -> decltype(accept(std::string())) {
  Error error{request.description + " was not found", {}};
  for (const std::string& candidate : library_candidates(request)) {
    if (auto missing = explain_missing(request, candidate)) {
      if (!missing->empty()) {
        error.causes.push_back(*std::move(missing));
      }
      continue;
    }
    auto accepted = accept(candidate);
    if (accepted) {
      return accepted;
    }
    error.causes.push_back(accepted.error().message);
  }
  return fail(std::move(error));
}

}  // namespace tw::toolchain

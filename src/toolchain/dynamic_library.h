// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace tw::toolchain {

// A shared library opened at run time, so that one binary works on machines with and without it.
// Never closed: NVRTC and the CUDA driver keep threads and exit handlers of their own.
class DynamicLibrary {
 public:
  // `name` is a path, or a bare name for the loader's own search. Symbols stay local to the library.
  static Result<DynamicLibrary> open(const std::string& name);

  // The file that was really loaded.
  [[nodiscard]] const std::string& path() const { return path_; }
  // nullptr when the library has no such symbol.
  [[nodiscard]] void* find(const char* symbol) const;

  // Fills a function pointer; the error names library and symbol.
  template <class Function>
  Status bind(const char* symbol, Function*& function) const {
    void* address = find(symbol);
    if (address == nullptr) {
      return fail("`" + path_ + "` has no function `" + symbol + "`");
    }
    function = reinterpret_cast<Function*>(address);
    return {};
  }

 private:
  DynamicLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

// The identity that the linker wrote into an ELF file (GNU build id, hexadecimal), else one made of its size and
// time of change: two versions of one library never share an identity.
Result<std::string> file_identity(const std::string& path);

}  // namespace tw::toolchain

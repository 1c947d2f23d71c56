// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw::toolchain {

enum class MessageSeverity : uint8_t { Error, Warning, Info };

// One complaint of the CUDA front end or of ptxas, about the source that was handed to it.
struct CompilerMessage {
  MessageSeverity severity = MessageSeverity::Error;
  // "frontend" (NVRTC, cudafe++), "ptxas" or "driver" (options, memory).
  std::string stage;
  // 1-based; 0 when the compiler did not say. `column` counts bytes.
  int32_t line = 0;
  int32_t column = 0;
  // Line of the intermediate PTX when ptxas complains; 0 otherwise.
  int32_t ptx_line = 0;
  // The compiler's own number ("177-D", "C7510"), if any.
  std::string number;
  std::string text;
  friend bool operator==(const CompilerMessage&, const CompilerMessage&) = default;
};

// Reads the log of NVRTC or nvcc. The resource lines of `ptxas -v` are no messages (resources.h reads them).
std::vector<CompilerMessage> parse_compiler_log(std::string_view log);

// Errors before everything else, otherwise in the order found.
std::vector<CompilerMessage> errors_first(std::vector<CompilerMessage> messages);

// Fills `line` and `column` of ptxas messages from the `.loc` directives of the PTX that was compiled.
// Only locations in the first file of the PTX count.
void locate_ptxas_messages(std::vector<CompilerMessage>& messages, std::string_view ptx);

}  // namespace tw::toolchain

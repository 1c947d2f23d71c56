// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tw {

// FNV-1a over length-framed fields: for fingerprints inside one process or record, not against an adversary.
class Hasher {
 public:
  void add(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      add_byte(static_cast<uint8_t>(value >> shift));
    }
  }
  void add(std::string_view text) {
    add(uint64_t{text.size()});
    for (char c : text) {
      add_byte(static_cast<uint8_t>(c));
    }
  }
  [[nodiscard]] uint64_t value() const { return state_; }

 private:
  void add_byte(uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace tw

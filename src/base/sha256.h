// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tw {

// SHA-256 (FIPS 180-4), byte by byte as it comes. The name of stored content and the key of caches.
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  void update(std::string_view bytes);
  // The object must not be used afterwards.
  Digest finish();

 private:
  void compress(const uint8_t* block);
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> buffer_{};
  size_t buffered_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

// Lower-case hexadecimal.
std::string sha256_hex(std::string_view bytes);

// A cache key from several fields. Each is framed by its length, so that ("ab", "c") and ("a", "bc") differ.
class ContentKey {
 public:
  ContentKey& add(std::string_view field);
  ContentKey& add(uint64_t field);
  // Lower-case hexadecimal; the object must not be used afterwards.
  std::string finish();

 private:
  Sha256 hash_;
};

}  // namespace tw

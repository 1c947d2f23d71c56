// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace tw::emulator {

// An array of which only the touched pages exist, so that a few blocks of a huge problem fit in little memory.
// `fill(first index, count, out)` makes a page on its first touch; without it pages start as T{}.
template <class T>
class Paged {
 public:
  static constexpr uint64_t kPageElements = 4096;
  using Fill = std::function<void(uint64_t first, uint64_t count, T* out)>;

  Paged() = default;
  explicit Paged(Fill fill) : fill_(std::move(fill)) {}

  // The element, its page made if needed; the page holds kPageElements from a multiple of it on.
  T& at(uint64_t index) { return page(index / kPageElements)[index % kPageElements]; }
  // nullptr when the page was never touched.
  [[nodiscard]] const T* find(uint64_t index) const {
    auto found = pages_.find(index / kPageElements);
    return found == pages_.end() ? nullptr : &found->second[index % kPageElements];
  }

  T* page(uint64_t number) {
    if (number == last_number_) {
      return last_page_;
    }
    std::unique_ptr<T[]>& slot = pages_[number];
    if (!slot) {
      slot = std::make_unique<T[]>(kPageElements);
      if (fill_) {
        fill_(number * kPageElements, kPageElements, slot.get());
      }
    }
    last_number_ = number;
    last_page_ = slot.get();
    return last_page_;
  }

  void read(uint64_t index, uint64_t count, T* out) {
    while (count > 0) {
      const uint64_t within = index % kPageElements;
      const uint64_t run = count < kPageElements - within ? count : kPageElements - within;
      std::memcpy(out, page(index / kPageElements) + within, run * sizeof(T));
      index += run;
      count -= run;
      out += run;
    }
  }
  void write(uint64_t index, uint64_t count, const T* in) {
    while (count > 0) {
      const uint64_t within = index % kPageElements;
      const uint64_t run = count < kPageElements - within ? count : kPageElements - within;
      std::memcpy(page(index / kPageElements) + within, in, run * sizeof(T));
      index += run;
      count -= run;
      in += run;
    }
  }

  // Calls visit(first index, page) for every touched page, in no particular order.
  template <class Visit>
  void for_each_page(Visit visit) const {
    for (const auto& [number, page] : pages_) {
      visit(number * kPageElements, page.get());
    }
  }

 private:
  Fill fill_;
  std::unordered_map<uint64_t, std::unique_ptr<T[]>> pages_;
  uint64_t last_number_ = UINT64_MAX;
  T* last_page_ = nullptr;
};

}  // namespace tw::emulator

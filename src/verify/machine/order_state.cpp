// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/order_state.h"

#include <algorithm>

namespace tw::verify {
namespace {

void put(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

std::string OrderState::key() const {
  std::string key;
  key.reserve(64 + 24 * (pending.size() + 2 * contents.size()));
  put(key, static_cast<int64_t>(atoms.size()));
  for (const AtomClass& a : atoms) {
    put(key, a.atom.index);
    put(key, a.count.value);
    put(key, a.residue);
  }
  put(key, static_cast<int64_t>(loops.size()));
  for (const LoopState& l : loops) {
    put(key, l.iteration.value);
    put(key, l.residue);
    put(key, l.left.value);
  }
  // Pending accesses are a set.
  std::vector<std::string> items;
  for (const Pending& p : pending) {
    std::string item;
    put(item, p.map);
    put(item, p.slot);
    put(item, static_cast<int64_t>(p.phase) * 2 + (p.warp_synced ? 1 : 0));
    put(item, p.age);
    items.push_back(std::move(item));
  }
  std::ranges::sort(items);
  put(key, static_cast<int64_t>(items.size()));
  for (const std::string& item : items) {
    key += item;
  }
  items.clear();
  for (const Content& c : contents) {
    std::string item;
    put(item, c.object.index);
    put(item, c.slot);
    for (size_t axis = 0; axis < c.lo.size(); ++axis) {
      put(item, c.lo[axis]);
      put(item, c.hi[axis]);
    }
    put(item, static_cast<int64_t>(c.version.base));
    put(item, c.version.of);
    put(item, c.version.offset);
    items.push_back(std::move(item));
  }
  std::ranges::sort(items);
  for (const std::string& item : items) {
    key += item;
  }
  for (const auto& [condition, truth] : facts) {
    put(key, condition.index);
    put(key, truth ? 1 : 0);
  }
  return key;
}

}  // namespace tw::verify

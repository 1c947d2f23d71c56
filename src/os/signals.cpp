// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <atomic>
#include <signal.h>
#include <unistd.h>

namespace tw::os {
namespace {

constexpr int kExitInterrupted = 130;
std::atomic<int> interrupts = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void on_interrupt(int /*signal*/) {
  if (interrupts.fetch_add(1) > 0) {
    _exit(kExitInterrupted);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a wait for a child or for input must return and look at the flag.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupt_requested() {
  return interrupts.load() > 0;
}
void request_interrupt() {
  interrupts.store(1);
}
void clear_interrupt() {
  interrupts.store(0);
}

}  // namespace tw::os

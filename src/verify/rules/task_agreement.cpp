// SPDX-License-Identifier: Apache-2.0

// Rule        task-disagreement (obligation 9)
// Scope       every output that a task states a computation for
// Invariant   the element that the kernel writes is the task's term at that element, up to reassociation
// Criterion   the reading's term, rewritten over the task's operands, has the task term's normal form
// Valid near  a product accumulated over slices of k where the task has one sum
// Diagnostic  TW3050
#include "verify/context.h"

namespace tw::verify {

void check_task(Context& context) {
  if (context.options.task == nullptr) {
    return;
  }
  Obligation& obligation = context.add("task", "the outputs are the task's", context.lowered.span);
  give_up(obligation, "agreement with a task is not decided by this version");
}

}  // namespace tw::verify

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tw::os {

// From now on SIGINT and SIGTERM only set a flag, so that the step under way can be recorded; a second one within the
// same run ends the process at once.
void catch_interrupts();
bool interrupt_requested();
// As if the signal had come; for tests and for stopping from within.
void request_interrupt();
void clear_interrupt();

}  // namespace tw::os

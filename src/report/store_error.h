// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "diag/sink.h"
#include "store/store.h"

namespace tw::report {

// What went wrong with the store at `folder`, as the diagnostic that commands print.
diag::Reported report_store_error(const store::StoreError& error, std::string_view folder, diag::Sink& sink);

}  // namespace tw::report

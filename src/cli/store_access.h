// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/options.h"
#include "store/store.h"

namespace tw::cli {

void print_store_error(const store::StoreError& error, const Options& options);

// The store of --store or the default one; failures are printed.
std::optional<store::Store> open_store(const Options& options, store::Access access);

}  // namespace tw::cli

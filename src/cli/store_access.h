// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.h"
#include "store/store.h"

namespace tw::cli {

// Returns the exit code: usage when there is no such run, else environment (the store cannot be used, or is busy).
ExitCode print_store_error(const store::StoreError& error, const Options& options);

// The store of --store or the default one; failures are printed and give an exit code.
Result<store::Store, ExitCode> open_store(const Options& options, store::Access access);

}  // namespace tw::cli

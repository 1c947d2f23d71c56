// SPDX-License-Identifier: Apache-2.0
#include "cli/store_access.h"

#include "cli/output.h"

namespace tw::cli {

ExitCode print_store_error(const store::StoreError& error, const Options& options) {
  // The registry's messages of these codes have two or three parts; here they are one sentence.
  print_error(error.kind == store::ErrorKind::NotFound || error.kind == store::ErrorKind::Busy
                  ? diag::codes::StoreRefused::kInfo
                  : diag::codes::StoreNotUsable::kInfo,
              error.error, options);
  return error.kind == store::ErrorKind::NotFound ? ExitCode::Usage : ExitCode::Environment;
}

Result<store::Store, ExitCode> open_store(const Options& options, store::Access access) {
  auto folder = store::Store::default_folder(options.store);
  if (!folder) {
    return fail(print_store_error(folder.error(), options));
  }
  auto opened = store::Store::open(*folder, access);
  if (!opened) {
    return fail(print_store_error(opened.error(), options));
  }
  return *std::move(opened);
}

}  // namespace tw::cli

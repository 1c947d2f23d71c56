// SPDX-License-Identifier: Apache-2.0
#include "report/store_error.h"

#include <fmt/format.h>

namespace tw::report {
namespace {

namespace codes = diag::codes;

diag::Builder builder_for(const store::StoreError& error, std::string_view folder, diag::Sink& sink) {
  // The reason says more than what was being done; the rest becomes notes.
  const Error& cause = error.error;
  const std::string& why = cause.causes.empty() ? cause.message : cause.causes.back();
  switch (error.kind) {
    case store::ErrorKind::Unavailable:
      return sink.report(codes::StoreUnavailable{}, {}, folder, why);
    case store::ErrorKind::Version:
      return sink.report(codes::StoreVersion{}, {}, folder, cause.message);
    case store::ErrorKind::Damaged:
      return sink.report(codes::StoreDamaged{}, {}, folder, why);
    case store::ErrorKind::NotFound:
      return sink.report(codes::RunNotFound{}, {}, folder, cause.message);
    case store::ErrorKind::Busy:
      break;
  }
  return sink.report(codes::RunBusy{}, {}, cause.message);
}

}  // namespace

diag::Reported report_store_error(const store::StoreError& error, std::string_view folder, diag::Sink& sink) {
  diag::Builder builder = builder_for(error, folder, sink);
  bool says_reason = error.kind == store::ErrorKind::Unavailable || error.kind == store::ErrorKind::Damaged;
  if (!error.error.causes.empty()) {
    if (says_reason) {
      builder.note(error.error.message);
    } else {
      for (const std::string& cause : error.error.causes) {
        builder.note(cause);
      }
    }
  }
  return builder.emit();
}

}  // namespace tw::report

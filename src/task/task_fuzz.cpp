// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "spec/evaluate.h"
#include "spec/normalize.h"
#include "spec/parse.h"
#include "task/inputs.h"
#include "task/task.h"

// Any bytes either give a task or at least one error whose place is inside the text; a task's reference can be printed,
// read again as the same terms, normalized and evaluated at a tiny size without a crash.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  tw::diag::SourceManager sources;
  tw::diag::Sink sink;
  auto task = tw::task::parse("fuzz.toml", text, sources, sink);
  for (const tw::diag::Diagnostic& diagnostic : sink.diagnostics()) {
    TW_CHECK(!diagnostic.message().empty());
    TW_CHECK(!diagnostic.primary.is_valid() || diagnostic.primary.end <= size);
  }
  if (!task) {
    TW_CHECK(sink.has_errors());
    return 0;
  }
  const tw::spec::Computation& computation = task->computation;
  tw::spec::Computation declarations = computation;
  declarations.tensors.resize(task->operand_count);
  declarations.equations.clear();
  tw::diag::Sink again_sink;
  auto again = tw::spec::parse(tw::spec::print(computation), {}, declarations, again_sink);
  TW_CHECK(again.has_value());
  for (size_t i = 0; i < computation.equations.size(); ++i) {
    TW_CHECK(tw::spec::equal(computation.equations[i].term, again->equations[i].term));
    auto expanded = tw::spec::expanded(computation, computation.equations[i].term, 500);
    if (expanded) {
      auto normal = tw::spec::normalized(*expanded, 500);
      if (normal) {
        TW_CHECK(tw::spec::equivalent(*normal, *normal));
      }
    }
  }
  tw::task::Shape shape;
  double volume = 1;
  for (const tw::spec::SizeRange& range : task->domain.ranges) {
    shape.push_back(range.smallest());
    volume *= static_cast<double>(shape.back());
  }
  bool is_small = true;
  for (size_t i = 0; i < task->operand_count; ++i) {
    is_small = is_small && task->least_bytes(shape) < 1e4;
  }
  if (volume <= 4096 && is_small) {
    static_cast<void>(
        tw::task::reference(*task, tw::task::generate_all(*task, shape, tw::task::Distribution::Normal, 1)));
  }
  return 0;
}

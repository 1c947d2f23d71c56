// SPDX-License-Identifier: Apache-2.0
#include "passes/pass.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "ir/print.h"
#include "passes/assign_shared.h"
#include "passes/choose_widths.h"
#include "passes/infer_layouts.h"
#include "passes/lower_pipelines.h"
#include "passes/lower_reductions.h"
#include "passes/lower_tiles.h"
#include "passes/place_accesses.h"
#include "passes/place_barriers.h"
#include "passes/select_atoms.h"

namespace tw::passes {

Pipeline Pipeline::standard() {
  Pipeline pipeline;
  pipeline.passes_ = {
      {"lower_tiles", lower_tiles},       {"lower_pipelines", lower_pipelines},   {"select_atoms", select_atoms},
      {"infer_layouts", infer_layouts},   {"lower_reductions", lower_reductions}, {"assign_shared", assign_shared},
      {"place_accesses", place_accesses}, {"place_barriers", place_barriers},     {"choose_widths", choose_widths}};
  return pipeline;
}

bool Pipeline::disable(std::string_view name) {
  return std::erase_if(passes_, [&](const Pass& pass) { return pass.name == name; }) > 0;
}

bool Pipeline::replace(std::string_view name, PassFunction run) {
  auto it = std::ranges::find(passes_, name, &Pass::name);
  if (it == passes_.end()) {
    return false;
  }
  it->run = std::move(run);
  return true;
}

bool Pipeline::append_to(std::string_view name, PassFunction run) {
  auto it = std::ranges::find(passes_, name, &Pass::name);
  if (it == passes_.end()) {
    return false;
  }
  it->run = [first = std::move(it->run), second = std::move(run)](ir::Function& function,
                                                                  PassContext& context) -> Status {
    if (Status status = first(function, context); !status) {
      return status;
    }
    return second(function, context);
  };
  return true;
}

Checked<ir::Function> Pipeline::run(ir::Function function, diag::Sink& sink, const Observer& observer) const {
  PassContext context{sink, {}, false};
  for (const Pass& pass : passes_) {
    PhaseScope phase("pass " + pass.name);
    auto start = std::chrono::steady_clock::now();
    if (Status status = pass.run(function, context); !status) {
      return fail(status.error());
    }
    if (&pass == &passes_.back()) {
      function.stage = ir::Stage::Lowered;
    }
    if (auto checked = ir::check_structure(function); !checked) {
      check_failed(__FILE__, __LINE__, "check_structure", checked.error().message);
    }
    if (observer) {
      std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
      observer({pass.name, elapsed.count()}, function);
    }
  }
  function.stage = ir::Stage::Lowered;
  return function;
}

Checked<ir::Function> lower(const ir::Function& source, diag::Sink& sink, const Observer& observer) {
  return Pipeline::standard().run(source, sink, observer);
}

}  // namespace tw::passes

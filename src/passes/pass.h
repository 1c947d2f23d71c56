// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "diag/sink.h"
#include "ir/function.h"

namespace tw::passes {

// What passes of one run tell each other beside the IR.
struct PassContext {
  diag::Sink& sink;
  // Shared objects that lower_pipelines turned into rings and whose order it has made; by SharedId::index.
  std::unordered_set<uint32_t> pipelined;
  // The program itself waits for its asynchronous copies.
  bool has_author_drains = false;
};

using Status = Checked<void>;
using PassFunction = std::function<Status(ir::Function&, PassContext&)>;

struct Pass {
  std::string name;
  PassFunction run;
};

struct PassReport {
  std::string name;
  double time_ms = 0;
};

// Called after each pass with the function as it left it.
using Observer = std::function<void(const PassReport&, const ir::Function&)>;

// The passes from Source to Lowered ("ready for emission"), as data. The pipeline is the only caller of passes; after
// each it checks the structure of the IR, and a structure that a pass broke ends the process (it is our bug, never the
// user's).
class Pipeline {
 public:
  // In order: lower_tiles, lower_pipelines, select_atoms, infer_layouts, lower_reductions, assign_shared,
  // place_accesses, place_barriers, choose_widths.
  static Pipeline standard();

  [[nodiscard]] const std::vector<Pass>& passes() const { return passes_; }
  // For tests with planted faults. False when there is no pass of that name.
  bool disable(std::string_view name);
  bool replace(std::string_view name, PassFunction run);
  // Runs `run` right after the named pass, as part of it.
  bool append_to(std::string_view name, PassFunction run);

  Checked<ir::Function> run(ir::Function function, diag::Sink& sink, const Observer& observer = {}) const;

 private:
  std::vector<Pass> passes_;
};

// Pipeline::standard() on `source`.
Checked<ir::Function> lower(const ir::Function& source, diag::Sink& sink, const Observer& observer = {});

}  // namespace tw::passes

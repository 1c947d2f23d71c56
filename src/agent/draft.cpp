// SPDX-License-Identifier: Apache-2.0
#include "agent/draft.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>

#include "diag/sink.h"
#include "os/env.h"
#include "os/files.h"
#include "rewrite/kernel_view.h"
#include "syntax/parser.h"
#include "syntax/printer.h"

namespace tw::agent {
namespace {

using rewrite::KernelView;
using rewrite::TensorParam;

// Do the parameters of the program carry the task's names and dimensions, in order?
bool fits(const KernelView& view, const task::Task& task) {
  if (view.tensors().size() != task.operand_count) {
    return false;
  }
  for (size_t i = 0; i < task.operand_count; ++i) {
    const spec::Tensor& operand = task.computation.tensors[i];
    const TensorParam* tensor = view.tensor(operand.name);
    if (tensor == nullptr || tensor->dims.size() != operand.dims.size() ||
        tensor->has_strides != !task.storage[i].is_packed) {
      return false;
    }
    const bool is_out = operand.direction == spec::Direction::Out;
    if (is_out != (tensor->direction == "Out" || tensor->direction == "Acc")) {
      return false;
    }
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      const spec::Dim& dim = task.computation.dims[operand.dims[d].index];
      if (!dim.fixed && !tensor->dims[d]->is_name(dim.name)) {
        return false;
      }
    }
  }
  return true;
}

// `x.to(T)`: T, else null.
syntax::Name* cast_type(syntax::Expr& expr) {
  auto* call = expr.as<syntax::Call>();
  auto* callee = call != nullptr ? call->callee->as<syntax::Attribute>() : nullptr;
  return callee != nullptr && callee->name.text == "to" && call->arguments.size() == 1
             ? call->arguments[0].value->as<syntax::Name>()
             : nullptr;
}

void wrap_in_cast(syntax::Expr& expr, std::string_view type) {
  auto inner = std::make_unique<syntax::Expr>(std::move(expr));
  std::vector<syntax::ExprPtr> arguments;
  arguments.push_back(syntax::make_name(type));
  expr = std::move(*syntax::make_call(syntax::make_attribute(std::move(inner), "to"), std::move(arguments)));
}

// Of `load(A[...])`, `copy(A[...], s)`: "A"; of `store(x, D[...])`: "D".
std::string object_of(const syntax::Call& call, size_t argument) {
  return call.arguments.size() > argument ? rewrite::object_name(*call.arguments[argument].value) : "";
}

// Elements that are narrower than the program's are widened where they are loaded; arithmetic stays as it is.
void retype_loads(const KernelView& view, const std::map<std::string, std::pair<std::string, std::string>>& changed) {
  for (syntax::Expr* load : view.calls("load")) {
    auto found = changed.find(object_of(*load->as<syntax::Call>(), 0));
    if (found != changed.end() && found->second.first == "f32" && found->second.second != "tf32") {
      wrap_in_cast(*load, "f32");
    }
  }
}

// Shared tiles have the type of what is copied to them.
void retype_shared(const KernelView& view, const std::map<std::string, std::pair<std::string, std::string>>& changed) {
  for (syntax::Expr* copy : view.calls("copy")) {
    auto* call = copy->as<syntax::Call>();
    auto found = changed.find(object_of(*call, 0));
    syntax::Call* shared = found != changed.end() ? view.shared_declaration(object_of(*call, 1)) : nullptr;
    auto* type =
        shared != nullptr && !shared->arguments.empty() ? shared->arguments[0].value->as<syntax::Name>() : nullptr;
    if (type != nullptr) {
      type->id = found->second.second;
    }
  }
}

// The stored value is cast to the output's type; f32 is what arithmetic gives, so it needs none.
void retype_stores(const KernelView& view, const std::map<std::string, std::pair<std::string, std::string>>& changed) {
  for (syntax::Expr* store : view.calls("store")) {
    auto* call = store->as<syntax::Call>();
    auto found = changed.find(object_of(*call, 1));
    if (found == changed.end()) {
      continue;
    }
    syntax::Expr& value = *call->arguments[0].value;
    syntax::Name* type = cast_type(value);
    const bool is_cast_to_old = type != nullptr && type->id == found->second.first;
    if (is_cast_to_old && found->second.second == "f32") {
      syntax::ExprPtr inner = std::move(value.as<syntax::Call>()->callee->as<syntax::Attribute>()->base);
      call->arguments[0].value = std::move(inner);
    } else if (is_cast_to_old) {
      type->id = found->second.second;
    } else if (found->second.first == "f32") {
      wrap_in_cast(value, found->second.second);
    }
  }
}

// Element type of each parameter as in the task; casts follow.
void retype(KernelView& view, const task::Task& task) {
  std::map<std::string, std::pair<std::string, std::string>> changed;
  for (syntax::Parameter& parameter : view.function().parameters) {
    auto* annotation = parameter.annotation ? parameter.annotation->as<syntax::Subscript>() : nullptr;
    const TensorParam* tensor = view.tensor(parameter.name.text);
    if (annotation == nullptr || tensor == nullptr) {
      continue;
    }
    const auto found = std::ranges::find(task.computation.tensors, parameter.name.text, &spec::Tensor::name);
    const std::string wanted(name_of(found->type));
    if (tensor->element != wanted) {
      annotation->indices[0] = syntax::make_name(wanted);
      changed[tensor->name] = {tensor->element, wanted};
    }
  }
  retype_shared(view, changed);
  retype_stores(view, changed);
  retype_loads(view, changed);
}

// A name of a function that says which task it computes.
std::string kernel_name(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      c = '_';
    }
  }
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ? "kernel_" + name : name;
}

// The simplest first: fewer statements that name an instruction or a policy.
int complexity(const std::string& text) {
  int score = 0;
  for (std::string_view word :
       {"cp_async", "pipeline", "mma_m16n8k16", "mma_m16n8k8", "shared(", "assume(", "drain", "ring="}) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      ++score;
    }
  }
  return score;
}

}  // namespace

Result<std::vector<Draft>> drafts_for(const task::Task& task, const std::string& target) {
  TW_TRY(const std::string data, os::data_folder());
  const std::string root = os::join_path(data, "kernels");
  TW_TRY(const std::vector<std::string> families, os::list_folder(root));
  std::vector<std::pair<int, Draft>> found;
  for (const std::string& family : families) {
    const std::string folder = os::join_path(root, family);
    if (!os::is_folder(folder)) {
      continue;
    }
    TW_TRY(const std::vector<std::string> files, os::list_folder(folder));
    for (const std::string& file : files) {
      if (!file.ends_with(".tw.py")) {
        continue;
      }
      TW_TRY(std::string text, os::read_file(os::join_path(folder, file)));
      diag::SourceManager sources;
      diag::Sink sink;
      auto module = syntax::parse(sources, sources.add(file, text), sink);
      auto view = module ? KernelView::of(*module) : std::nullopt;
      if (!view || !fits(*view, task)) {
        continue;
      }
      retype(*view, task);
      // A program of its own from here on: what is said of the draft would soon be wrong.
      view->function().name.text = kernel_name(task.name);
      for (syntax::StmtPtr& stmt : module->body.statements) {
        std::erase_if(stmt->trivia.leading, [](const std::string& l) { return l.starts_with("#"); });
      }
      rewrite::set_keyword(view->decorator(), "target", syntax::make_string(target));
      // One configuration: the defaults.
      std::erase_if(view->decorator().as<syntax::Call>()->arguments,
                    [](const syntax::Argument& a) { return a.name.text == "configs"; });
      found.emplace_back(complexity(text), Draft{syntax::print(*module), fmt::format("kernels/{}/{}", family, file)});
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& entry) { return entry.first; });
  std::vector<Draft> out;
  for (auto& [score, draft] : found) {
    out.push_back(std::move(draft));
  }
  return out;
}

}  // namespace tw::agent

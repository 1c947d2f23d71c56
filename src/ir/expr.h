// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "diag/source.h"

namespace tw::ir {

using ExprId = Id<struct ExprTag>;
using SymbolId = Id<struct SymbolTag>;

// Integer and truth-valued scalar expressions: sizes, indices, versions, conditions. Mathematical integers (no
// wrap-around; that the emitted C type suffices is an obligation). FloorDiv and Mod round towards minus infinity;
// divisors are proved > 0.
enum class ExprKind : uint8_t {
  Const,
  Symbol,
  Add,
  Sub,
  Mul,
  FloorDiv,
  Mod,
  CeilDiv,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  And,
  Or,
  Not,
  Select,
};

bool is_commutative(ExprKind kind);
int operand_count(ExprKind kind);

struct ExprNode {
  ExprKind kind = ExprKind::Const;
  int64_t value = 0;
  SymbolId symbol;
  std::array<ExprId, 3> operands{};
  friend bool operator==(const ExprNode&, const ExprNode&) = default;
};

enum class SymbolKind : uint8_t {
  Size,       // extent of a tensor axis, bound at launch; >= 0
  Scalar,     // i32/i64 argument
  Loop,       // variable of a ForOp
  TileCoord,  // variable of a TilesOp
  TileIndex,  // linear number of the point a block works on (TilesOp::linear)
  Axis,       // bound variable of a tag or check
  Carried,    // scalar carried by a loop: value at the head of an iteration
  Result,     // scalar carried by a loop: value after it
  BlockIndex,
  ThreadIndex,
};

struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::Size;
  diag::Span span;
};

// Hash-consed expressions of one function: equal text, equal id. Construction folds constants and trivial identities
// (x+0, x*1, x-x, min(x,x), not not x, comparisons of constants), and orders the operands of commutative kinds by id.
class ExprPool {
 public:
  SymbolId add_symbol(std::string name, SymbolKind kind, diag::Span span = {});
  [[nodiscard]] const Symbol& symbol(SymbolId id) const { return symbols_[id.index]; }
  [[nodiscard]] size_t symbol_count() const { return symbols_.size(); }

  ExprId constant(int64_t value);
  ExprId symbol_ref(SymbolId symbol);
  ExprId add(ExprId a, ExprId b);
  ExprId sub(ExprId a, ExprId b);
  ExprId mul(ExprId a, ExprId b);
  ExprId floor_div(ExprId a, ExprId b);
  ExprId mod(ExprId a, ExprId b);
  ExprId ceil_div(ExprId a, ExprId b);
  ExprId min(ExprId a, ExprId b);
  ExprId max(ExprId a, ExprId b);
  ExprId eq(ExprId a, ExprId b);
  ExprId ne(ExprId a, ExprId b);
  ExprId lt(ExprId a, ExprId b);
  ExprId le(ExprId a, ExprId b);
  ExprId logical_and(ExprId a, ExprId b);
  ExprId logical_or(ExprId a, ExprId b);
  ExprId logical_not(ExprId a);
  ExprId select(ExprId condition, ExprId if_true, ExprId if_false);
  // Any kind but Const and Symbol; unused operands invalid.
  ExprId make(ExprKind kind, ExprId a, ExprId b = {}, ExprId c = {});

  [[nodiscard]] const ExprNode& node(ExprId id) const { return nodes_[id.index]; }
  [[nodiscard]] std::optional<int64_t> constant_value(ExprId id) const;
  [[nodiscard]] bool is_constant(ExprId id, int64_t value) const;
  [[nodiscard]] size_t size() const { return nodes_.size(); }

  // Replaces symbols; symbols without an entry stay.
  ExprId substitute(ExprId id, const std::unordered_map<SymbolId, ExprId>& replacements);
  // nullopt on a symbol that `value_of` does not know, division by zero, or int64 overflow.
  [[nodiscard]] std::optional<int64_t> evaluate(ExprId id,
                                                const std::function<std::optional<int64_t>(SymbolId)>& value_of) const;
  // Appends the symbols that occur in `id`, each once, in order of first occurrence.
  void collect_symbols(ExprId id, std::vector<SymbolId>& out) const;
  // Symbols by their names (which need not be unique).
  [[nodiscard]] std::string to_string(ExprId id) const;
  [[nodiscard]] std::string to_string(ExprId id, const std::function<std::string(SymbolId)>& name_of) const;

 private:
  struct NodeHash {
    size_t operator()(const ExprNode& node) const noexcept;
  };
  ExprId intern(ExprNode node);
  std::vector<ExprNode> nodes_;
  std::vector<Symbol> symbols_;
  std::unordered_map<ExprNode, ExprId, NodeHash> index_;
};

}  // namespace tw::ir

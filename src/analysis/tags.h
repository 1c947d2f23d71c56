// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/settle.h"

namespace tw::analysis {

// A contracted or reduced name: the values that the reduction went over, each once: the union of the segments.
struct Segment {
  IntId lo, hi;
};
struct Covered {
  std::vector<Segment> segments;
  // Why the values are not known to be each covered once; empty: they are.
  std::string doubt;
  // The doubt is that every value is covered this many times (more than once).
  bool is_repeated = false;
};

// One name's value as a function of the element's coordinates. Mixed: two values that are not known to be equal met.
struct TagField {
  IntId value;
  bool is_mixed = false;
  IntId other;
};

// The tag of an element (docs/language.md, "Tags"): the join of its leaves' tags; reductions drop the names that vary
// along them and record what was covered. Elements that are pads have no tag: it holds where `defined` holds.
struct Tag {
  std::map<std::string, TagField> fields;
  std::map<std::string, Covered> covered;
  std::vector<CondId> defined;
  // What the tag does not model, if anything: then nothing may be concluded from names that are absent.
  std::string doubt;
};

class Tagger {
 public:
  Tagger(Settler& settler, const ir::Function& function)
      : settler_(settler), env_(settler.environment()), f_(function) {}

  // REQUIRES: `term` is settled under `facts`.
  Tag tag(TermId term, domain::Facts& facts);

 private:
  Tag visit(TermId term, domain::Facts& facts);
  Tag leaf(const TermNode& node, domain::Facts& facts);
  Tag reduce(TermId term, domain::Facts& facts);
  Tag loop(const TermNode& node, domain::Facts& facts);
  bool takes_place(TermId term, domain::Facts& facts);
  void check_choice(Tag& result, const TermNode& node, domain::Facts& facts);
  void choose(Tag& result, CondId condition, const Tag& yes, const Tag& no, domain::Facts& facts);
  // `adds`: what both sides covered counts twice; else equal coverage (a value used twice) stays as it is.
  void join(Tag& into, const Tag& other, bool adds, domain::Facts& facts);

  Settler& settler_;
  Environment& env_;
  const ir::Function& f_;
  // Tags of the carried values of Loop terms under evaluation, by (loop, slot).
  std::map<std::pair<uint32_t, uint32_t>, std::pair<Tag, std::vector<VarId>>> carried_;
  std::map<TermId, Tag> memo_;
};

}  // namespace tw::analysis

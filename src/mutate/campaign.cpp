// SPDX-License-Identifier: Apache-2.0
#include "mutate/campaign.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <random>

#include "base/check.h"
#include "ir/print.h"
#include "mutate/oracle.h"

namespace tw::mutate {
namespace {

// The same on every machine, unlike the standard library's distributions.
size_t below(std::mt19937_64& random, size_t limit) {
  return static_cast<size_t>(random() % limit);
}

void set_verdict(MutantResult& out, const driver::CompiledKernel& kernel, const ir::Function& mutant,
                 const diag::SourceManager& sources) {
  diag::Sink sink;
  const verify::Report report = verify::check(kernel.source, mutant, {}, sink);
  out.verdict = report.verdict;
  for (const verify::Obligation& o : report.obligations) {
    if (o.verdict != report.verdict || o.verdict == verify::Verdict::Proved) {
      continue;
    }
    out.reason = fmt::format("{}: {}", o.id,
                             o.counterexample ? o.counterexample->rule + ", " + o.counterexample->claim : o.reason);
    if (o.verdict == verify::Verdict::Refuted && o.counterexample) {
      // Not the verifier's word for it: once more, from what the file holds.
      auto again = verify::counterexample_from_json(verify::to_json(*o.counterexample, sources));
      out.is_replayed = again && verify::replay(kernel.source, mutant, *again).has_value();
    }
    break;
  }
}

MutantResult judge(const Mutant& mutant, const driver::CompiledKernel& kernel, const Oracle& oracle,
                   const diag::SourceManager& sources) {
  MutantResult out{mutant};
  ir::Function changed = kernel.lowered;
  Place place(mutant.place);
  TW_CHECK(mutant.op->apply(changed, place));
  out.op_id = place.op_id();
  out.span = place.span();
  out.is_built = ir::check_structure(changed).has_value();
  if (!out.is_built) {
    return out;
  }
  auto wrong = oracle.find_wrong(changed);
  out.emulator = wrong ? EmulatorSays::Wrong : EmulatorSays::Right;
  out.finding = wrong.value_or("");
  set_verdict(out, kernel, changed, sources);
  return out;
}

struct Counts {
  int mutants = 0, not_built = 0, emulator_wrong = 0, refuted = 0, unknown = 0, missed = 0, replayed = 0;

  void add(const MutantResult& r) {
    ++mutants;
    not_built += r.is_built ? 0 : 1;
    emulator_wrong += r.emulator == EmulatorSays::Wrong ? 1 : 0;
    refuted += r.is_built && r.verdict == verify::Verdict::Refuted ? 1 : 0;
    unknown += r.is_built && (r.verdict == verify::Verdict::Unknown || r.verdict == verify::Verdict::Vacuous) ? 1 : 0;
    missed += r.is_missed() ? 1 : 0;
    replayed += r.is_replayed ? 1 : 0;
  }
};

json::Value to_json(const Counts& counts) {
  return json::Object{
      {"mutants", counts.mutants},  {"not_built", counts.not_built}, {"emulator_wrong", counts.emulator_wrong},
      {"refuted", counts.refuted},  {"unknown", counts.unknown},     {"missed", counts.missed},
      {"replayed", counts.replayed}};
}

}  // namespace

std::string Mutant::name() const {
  return fmt::format("{}:{}", op->name, place);
}

int Campaign::missed() const {
  return static_cast<int>(std::ranges::count_if(results, [](const MutantResult& r) { return r.is_missed(); }));
}

std::vector<Mutant> choose(const std::vector<Subject>& subjects, const CampaignOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<std::vector<Mutant>> by_operator;
  std::vector<Mutant> out;
  for (const Operator& op : operators()) {
    std::vector<Mutant>& all = by_operator.emplace_back();
    for (size_t subject = 0; subject < subjects.size(); ++subject) {
      const int places = count_places(op, subjects[subject].kernel->lowered);
      for (int place = 0; place < places; ++place) {
        all.push_back({subject, &op, place});
        if (options.only == op.name || options.only == all.back().name()) {
          out.push_back(all.back());
        }
      }
    }
    for (size_t i = all.size(); i > 1; --i) {
      std::swap(all[i - 1], all[below(random, i)]);
    }
  }
  if (!options.only.empty()) {
    return out;
  }
  for (size_t round = 0; out.size() < static_cast<size_t>(options.count); ++round) {
    const size_t before = out.size();
    for (const std::vector<Mutant>& all : by_operator) {
      if (round < all.size() && out.size() < static_cast<size_t>(options.count)) {
        out.push_back(all[round]);
      }
    }
    if (out.size() == before) {
      break;
    }
  }
  // One kernel after the other: its launches are prepared once.
  std::ranges::stable_sort(out, {}, &Mutant::subject);
  return out;
}

Campaign run_campaign(const std::vector<Subject>& subjects, const CampaignOptions& options,
                      const diag::SourceManager& sources) {
  Campaign out;
  out.seed = options.seed;
  const std::vector<Mutant> mutants = choose(subjects, options);
  std::unique_ptr<Oracle> oracle;
  std::optional<size_t> prepared;
  for (const Mutant& mutant : mutants) {
    const Subject& subject = subjects[mutant.subject];
    const PhaseScope phase(fmt::format("the mutant {} of {}", mutant.name(), subject.file));
    if (prepared != mutant.subject) {
      prepared = mutant.subject;
      oracle = std::make_unique<Oracle>(subject.kernel->source, subject.kernel->lowered);
      diag::Sink sink;
      if (verify::check(subject.kernel->source, subject.kernel->lowered, {}, sink).verdict ==
          verify::Verdict::Refuted) {
        out.false_alarms.push_back(subject.file);
      }
      if (auto wrong = oracle->find_wrong(subject.kernel->lowered); wrong || oracle->launch_count() == 0) {
        out.wrong_originals.push_back(fmt::format("{}: {}", subject.file, wrong.value_or("no launch could be made")));
      }
    }
    out.results.push_back(judge(mutant, *subject.kernel, *oracle, sources));
    if (options.progress) {
      options.progress(out.results.back(), out.results.size(), mutants.size());
    }
  }
  return out;
}

json::Value to_json(const Campaign& campaign, const std::vector<Subject>& subjects,
                    const diag::SourceManager& sources) {
  Counts all;
  std::map<std::string, Counts> by_operator;
  json::Array missed;
  json::Array not_replayed;
  for (const MutantResult& r : campaign.results) {
    all.add(r);
    by_operator[std::string(r.mutant.op->name)].add(r);
    json::Object entry{{"mutant", r.mutant.name()},
                       {"kernel", subjects[r.mutant.subject].file},
                       {"op", r.op_id},
                       {"line", r.span.is_valid() ? sources.position(r.span.file, r.span.begin).line : 0},
                       {"verdict", verify::name_of(r.verdict)},
                       {"emulator", r.finding},
                       {"reason", r.reason}};
    if (r.is_missed()) {
      missed.push_back(std::move(entry));
    } else if (r.is_built && r.verdict == verify::Verdict::Refuted && !r.is_replayed) {
      not_replayed.push_back(std::move(entry));
    }
  }
  // What is proved and wrong comes before what is undecided.
  std::ranges::stable_sort(missed, {}, [](const json::Value& v) { return v.find("verdict")->as_string() != "proved"; });
  json::Object operators;
  for (const auto& [name, counts] : by_operator) {
    operators.set(name, to_json(counts));
  }
  json::Array alarms(campaign.false_alarms.begin(), campaign.false_alarms.end());
  json::Array wrong(campaign.wrong_originals.begin(), campaign.wrong_originals.end());
  return json::Object{{"seed", campaign.seed},
                      {"mutants", all.mutants},
                      {"not_built", all.not_built},
                      {"emulator_wrong", all.emulator_wrong},
                      {"refuted", all.refuted},
                      {"unknown", all.unknown},
                      {"missed", all.missed},
                      {"false_alarms", campaign.false_alarms.size()},
                      {"replayed", all.replayed},
                      {"by_operator", std::move(operators)},
                      {"missed_list", std::move(missed)},
                      {"not_replayed_list", std::move(not_replayed)},
                      {"false_alarm_list", std::move(alarms)},
                      {"wrong_originals", std::move(wrong)}};
}

}  // namespace tw::mutate

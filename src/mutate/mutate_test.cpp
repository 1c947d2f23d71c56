// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "mutate/campaign.h"

namespace tw::mutate {
namespace {

struct Shipped {
  driver::Session session;
  std::vector<std::vector<driver::CompiledKernel>> kernels;
  std::vector<Subject> subjects;

  explicit Shipped(const std::vector<std::string>& files) {
    kernels.reserve(files.size());
    for (const std::string& file : files) {
      std::ifstream in(std::string(TW_SOURCE_DIR) + "/kernels/" + file);
      std::stringstream text;
      text << in.rdbuf();
      auto compiled = driver::compile(session, {file, text.str(), "", {}, true});
      if (compiled && !compiled->empty()) {
        kernels.push_back(std::move(*compiled));
        subjects.push_back({file, &kernels.back().front()});
      }
    }
  }
};

TEST(Mutate, TheCampaignCountsConsistentlyAndNothingWrongIsProved) {
  Shipped shipped({"gemm/mma.tw.py", "softmax/row.tw.py"});
  ASSERT_EQ(shipped.subjects.size(), 2u);
  CampaignOptions options;
  options.count = 25;
  options.seed = 7;
  const Campaign campaign = run_campaign(shipped.subjects, options, shipped.session.sources);
  EXPECT_EQ(campaign.results.size(), 25u);
  EXPECT_TRUE(campaign.wrong_originals.empty()) << campaign.wrong_originals.front();
  EXPECT_TRUE(campaign.false_alarms.empty()) << campaign.false_alarms.front();
  int wrong = 0;
  for (const MutantResult& r : campaign.results) {
    wrong += r.emulator == EmulatorSays::Wrong ? 1 : 0;
    EXPECT_FALSE(r.is_unsound()) << r.mutant.name() << " of " << shipped.subjects[r.mutant.subject].file << ": "
                                 << r.finding;
    EXPECT_TRUE(r.verdict != verify::Verdict::Refuted || r.is_replayed) << r.mutant.name() << ": " << r.reason;
    EXPECT_EQ(r.is_built, r.emulator != EmulatorSays::NotRun);
  }
  // Operators that are tame measure nothing.
  EXPECT_GE(wrong, 10);
  const json::Value record = to_json(campaign, shipped.subjects, shipped.session.sources);
  EXPECT_EQ(*record.get_int("mutants"), 25);
  EXPECT_EQ(*record.get_int("emulator_wrong"), wrong);
  EXPECT_EQ(*record.get_int("missed"), campaign.missed());
  EXPECT_EQ(static_cast<int>((*record.get_array("missed_list"))->size()), campaign.missed());
  EXPECT_LE(*record.get_int("refuted") + *record.get_int("unknown") + *record.get_int("not_built"), 25);
  EXPECT_LE(*record.get_int("replayed"), *record.get_int("refuted"));
}

TEST(Mutate, TheChoiceFollowsTheSeed) {
  Shipped shipped({"gemm/pipelined.tw.py", "layernorm/row.tw.py"});
  ASSERT_EQ(shipped.subjects.size(), 2u);
  auto names = [&](uint64_t seed) {
    CampaignOptions options;
    options.count = 60;
    options.seed = seed;
    std::vector<std::string> out;
    for (const Mutant& mutant : choose(shipped.subjects, options)) {
      out.push_back(shipped.subjects[mutant.subject].file + mutant.name());
    }
    return out;
  };
  EXPECT_EQ(names(3), names(3));
  EXPECT_NE(names(3), names(4));
  const auto chosen = names(3);
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), chosen.size());
}

TEST(Mutate, MostOperatorsHaveAPlaceInTheShippedKernels) {
  Shipped shipped({"gemm/ampere.tw.py", "gemm/bias_relu_any.tw.py", "gemm/naive.tw.py", "gemm/pipelined.tw.py",
                   "gemm/tiled_fma.tw.py", "layernorm/long.tw.py", "rmsnorm/row.tw.py", "softmax/row.tw.py",
                   "sum_rows/vector.tw.py", "gelu/vector.tw.py"});
  ASSERT_EQ(shipped.subjects.size(), 10u);
  int idle = 0;
  for (const Operator& op : operators()) {
    int places = 0;
    for (const Subject& subject : shipped.subjects) {
      places += count_places(op, subject.kernel->lowered);
    }
    idle += places == 0 ? 1 : 0;
  }
  EXPECT_GE(static_cast<int>(operators().size()) - idle, 40);
}

}  // namespace
}  // namespace tw::mutate

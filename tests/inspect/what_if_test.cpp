// The effects of ablating one head equal the differences between two complete passes.
#include "inspect/what_if.h"

#include <gtest/gtest.h>

#include <cmath>

#include "inspect/ablation.h"
#include "inspect/head_pattern.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::inspect {
namespace {

class WhatIfOf : public ::testing::TestWithParam<std::string> {
 protected:
  WhatIfOf() {
    testing::write_text_model(folder_ / "model", GetParam());
    loaded_ = infer::LoadedModel::open(folder_ / "model");
  }

  AttendRequest request(const std::string& text, std::int64_t max_new) {
    AttendRequest request;
    request.text = text;
    generate_target(loaded_, pool_, request, max_new);
    return request;
  }
  View viewed(const AttendRequest& request) { return attend(loaded_, pool_, request); }
  std::size_t count(const AttendRequest& request, const WhatIfOptions& options = {.heads = 1}) {
    View view = viewed(request);
    add_what_if(loaded_, pool_, request, options, view);
    return view.what_if.size();
  }

  // Expect the changes of the attention weights between the two views, the largest first.
  static void expect_changes(const WhatIf& found, const View& before, const View& after) {
    std::vector<std::pair<double, const Map*>> expected;
    for (std::size_t m = 0; m < before.maps.size(); ++m) {
      double sum = 0;
      for (std::size_t i = 0; i < before.maps[m].weights.size(); ++i)
        sum += std::abs(static_cast<double>(after.maps[m].weights[i]) -
                        static_cast<double>(before.maps[m].weights[i]));
      sum /= 2 * static_cast<double>(before.maps[m].rows);
      if (sum >= 1e-6) expected.emplace_back(sum, &after.maps[m]);
    }
    std::ranges::stable_sort(expected, [](const auto& a, const auto& b) { return a.first > b.first; });
    ASSERT_EQ(found.changes.size(), std::min<std::size_t>(expected.size(), 8));
    for (std::size_t i = 0; i < found.changes.size(); ++i) {
      const WhatIf::Change& change = found.changes[i];
      EXPECT_EQ(change.head, expected[i].second->head) << i;
      EXPECT_NEAR(change.change, expected[i].first, 1e-12) << i;
      EXPECT_EQ(change.columns, expected[i].second->columns) << i;
      EXPECT_EQ(change.weights, i < 3 ? expected[i].second->weights : std::vector<float>()) << i;
    }
  }

  testing::TemporaryFolder folder_;
  infer::LoadedModel loaded_;
  ThreadPool pool_{1};
};

TEST_P(WhatIfOf, AHeadIsTheDifferenceOfTwoPasses) {
  AttendRequest request = this->request("the quick fox", 6);
  request.page = request.selection.values = true;
  View view = viewed(request);
  std::vector<double> shares;
  WhatIfOptions options{.heads = 4, .generate = true, .max_new = 4, .progress = [&](double share) {
                          shares.push_back(share);
                          return true;
                        }};
  add_what_if(loaded_, pool_, request, options, view);
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1.0}));
  ASSERT_EQ(view.what_if.size(), 4u);
  const std::vector<std::size_t> order = ranked_maps(view);
  std::size_t most = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const WhatIf& found = view.what_if[i];
    ASSERT_EQ(found.off, view.maps[order[i]].head);
    AttendRequest changed = request;
    changed.ablated = {found.off};
    const View after = viewed(changed);
    expect_changes(found, view, after);
    most = std::max(most, found.changes.size());
    double lost = 0, positions = 0;
    for (std::size_t t = 0; t < view.steps.size(); ++t) {
      if (view.tokens.written_origin[t].id != after.tokens.written_origin[t].id) continue;
      const GenerationStep &one = view.steps[t], &two = after.steps[t];
      lost += static_cast<double>(one.written_logit) - one.log_sum_exp -
              (static_cast<double>(two.written_logit) - two.log_sum_exp);
      ++positions;
    }
    EXPECT_NEAR(found.lost.value(), lost / positions, 1e-12);
    EXPECT_NE(found.lost.value(), 0.0);
    ASSERT_EQ(found.steps.size(), after.steps.size());
    for (std::size_t t = 0; t < found.steps.size(); ++t) {
      EXPECT_EQ(found.steps[t].log_sum_exp, after.steps[t].log_sum_exp);
      EXPECT_EQ(found.steps[t].written_logit, after.steps[t].written_logit);
      ASSERT_GT(after.steps[t].candidates.size(), 8u);
      ASSERT_EQ(found.steps[t].candidates.size(), 8u);
      for (std::size_t c = 0; c < 8; ++c)
        EXPECT_EQ(found.steps[t].candidates[c].id, after.steps[t].candidates[c].id);
    }
    const auto probe = ablation(*loaded_.model, pool_, {found.off});
    EXPECT_EQ(found.translation,
              loaded_.target->decode(generated_ids(loaded_, pool_, request, 4, probe.get())));
  }
  EXPECT_EQ(most, GetParam() == "gpt" ? 4u : 8u) << "a head of the first layer changes the others";
}

TEST_P(WhatIfOf, ATextIsGeneratedOnRequestOnly) {
  const AttendRequest request = this->request("the fox", 3);
  View view = viewed(request);
  add_what_if(loaded_, pool_, request, {.heads = 1}, view);
  ASSERT_EQ(view.what_if.size(), 1u);
  EXPECT_FALSE(view.what_if[0].translation);
  EXPECT_EQ(count(request, {.heads = 0}), 0u);
  EXPECT_EQ(count(request, {.heads = -1}), 0u);
  EXPECT_EQ(count(request, {.heads = 1000}), view.maps.size());
  const auto stop = [](double) { return false; };
  EXPECT_REGARD_ERROR(count(request, {.heads = 2, .progress = stop}), ErrorKind::cancelled, "stopped");
}

TEST_P(WhatIfOf, AnUnmodifiedPassOfAtMost96TokensIsCompared) {
  AttendRequest request = this->request("the fox", 3);
  EXPECT_EQ(count(request), 1u);
  AttendRequest ablated = request, average = request, changed = request;
  ablated.ablated = {viewed(request).maps[0].head};
  EXPECT_EQ(count(ablated), 0u);
  average.average = true;
  EXPECT_EQ(count(average), 0u);
  const EditedPass edits;
  changed.edits = &edits;
  EXPECT_EQ(count(changed), 0u);
  const auto tokens = [&] {
    const View view = viewed(request);
    return view.tokens.source.size() + view.tokens.target.size();
  };
  request.text += std::string(96 - tokens(), 'a');  // one token for each character
  ASSERT_EQ(tokens(), 96u);
  EXPECT_EQ(count(request), 1u);
  request.text += "a";
  EXPECT_EQ(count(request), 0u);
}

INSTANTIATE_TEST_SUITE_P(Each, WhatIfOf, ::testing::Values("gpt", "translator"));

}  // namespace
}  // namespace regard::inspect

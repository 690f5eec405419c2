// The progress that each study reports, and the end of a study when the progress function returns false.
#include <gtest/gtest.h>

#include "inspect/study_views.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::StudyRequest;
using Shares = std::vector<double>;

class StudyProgress : public ::testing::Test {
 protected:
  StudyProgress() {
    write_text_model(folder_ / "gpt", "gpt", 64);
    write_text_model(folder_ / "translator", "translator");
    write_file(folder_.path(), "lines.txt", "the quick fox\nan apple a day\n");
    write_file(folder_.path(), "pairs.tsv", "the fox\ta fox\nan apple\tan egg\n");
    write_file(folder_.path(), "links", "0-0 1-1\n0-0\n");
    std::string labelled;
    for (int i = 0; i < 10; ++i) labelled += std::string(i % 2 == 0 ? "fox\teven\n" : "dog\todd\n");
    write_file(folder_.path(), "labelled.tsv", labelled);
    gpt_ = infer::LoadedModel::open((folder_ / "gpt").string(), WeightMode::widened);
    translator_ = infer::LoadedModel::open((folder_ / "translator").string(), WeightMode::widened);
  }

  StudyRequest request_of(const std::string& view, const std::string& file) const {
    StudyRequest request;
    request.view = view, request.steps = 3, request.most = 2, request.length = 6, request.sequences = 2;
    if (!file.empty())
      request.data.files = {(folder_ / file).string()};
    else
      request.text = "the fox", request.answer = "a", request.instead = "b", request.other = "the fig";
    request.alignments = (folder_ / "links").string();
    return request;
  }
  Shares shares(const infer::LoadedModel& model, const StudyRequest& request) {
    Shares all;
    inspect::study_table(model, pool_, request, 1, [&](double share) {
      all.push_back(share);
      return true;
    });
    // The study ends in the call of the progress function that returns false.
    std::size_t calls = 0;
    for (std::size_t last : {std::size_t{1}, all.size()}) {
      if (all.empty()) break;
      calls = 0;
      EXPECT_REGARD_ERROR(
          inspect::study_table(model, pool_, request, 1, [&](double) { return ++calls < last; }),
          ErrorKind::cancelled, "was stopped");
      EXPECT_EQ(calls, last);
    }
    return all;
  }
  // Return the shares first / of, (first + 1) / of, … of `count` calls.
  static Shares steps(std::size_t count, double first, double of) {
    Shares all;
    for (std::size_t i = 0; i < count; ++i) all.push_back((first + static_cast<double>(i)) / of);
    return all;
  }
  static void expect_near(const Shares& found, const Shares& expected, const std::string& view) {
    ASSERT_EQ(found.size(), expected.size()) << view;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << view << i;
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
  infer::LoadedModel gpt_, translator_;
};

TEST_F(StudyProgress, OfPassesIsTheShareOfFinishedPasses) {
  expect_near(shares(gpt_, request_of("kinds", "lines.txt")), {0, 0.5}, "kinds");
  // the pass over the text, the baseline, and three integration steps
  expect_near(shares(gpt_, request_of("tokens", "")), steps(5, 0, 5), "tokens");
  expect_near(shares(gpt_, request_of("flow", "")), steps(7, 0, 7), "flow");
  // two sequences for the loss and two for the scores
  StudyRequest induction = request_of("induction", "lines.txt");
  induction.data = {};
  expect_near(shares(gpt_, induction), steps(4, 0, 4), "induction");
  for (const std::string view : {"lens", "direct", "rollout"})
    EXPECT_TRUE(shares(gpt_, request_of(view, "")).empty()) << view;
}

TEST_F(StudyProgress, OfHeadsIsTheShareOfMeasuredHeads) {
  // The heads' kinds are computed first, and their number of passes is unknown.
  Shares heads{0, 0}, sets;
  for (const double share : steps(8, 1, 8)) heads.push_back(share), sets.push_back(share / 2);
  expect_near(shares(gpt_, request_of("heads", "lines.txt")), heads, "heads");
  for (const double share : steps(7, 1, 7)) sets.push_back((1 + share) / 2);
  expect_near(shares(gpt_, request_of("sets", "lines.txt")), sets, "sets");
  // 8 heads, 2 feed-forward layers, and the residuals of 2 layers at 7 positions
  expect_near(shares(gpt_, request_of("patch", "")), steps(24, 1, 24), "patch");
  expect_near(shares(gpt_, request_of("path", "")), steps(10, 1, 10), "path");
  // Each greedy step is reported; the search for replacements repeats the last share.
  const Shares flip = shares(gpt_, request_of("flip", ""));
  const std::size_t greedy = inspect::study_table(gpt_, pool_, request_of("flip", ""), 1, {}).rows.size();
  ASSERT_GE(flip.size(), std::max<std::size_t>(greedy, 1));
  for (std::size_t i = 0; i < flip.size(); ++i)
    EXPECT_EQ(flip[i], static_cast<double>(std::min(i + 1, greedy)) / 2) << i;
  expect_near(shares(translator_, request_of("alignment", "pairs.tsv")), {0.5, 1}, "alignment");
}

// The passes over the 10 texts are the first half, and the 300 steps of the 3 regressions the second half.
TEST_F(StudyProgress, OfAProbeIsHalfPassesAndHalfRegressions) {
  Shares expected = steps(10, 0, 20);
  for (const double share : steps(900, 900, 1800)) expected.push_back(share);
  const Shares found = shares(gpt_, request_of("probe", "labelled.tsv"));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-9) << i;
}

}  // namespace
}  // namespace regard::testing

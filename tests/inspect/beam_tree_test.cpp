// The beam search of a generated target has the results and scores of infer::decode().
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "infer/search.h"
#include "inspect/attend.h"
#include "inspect/shown_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::inspect {
namespace {

const std::string kPhrase = "the quick fox";

// Return the ids of a finished hypothesis in text order, following the parents from its last node.
std::vector<std::int32_t> ids_of(const BeamTree& tree, const BeamTree::Place& place) {
  const BeamTree::Node* node = &tree.steps[place.step].finished[place.finished];
  std::vector<std::int32_t> ids{node->token};
  for (std::size_t step = place.step; step-- > 0;) {
    node = &tree.steps[step].kept[static_cast<std::size_t>(node->parent)];
    ids.insert(ids.begin(), node->token);
  }
  return ids;
}

TEST(BeamTree, HasTheResultsOfTheSearch) {
  const testing::TemporaryFolder folder;
  ThreadPool pool(1);
  for (const std::string kind : {"translator", "gpt"}) {
    testing::write_text_model(folder / kind, kind);
    const auto loaded = infer::LoadedModel::open(folder / kind);
    AttendRequest request;
    request.text = kPhrase, request.beam = 3;
    generate_target(loaded, pool, request, 7);
    infer::SearchOptions options = loaded.options;
    options.beam = options.n_best = 3, options.max_new = 7;
    const ModelInput input = loaded.read(kPhrase);
    const auto expected = infer::decode(*loaded.model, pool, {&input, 1}, options)[0];
    ASSERT_TRUE(request.beams.has_value());
    const BeamTree& tree = *request.beams;
    EXPECT_EQ(tree.width, 3);
    ASSERT_EQ(tree.ranking.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const BeamTree::Place& place = tree.ranking[i];
      const BeamTree::Node& node = tree.steps[place.step].finished[place.finished];
      EXPECT_EQ(ids_of(tree, place), expected[i].tokens) << kind;
      EXPECT_EQ(node.score, expected[i].score);
      EXPECT_EQ(node.log_probability, expected[i].log_probability);
      EXPECT_EQ(node.ended, expected[i].ended);
      EXPECT_EQ(node.text, shown_token(loaded.target.get(), node.token));
    }
    EXPECT_EQ(request.written, expected[0].tokens);
    for (const BeamTree::Step& step : tree.steps) EXPECT_LE(step.kept.size(), 3u);
  }
}

TEST(BeamTree, IsAbsentFromGreedySearch) {
  const testing::TemporaryFolder folder;
  ThreadPool pool(1);
  testing::write_text_model(folder / "gpt", "gpt");
  const auto loaded = infer::LoadedModel::open(folder / "gpt");
  AttendRequest request;
  request.text = kPhrase;
  generate_target(loaded, pool, request, 3);
  EXPECT_FALSE(request.beams.has_value());
}

// SearchOptions::max_new is 0 if the model's default applies; 0 must not be taken as the smaller limit.
TEST(GeneratedTarget, HasTheSmallerOfTheTwoLimits) {
  const testing::TemporaryFolder folder;
  ThreadPool pool(1);
  testing::write_text_model(folder / "gpt", "gpt");
  const auto loaded = infer::LoadedModel::open(folder / "gpt");
  infer::SearchOptions search = loaded.options;
  search.end_tokens.clear();
  AttendRequest request;
  request.text = kPhrase, request.search = &search;
  for (const auto& [given, expected] : {std::pair{0, 3}, {2, 2}, {5, 3}}) {
    search.max_new = given;
    generate_target(loaded, pool, request, 3);
    EXPECT_EQ(std::ssize(request.written), expected) << given;
  }
}

}  // namespace
}  // namespace regard::inspect

// Micro-batches: decoder inputs and labels, and batch sources that continue from a saved state.
#include "train/batch.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/throws.h"
#include "tiny_task.h"
#include "train/examples.h"

namespace regard::train {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(Batch, PairsAreShiftedByTheStartToken) {
  Batch batch;
  const Ids source{7, 8, 3}, target{9, 10, 11, 3}, other{5};
  batch.add_pair(source, target, 2, 40);
  batch.add_pair(other, other, 2, 41);
  EXPECT_EQ(batch.source_ids, (Ids{7, 8, 3, 5}));
  EXPECT_EQ(batch.ids, (Ids{2, 9, 10, 11, 2}));
  EXPECT_EQ(batch.labels, (Ids{9, 10, 11, 3, 5}));
  EXPECT_EQ(batch.target_tokens(), 5);
  EXPECT_EQ(batch.sequences(), 2);
  const Ragged from = batch.source_batch().shape, to = batch.target_batch().shape;
  EXPECT_EQ(Ids(from.offsets.begin(), from.offsets.end()), (Ids{0, 3, 4}));
  EXPECT_EQ(Ids(to.offsets.begin(), to.offsets.end()), (Ids{0, 4, 5}));
  EXPECT_EQ(Ids(to.positions.begin(), to.positions.end()), (Ids{0, 1, 2, 3, 0}));
  EXPECT_EQ(to.sequence_index[3], 40u);
  EXPECT_EQ(to.sequence_index[4], 41u);

  batch.clear();
  const Ids window{4, 5, 6, 7};
  batch.add_window(window, 9);
  EXPECT_EQ(batch.ids, (Ids{4, 5, 6}));
  EXPECT_EQ(batch.labels, (Ids{5, 6, 7}));
  EXPECT_EQ(batch.target_tokens(), 3);
  EXPECT_TRUE(batch.source_ids.empty());
  EXPECT_EQ(batch.target_batch().shape.tokens(), 3);
}

// Save and restore the batch source at every batch of `epochs` epochs, and expect the same batches in the
// same order.
void expect_restores(const std::function<std::unique_ptr<BatchSource>()>& make, double epochs) {
  const auto whole = make();
  std::vector<Batch> batches;
  std::vector<double> places;
  for (std::uint64_t at = 0; whole->epochs() < epochs; ++at) {
    places.push_back(whole->epochs());
    whole->next(batches.emplace_back(), 100 * at);
  }
  EXPECT_EQ(places[0], 0.0);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  for (std::size_t stop = 0; stop + 1 < batches.size(); ++stop) {
    const auto first = make(), second = make();
    Batch batch;
    for (std::size_t i = 0; i < stop; ++i) first->next(batch, 0);
    second->restore(first->state(), "state.json");
    EXPECT_EQ(second->state(), first->state());
    EXPECT_EQ(second->epochs(), places[stop]);
    for (std::size_t i = stop; i < stop + 2; ++i) {
      second->next(batch, 100 * i);
      EXPECT_EQ(batch.labels, batches[i].labels) << stop;
      EXPECT_EQ(batch.source_ids, batches[i].source_ids) << stop;
      ASSERT_GT(batch.sequences(), 0);
      EXPECT_EQ(batch.target_batch().shape.sequence_index.front(), 100 * i);
      EXPECT_EQ(batch.target_batch().shape.sequence_index.back(),
                100 * i + static_cast<std::uint64_t>(batch.sequences()) - 1);
    }
  }
}

TEST(PairBatches, ContinueWhereTheyWereSaved) {
  const data::PairStore pairs = testing_task::tiny_pairs(60);
  expect_restores([&] { return pair_batches(pairs, {.batch_tokens = 80, .seed = 4}, 2); }, 3.0);
  const auto source = pair_batches(pairs, {.batch_tokens = 80, .seed = 4}, 2);
  std::size_t seen = 0;
  Batch batch;
  while (source->epochs() < 1.0) {
    source->next(batch, 0);
    seen += static_cast<std::size_t>(batch.sequences());
  }
  EXPECT_EQ(source->epochs(), 1.0);
  EXPECT_EQ(seen, pairs.size()) << "an epoch has each pair once";
  EXPECT_REGARD_ERROR(source->restore({{"epoch", 0}, {"batch", 1000}}, "state.json"), ErrorKind::bad_file,
                      "batch");
  EXPECT_REGARD_ERROR(pair_batches({}, {}, 2), ErrorKind::usage, "the training data has no pairs");
}

TEST(WindowBatches, ContinueWhereTheyWereSaved) {
  Ids stream(50);
  std::iota(stream.begin(), stream.end(), 0);
  for (const bool random : {false, true}) {
    const WindowOptions options{.batch_size = 2, .context = 5, .random = random, .seed = 6};
    expect_restores([&] { return window_batches(stream, options); }, 3.0);
    const auto source = window_batches(stream, options);
    Batch batch;
    for (int step = 1; step <= 7; ++step) {
      source->next(batch, 0);
      ASSERT_EQ(batch.labels.size(), 10u);
      for (std::size_t i = 0; i < batch.ids.size(); ++i) EXPECT_EQ(batch.labels[i], batch.ids[i] + 1);
      EXPECT_NEAR(source->epochs(), step * 10 / 50.0, 1e-12);
    }
  }
}

TEST(WindowBatches, NeedATextLongerThanAWindow) {
  const Ids stream{1, 2, 3, 4, 5, 6};
  Batch batch;
  window_batches(stream, {.batch_size = 3, .context = 5})->next(batch, 0);
  EXPECT_EQ(batch.labels, (Ids{2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6}));
  EXPECT_REGARD_ERROR(window_batches(stream, {.context = 6}), ErrorKind::usage, "6 tokens");
}

// A group has at most `tokens` tokens, except if its only text is longer.
TEST(InGroups, AreAsLargeAsTheLimitAllows) {
  using Groups = std::vector<std::pair<std::size_t, std::size_t>>;
  data::TokenStore texts;
  for (const std::size_t length : {3u, 3u, 1u, 9u, 2u, 2u, 2u, 1u}) texts.add(Ids(length, 5));
  const auto groups = [&texts](std::int64_t tokens) {
    Groups found;
    in_groups(texts, tokens,
              [&found](std::size_t begin, std::size_t end) { found.emplace_back(begin, end); });
    return found;
  };
  EXPECT_EQ(groups(6), (Groups{{0, 2}, {2, 3}, {3, 4}, {4, 7}, {7, 8}}));
  EXPECT_EQ(groups(7), (Groups{{0, 3}, {3, 4}, {4, 8}}));
  EXPECT_EQ(groups(100), (Groups{{0, 8}}));
  EXPECT_EQ(groups(1).size(), 8u);
  texts = {};
  EXPECT_EQ(groups(6), Groups());
}

}  // namespace
}  // namespace regard::train

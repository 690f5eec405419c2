// Gradients summed over several ranks equal those summed on one rank bit for bit, regardless of how the
// micro-batches are divided among the ranks.
#include "train/gradient_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "distributed/thread_transport.h"
#include "train/rank_share.h"

namespace regard::train {
namespace {

using testing::on_ranks;

std::vector<std::unique_ptr<Parameter>> parameters_of(std::span<const std::int64_t> sizes) {
  std::vector<std::unique_ptr<Parameter>> all;
  for (const std::int64_t size : sizes) {
    all.push_back(std::make_unique<Parameter>());
    all.back()->variable.value = Tensor::zeros({size});
    all.back()->set_trainable(true);
  }
  return all;
}

std::vector<Parameter*> pointers(const std::vector<std::unique_ptr<Parameter>>& parameters) {
  std::vector<Parameter*> all;
  for (const auto& parameter : parameters) all.push_back(parameter.get());
  return all;
}

// Set the gradients to the values of micro-batch number `leaf`.
void draw(std::span<Parameter* const> parameters, std::int64_t leaf) {
  RandomStream random({3, static_cast<std::uint64_t>(leaf), 0});
  for (Parameter* parameter : parameters)
    for (std::int64_t i = 0; i < parameter->gradient().elements(); ++i)
      parameter->gradient().f32()[i] = static_cast<float>(random.next_normal());
}

std::vector<float> gradients_of(std::span<Parameter* const> parameters) {
  std::vector<float> all;
  for (const Parameter* parameter : parameters)
    all.insert(all.end(), parameter->gradient().f32(),
               parameter->gradient().f32() + parameter->gradient().elements());
  return all;
}

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> sum_on_one_rank(std::span<const std::int64_t> sizes, std::int64_t leaves) {
  ThreadPool pool(1);
  const auto parameters = parameters_of(sizes);
  const std::vector<Parameter*> list = pointers(parameters);
  GradientSum sum(list, leaves);
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
    draw(list, leaf);
    if (sum.needed()) sum.add(pool);
  }
  sum.finish(pool);
  return gradients_of(list);
}

// Return the gradients summed in the order of the micro-batches, without the binary tree. The bits of this
// sum must differ from those of the tree; otherwise, the order of the additions has no effect in the test.
std::vector<float> sum_in_order(std::span<const std::int64_t> sizes, std::int64_t leaves) {
  const auto parameters = parameters_of(sizes);
  const std::vector<Parameter*> list = pointers(parameters);
  draw(list, 0);
  std::vector<float> total = gradients_of(list);
  for (std::int64_t leaf = 1; leaf < leaves; ++leaf) {
    draw(list, leaf);
    const std::vector<float> next = gradients_of(list);
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += next[i];
  }
  return total;
}

const std::vector<std::int64_t> kSizes{3, 1, 6000, 17, 40, 5};
// Sizes of parameters. With two ranks, the part of each rank is larger than one message.
const std::vector<std::int64_t> kLarge{3, 1100000, 17};

// How the last leaf of a rank is added: `whole` with one call, like the others, or `during` its backward
// pass, as the gradients of parameters become final.
enum class Last { whole, during };

// Add the leaf as a backward pass would: the last parameter's gradient is final first.
void add_during(GradientSum& sum, ThreadPool& pool, std::span<Parameter* const> list, std::int64_t leaf) {
  sum.begin_last();
  draw(list, leaf);
  for (std::size_t left = list.size(); left-- > 2;)
    sum.progress(pool, [&](const Parameter& parameter) {
      return std::find(list.begin(), list.end(), &parameter) - list.begin() >=
             static_cast<std::ptrdiff_t>(left);
    });
}

void expect_bits_of_one_rank(std::span<const std::int64_t> sizes, int ranks, std::int64_t leaves,
                             std::int64_t bucket = GradientSum::kBucket, Last last = Last::whole) {
  const std::vector<float> expected = sum_on_one_rank(sizes, leaves);
  if (leaves > 3) {
    EXPECT_FALSE(equal_bits(expected, sum_in_order(sizes, leaves))) << "the case shows nothing";
  }
  on_ranks(ranks, [&](distributed::Ranks& here) {
    ThreadPool pool(1);
    const auto parameters = parameters_of(sizes);
    const std::vector<Parameter*> list = pointers(parameters);
    GradientSum sum(list, leaves, here, {}, bucket);
    const std::int64_t each = leaves / here.size();
    // Each round starts from zero. After two rounds with Last::during, a third one adds every leaf with one
    // call.
    for (int round = 0; round < (last == Last::during ? 3 : 2); ++round) {
      const bool in_parts = last == Last::during && round < 2;
      const std::int64_t end = (here.rank() + 1) * each;
      for (std::int64_t leaf = here.rank() * each; leaf < end; ++leaf) {
        if (leaf + 1 == end && in_parts) {
          add_during(sum, pool, list, leaf);
          break;
        }
        draw(list, leaf);
        sum.add(pool);
      }
      sum.finish(pool);
      EXPECT_TRUE(equal_bits(gradients_of(list), expected)) << here.size() << " ranks, " << leaves;
    }
  });
}

TEST(GradientSumOfRanks, HasTheBitsOfOneRank) {
  for (const auto& [ranks, leaves] : std::vector<std::pair<int, std::int64_t>>{
           {2, 2}, {2, 4}, {4, 4}, {2, 6}, {3, 3}, {3, 9}, {4, 8}, {5, 5}, {6, 12}, {7, 7}})
    for (const std::int64_t bucket : {std::int64_t{5}, std::int64_t{1000}, GradientSum::kBucket})
      for (const Last last : {Last::whole, Last::during})
        if (bucket != 5 || ranks == 3) expect_bits_of_one_rank(kSizes, ranks, leaves, bucket, last);
  expect_bits_of_one_rank(kLarge, 2, 2);
}

// A bucket is sent as soon as all of its gradients are final, not at the end.
TEST(GradientSumOfRanks, ABucketIsSentWhenItIsFinal) {
  testing::ThreadNetwork network(2);
  on_ranks(network, [&](distributed::Ranks& here) {
    ThreadPool pool(1);
    const auto parameters = parameters_of(std::vector<std::int64_t>{10, 10, 10});
    const std::vector<Parameter*> list = pointers(parameters);
    GradientSum sum(list, 2, here, {}, 15);  // two buckets; each has half of the second parameter
    sum.begin_last();
    draw(list, here.rank());
    const auto sent_with_final = [&](std::size_t first) {
      sum.progress(pool, [&](const Parameter& parameter) {
        return std::find(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), &parameter) !=
               list.end();
      });
      return network.sent(here.rank());
    };
    EXPECT_EQ(sent_with_final(3), 0);
    EXPECT_EQ(sent_with_final(2), 0) << "a part of the bucket is not final";
    const std::int64_t first =
        sent_with_final(1);  // the partial sum for the other rank, and perhaps this rank's total
    EXPECT_TRUE(first == 1 || first == 2) << first;
    sum.finish(pool);
    EXPECT_EQ(network.sent(here.rank()), 4);
  });
}

class GradientShards : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Buckets, GradientShards, ::testing::Values(7, 1000, GradientSum::kBucket));

TEST_P(GradientShards, GiveEachRankItsParameters) {
  const std::vector<float> expected = sum_on_one_rank(kSizes, 4);
  on_ranks(4, [&](distributed::Ranks& here) {
    ThreadPool pool(1);
    const auto parameters = parameters_of(kSizes);
    const std::vector<Parameter*> list = pointers(parameters);
    const std::vector<std::size_t> shards = shard_bounds(list, here.size());
    GradientSum sum(list, 4, here, shards, GetParam());
    add_during(sum, pool, list, here.rank());
    sum.finish(pool);
    const auto rank = static_cast<std::size_t>(here.rank());
    std::size_t at = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto count = static_cast<std::size_t>(list[i]->gradient().elements());
      if (i >= shards[rank] && i < shards[rank + 1]) {
        EXPECT_EQ(std::memcmp(list[i]->gradient().f32(), expected.data() + at, count * sizeof(float)), 0)
            << "rank " << rank << ", parameter " << i;
      }
      at += count;
    }
  });
}

TEST(RankShare, ShardsCoverAllParametersOnceAndAreBalanced) {
  const auto parameters = parameters_of(std::vector<std::int64_t>{10, 10, 10, 10, 10, 10, 10, 10});
  const std::vector<Parameter*> list = pointers(parameters);
  EXPECT_EQ(shard_bounds(list, 1), (std::vector<std::size_t>{0, 8}));
  EXPECT_EQ(shard_bounds(list, 4), (std::vector<std::size_t>{0, 2, 4, 6, 8}));
  const std::vector<std::size_t> many = shard_bounds(list, 20);  // more ranks than parameters
  ASSERT_EQ(many.size(), 21u);
  EXPECT_EQ(many.front(), 0u);
  EXPECT_EQ(many.back(), 8u);
  EXPECT_TRUE(std::is_sorted(many.begin(), many.end()));
}

}  // namespace
}  // namespace regard::train

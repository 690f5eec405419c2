// Decoding is bit-identical regardless of what else is in the batch, the order of the inputs, the number of
// threads and the number of rows decoded at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "infer/search.h"
#include "kernels/isa_fixture.h"
#include "ops/parameter.h"
#include "plain_search.h"

namespace regard::infer {
namespace {

using testing::Tokens;
using Results = std::vector<std::vector<Hypothesis>>;

class Company : public testing::EachIsa {
 protected:
  static std::vector<Tokens> inputs(const Network& model) {
    const bool both = model.kind() == ModelKind::encoder_decoder;
    return testing::random_tokens({5, 1, 17, 9, 3, 70, 12, 33, 2, 16},
                                  both ? model.source_vocabulary() : model.vocabulary(), 32);
  }
  static Results run(Network& model, const std::vector<Tokens>& from, int threads,
                     const SearchOptions& options) {
    ThreadPool pool(threads);
    return model.kind() == ModelKind::encoder_decoder ? translate(model, pool, from, options)
                                                      : generate(model, pool, from, options);
  }
};
REGARD_EACH_ISA(Company);

bool same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Hypothesis& x, const Hypothesis& y) {
    return x.tokens == y.tokens && x.ended == y.ended &&
           std::memcmp(&x.score, &y.score, sizeof(float)) == 0 &&
           std::memcmp(&x.log_probability, &y.log_probability, sizeof(float)) == 0;
  });
}

std::vector<SearchOptions> ways() {
  SearchOptions greedy;
  greedy.start_token = 2;
  greedy.end_tokens = {3, 6};
  greedy.max_new = 12;
  SearchOptions beam = greedy;
  beam.beam = beam.n_best = 3;
  SearchOptions sampled = greedy;
  sampled.sample = true;
  sampled.n_best = 2;
  sampled.top_p = 0.95;
  return {greedy, beam, sampled};
}

TEST_P(Company, LeavesEveryBit) {
  for (const std::string& name : testing::tiny_model_names()) {
    const std::unique_ptr<Network> model = testing::opinionated_model(name);
    const std::vector<Tokens> all = inputs(*model);
    for (SearchOptions options : ways()) {
      Results alone;
      for (const Tokens& one : all) alone.push_back(run(*model, {one}, 1, options)[0]);
      for (const int threads : {1, 2, 3, 8}) {
        const Results together = run(*model, all, threads, options);
        for (std::size_t i = 0; i < all.size(); ++i)
          ASSERT_TRUE(same(together[i], alone[i])) << name << ", " << threads << " threads, input " << i;
      }
      // Seven rows are too few for all requests, so some wait until others end.
      options.rows_at_once = 7;
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::rotate(order.begin(), order.begin() + 3, order.end());
      std::swap(order[1], order[6]);
      std::vector<Tokens> shuffled;
      for (const std::size_t i : order) shuffled.push_back(all[i]);
      const Results others = run(*model, shuffled, 2, options);
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_TRUE(same(others[i], alone[order[i]])) << name << ", few rows, input " << order[i];
    }
  }
}

// Negative control: the comparison detects a score that differs in its last bit, and a model with a slightly
// changed weight.
TEST_P(Company, NegativeControl) {
  const std::unique_ptr<Network> model = testing::opinionated_model("translator");
  const SearchOptions options = ways()[1];
  const std::vector<Tokens> all = inputs(*model);
  const Results before = run(*model, all, 2, options);
  std::vector<Hypothesis> other = before[0];
  other[1].score = std::nextafter(other[1].score, 0.0f);
  EXPECT_FALSE(same(before[0], other));
  for (Parameter* parameter : model->parameters())
    if (parameter->name.find("decoder.layers.1.feed_forward.down") != std::string::npos)
      parameter->value().f32()[3] += 1e-5f;
  const Results after = run(*model, all, 2, options);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) changed += same(before[i], after[i]) ? 0 : 1;
  EXPECT_GT(changed, 0u);
}

}  // namespace
}  // namespace regard::infer

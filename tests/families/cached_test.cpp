// For every family with a decoder, decoding in steps with the key/value cache gives the same bits as one pass
// over the whole sequence.
#include <gtest/gtest.h>

#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

TEST(CachedFamilies, GiveTheBitsOfOnePass) {
  const std::vector<std::size_t> together{0, 1, 2}, shuffled{2, 0, 1};
  std::size_t families = 0;
  for (const std::string& name : testing::hf_folder_names()) {
    const auto model = load_model(formats::ModelFolder::open(testing::HfFolder(name).path));
    if (model->kind() == ModelKind::encoder) continue;
    if (model->input_spec().kind != InputKind::tokens) continue;  // pixel_source_test.cpp tests other inputs
    ++families;
    std::vector<testing::Tokens> sources;
    if (model->kind() == ModelKind::encoder_decoder)
      sources = testing::random_tokens({3, 20, 7}, model->source_vocabulary(), 31);
    const auto targets = testing::random_tokens({11, 1, 18}, model->vocabulary(), 32);
    std::vector<std::vector<float>> alone;
    testing::Runner single(*model, sources, targets, 1);
    for (const std::size_t i : together) alone.push_back(single.full({i})[0]);
    for (const int threads : {1, 2, 3, 8}) {
      testing::Runner runner(*model, sources, targets, threads);
      for (const auto& order : {together, shuffled}) {
        const auto full = runner.full(order);
        for (const std::int64_t step : {1, 5}) {
          const auto cached = runner.cached(order, step);
          for (std::size_t i = 0; i < order.size(); ++i) {
            ASSERT_EQ(full[i], alone[order[i]]) << name << ", " << threads << " threads";
            ASSERT_EQ(cached[i], alone[order[i]])
                << name << ", " << threads << " threads, steps of " << step << ", sequence " << order[i];
          }
        }
      }
    }
  }
  EXPECT_GE(families, 12u);
}

}  // namespace
}  // namespace regard::testing

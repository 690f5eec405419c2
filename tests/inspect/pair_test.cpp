// The weights that `attend` shows for a pair of texts equal the weights of transformers, including
// tokenization. For a generated continuation, `attend` shows prompt and continuation.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "support/golden.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::inspect {
namespace {

TEST(AttendPair, ShowsTheReferencesWeights) {
  const auto folder = testing::golden("hf-more/bert-nli");
  const auto loaded = infer::LoadedModel::open(folder);
  ThreadPool pool(2);
  const testing::Golden golden("hf-more", "bert-nli");
  const Tensor ids = golden.tensor("input_ids"), weights = golden.tensor("attentions.1");
  const Json& texts = golden.about()["texts"];
  const std::int64_t heads = weights.shape()[1], length = weights.shape()[2];
  for (std::size_t i = 0; i < texts.size(); ++i) {
    AttendRequest request;
    request.text = texts[i][0].get<std::string>(), request.pair = texts[i][1].get<std::string>();
    request.selection.layers = {1};
    const View view = attend(loaded, pool, request);
    ASSERT_EQ(std::ssize(view.maps), heads);
    EXPECT_EQ(view.heading(), request.text + " | " + request.pair);
    EXPECT_EQ(parse_json(to_json(view), "view")["pair"], request.pair);
    const auto row = static_cast<std::int64_t>(i);
    for (std::int64_t h = 0; h < heads; ++h) {
      const Map& map = view.maps[static_cast<std::size_t>(h)];
      ASSERT_LE(map.rows, length);
      for (std::int64_t q = 0; q < map.rows; ++q)
        for (std::int64_t k = 0; k < map.columns; ++k)
          ASSERT_NEAR(map.at(q, k), weights.f32()[((row * heads + h) * length + q) * length + k], 2e-5f)
              << texts[i] << " head " << h;
    }
    EXPECT_EQ(std::count(view.tokens.source.begin(), view.tokens.source.end(), "[SEP]"), 2);
  }
}

TEST(AttendPair, IsForEncodersAndTheyWriteNothing) {
  const auto loaded = infer::LoadedModel::open(testing::golden("hf-more/bert-nli"));
  ThreadPool pool(1);
  AttendRequest request;
  request.text = "slow star";
  EXPECT_REGARD_ERROR(generate_target(loaded, pool, request, 3), ErrorKind::usage, "has no decoder");
  EXPECT_REGARD_ERROR(infer::LoadedModel::open(testing::golden("hf-tiny/vit")), ErrorKind::usage,
                      "expected image input, found text");
}

}  // namespace
}  // namespace regard::inspect

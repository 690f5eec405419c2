// `regard run` with an attention_mask for a batch of sounds: the results of each sequence are bit-identical
// to those of the sequence in a batch of its own. The results of transformers differ in two cases: after a
// norm over all frames, and in the last frame if convolutions after the encoder read states after the end of
// the sequence (add_adapter).
#include <gtest/gtest.h>

#include <cstring>

#include "inspect/run_tensors.h"
#include "models/weights.h"
#include "regard/error.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kSamples = 400, kKept = 250;

std::unique_ptr<Network> model_of(const std::string& name) {
  return load_model(formats::ModelFolder::open(testing::golden("hf-tiny/" + name)));
}

Tensor samples(std::int64_t sequences) {
  Tensor all = Tensor::empty({sequences, kSamples});
  for (std::int64_t i = 0; i < all.elements(); ++i)
    all.f32()[i] = static_cast<float>((i * 37) % 101) * 0.02f - 1.0f;
  return all;
}

Tensor mask(std::int64_t sequences, std::int64_t kept_of_last) {
  Tensor all = Tensor::zeros({sequences, kSamples}, DType::i64);
  for (std::int64_t s = 0; s < sequences; ++s)
    std::fill_n(all.i64() + s * kSamples, s + 1 == sequences ? kept_of_last : kSamples, std::int64_t{1});
  return all;
}

void expect_bits_of_each_alone(const std::string& name, std::int64_t kept) {
  SCOPED_TRACE(name);
  const auto model = model_of(name);
  ThreadPool pool(2);
  const Tensor input = samples(2);
  const Tensor both =
      inspect::run_tensors(*model, pool, {{"input_values", input}, {"attention_mask", mask(2, kept)}}, {})
          .at("logits");
  Tensor cut = Tensor::empty({1, kept});
  std::copy_n(input.row(1), kept, cut.f32());
  const Tensor alone = inspect::run_tensors(*model, pool, {{"input_values", cut}}, {}).at("logits");
  const Tensor whole =
      inspect::run_tensors(*model, pool, {{"input_values", input.slice_rows(0, 1)}}, {}).at("logits");
  const std::int64_t frames = alone.shape()[1], labels = alone.shape()[2];
  ASSERT_GT(frames, 0);
  ASSERT_LT(frames, both.shape()[1]);
  EXPECT_EQ(both.shape()[1], whole.shape()[1]);
  EXPECT_EQ(std::memcmp(both.f32(), whole.f32(), static_cast<std::size_t>(whole.elements()) * sizeof(float)),
            0);
  const float* second = both.f32() + whole.elements();
  EXPECT_EQ(std::memcmp(second, alone.f32(), static_cast<std::size_t>(alone.elements()) * sizeof(float)), 0);
  for (std::int64_t i = frames * labels; i < whole.elements(); ++i) ASSERT_EQ(second[i], 0.0f) << i;
}

TEST(SoundMask, GivesTheBitsOfTheSequenceAlone) {
  expect_bits_of_each_alone("wav2vec2-stable", kKept);
  // Convolutions after the encoder read no frames after the end of a sequence: 24 and 23 states.
  expect_bits_of_each_alone("wav2vec2-downsampled-mask", kKept);
  expect_bits_of_each_alone("wav2vec2-downsampled-mask", kKept - 10);
}

TEST(SoundMask, IsRefusedWhereItCannotHold) {
  ThreadPool pool(1);
  const auto refused = [&](const std::string& name, const Tensor& given) {
    try {
      const auto model = model_of(name);
      (void)inspect::run_tensors(*model, pool, {{"input_values", samples(1)}, {"attention_mask", given}}, {});
      return std::string("accepted");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_input);
      return std::string(error.what());
    }
  };
  EXPECT_NE(refused("wav2vec2", mask(1, kKept)).find("group norm would include the padding"),
            std::string::npos);
  EXPECT_EQ(refused("wav2vec2", mask(1, kSamples)), "accepted");
  Tensor holes = mask(1, kSamples);
  holes.i64()[7] = 0;
  EXPECT_NE(refused("wav2vec2-stable", holes).find("a 1 after a 0"), std::string::npos);
  EXPECT_NE(refused("wav2vec2-stable", mask(1, 1)).find("at least"), std::string::npos);
  EXPECT_NE(refused("wav2vec2-stable", mask(2, kKept)).find("wrong shape"), std::string::npos);
}

}  // namespace
}  // namespace regard::testing

// Sweeps over the heads of two encoders equal passes over each text and each image alone.
#include "inspect/pair_sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "inspect/attend.h"
#include "inspect/resolve.h"
#include "ops/unit_rows.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::EditedPass;
using inspect::Head;
using inspect::ImageTextPair;

class PairSweepOf : public ::testing::Test {
 protected:
  ImageTextPair pair(int number) {
    ImageTextPair one;
    one.name = "image " + std::to_string(number), one.caption = number % 3 == 0 ? "a cat" : "a red dog";
    one.text = loaded_.read(one.caption + " " + std::to_string(number));
    model().pad(one.text.ids);
    one.image = model().vision().input_spec().blank();
    for (std::int64_t i = 0; i < one.image.values.elements(); ++i)
      one.image.values.f32()[i] = static_cast<float>((i * 37 + number * 101) % 199) / 100.0f - 1.0f;
    return one;
  }
  std::vector<ImageTextPair> pairs(int count) {
    std::vector<ImageTextPair> all;
    for (int i = 0; i < count; ++i) all.push_back(pair(i));
    return all;
  }
  DualEncoder& model() { return *dual_encoder_of(*loaded_.model); }
  Network& encoder(const std::string& tower) { return tower == "text" ? model().text() : model().vision(); }

  // Return the normalised vectors of one encoder, computed one input at a time.
  Tensor vectors(const std::string& tower, const std::vector<ImageTextPair>& all, const Head* off) {
    Tensor rows = Tensor::empty({std::ssize(all), model().size()});
    for (std::size_t i = 0; i < all.size(); ++i) {
      EditedPass edits;
      if (off != nullptr) {
        inspect::ValueEdit edit = inspect::ModelPoints::of(encoder(tower), pool_).of_head(*off);
        edit.tower = tower;
        edits.add(std::move(edit));
      }
      Arena arena;
      Tape tape(pool_, arena);
      tape.begin({});
      tape.probe = &edits;
      InputBuffer buffer;
      const ModelInput& input = tower == "text" ? all[i].text : all[i].image;
      buffer.add(input, encoder(tower).input_spec().length_of(input), 0);
      const Var hidden = model().encode(tape, buffer.batch());
      const Var one = tower == "text" ? model().text_vectors(tape, hidden, buffer.batch())
                                      : model().image_vectors(tape, hidden, buffer.batch());
      const Var unit = ops::unit_rows(tape, one);
      std::copy_n(unit->value.f32(), model().size(), rows.row(static_cast<std::int64_t>(i)));
    }
    return rows;
  }
  double loss(const Tensor& texts, const Tensor& images) {
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    return static_cast<double>(
        model().contrastive_loss(tape, tape.constant(texts), tape.constant(images))->value.f32()[0]);
  }

  ThreadPool pool_{1};
  infer::LoadedModel loaded_ = infer::LoadedModel::open(golden("hf-more/clip-words"));
};

// A pass reads at most 32 texts or images, so 33 pairs need two passes.
TEST_F(PairSweepOf, EveryLossHasTheBitsOfSinglePasses) {
  const std::vector<ImageTextPair> all = pairs(33);
  const Tensor texts = vectors("text", all, nullptr), images = vectors("vision", all, nullptr);
  const inspect::PairSweep sweep = inspect::sweep_pairs(loaded_, pool_, all, {});
  EXPECT_EQ(sweep.loss, loss(texts, images));
  std::size_t heads = 0;
  for (const std::string tower : {"text", "vision"})
    for (const Head& head : inspect::ModelPoints::of(encoder(tower), pool_).all_heads()) {
      ++heads;
      const Tensor changed = vectors(tower, all, &head);
      const double expected = tower == "text" ? loss(changed, images) : loss(texts, changed);
      const auto found = std::ranges::find(sweep.heads, tower + "." + head.text(), &inspect::TowerHead::name);
      ASSERT_NE(found, sweep.heads.end()) << head.text();
      EXPECT_EQ(found->loss, expected) << found->name;
      EXPECT_EQ(found->lost, expected - sweep.loss) << found->name;
    }
  ASSERT_EQ(sweep.heads.size(), heads);
  for (std::size_t i = 1; i < heads; ++i) EXPECT_GE(sweep.heads[i - 1].loss, sweep.heads[i].loss);
  EXPECT_GT(sweep.heads.front().loss, sweep.heads.back().loss);
}

TEST_F(PairSweepOf, ProgressIsTheShareOfMeasuredHeads) {
  const std::vector<ImageTextPair> all = pairs(2);
  const std::size_t heads = inspect::sweep_pairs(loaded_, pool_, all, {}).heads.size();
  std::vector<double> shares, expected;
  for (std::size_t i = 0; i < heads; ++i)
    expected.push_back(static_cast<double>(i + 1) / static_cast<double>(heads));
  inspect::PairSweepOptions options;
  options.progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  inspect::sweep_pairs(loaded_, pool_, all, options);
  EXPECT_EQ(shares, expected);
  options.progress = [](double) { return false; };
  EXPECT_REGARD_ERROR(inspect::sweep_pairs(loaded_, pool_, all, options), ErrorKind::cancelled, "stopped");
}

TEST_F(PairSweepOf, ALossThatIsNotFiniteIsAnError) {
  std::vector<ImageTextPair> all = pairs(2);
  all[1].image.values.f32()[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_REGARD_ERROR(inspect::sweep_pairs(loaded_, pool_, all, {}), ErrorKind::numeric,
                      "the loss of the model on this data is not finite (found nan)");
}

TEST_F(PairSweepOf, KindsAreThoseOfOneEncoderAtATime) {
  const std::vector<ImageTextPair> all = pairs(2);
  std::size_t calls = 0;
  const auto kinds = inspect::pair_head_kinds(loaded_, pool_, all, [&calls] { ++calls; });
  EXPECT_EQ(calls, 4u) << "two texts and two images";
  for (const inspect::TowerHead& one : kinds) {
    const bool text = one.name.starts_with("text.");
    double entropy = 0;
    for (const ImageTextPair& pair : all) {
      inspect::AttendRequest request;
      request.text = pair.name, request.input = text ? pair.text : pair.image;
      request.network = &encoder(text ? "text" : "vision");
      const inspect::View view = inspect::attend(loaded_, pool_, request);
      for (const inspect::Map& map : view.maps)
        if (one.name == (text ? "text." : "vision.") + map.head.text()) entropy += map.summary->entropy / 2;
    }
    EXPECT_NEAR(one.mean.entropy, entropy, 1e-12) << one.name;
    EXPECT_GT(entropy, 0) << one.name;
  }
}

TEST_F(PairSweepOf, ReadsAsManyPairsAsRequested) {
  std::size_t read = 0, calls = 0;
  inspect::MediaReader media;
  media.rows = [&](const data::DataFiles&) {
    std::vector<inspect::MediaRow> rows;
    for (int i = 0; i < 4; ++i) {
      inspect::MediaInput input;
      input.file.input = pair(i).image;
      rows.push_back({"image " + std::to_string(i),
                      "a cat " + std::to_string(i),
                      {"pairs.tsv", i + 1, -1},
                      [&read, input] {
                        ++read;
                        return input;
                      }});
    }
    return rows;
  };
  inspect::StudyDataOptions options;
  EXPECT_REGARD_ERROR(inspect::read_image_texts(loaded_, {}, options), ErrorKind::usage,
                      "this call cannot read image files (expected a model that reads texts, found a model "
                      "that reads images and texts)");
  const inspect::MediaReader none;
  options.media = &none;
  EXPECT_REGARD_ERROR(inspect::read_image_texts(loaded_, {}, options), ErrorKind::usage,
                      "cannot read image files");
  options.media = &media;
  options.between = [&calls] { ++calls; };
  for (const std::size_t most : {0u, 2u, 3u, 9u}) {
    read = calls = 0;
    options.most_examples = static_cast<std::int64_t>(most);
    const std::vector<ImageTextPair> found = inspect::read_image_texts(loaded_, {}, options);
    ASSERT_EQ(found.size(), most == 0 ? 4u : std::min<std::size_t>(most, 4)) << most;
    EXPECT_EQ(read, found.size());
    EXPECT_EQ(calls, found.size());
    EXPECT_EQ(found[1].name, "image 1");
    EXPECT_EQ(found[1].caption, "a cat 1");
    std::vector<std::int32_t> ids = loaded_.read("a cat 1").ids;
    model().pad(ids);
    EXPECT_EQ(found[1].text.ids, ids);
  }
  options.most_examples = 1;
  EXPECT_REGARD_ERROR(inspect::read_image_texts(loaded_, {}, options), ErrorKind::usage,
                      "too few pairs of an image and a text for the contrastive loss (expected at least 2, "
                      "found 1)");
}

}  // namespace
}  // namespace regard::testing

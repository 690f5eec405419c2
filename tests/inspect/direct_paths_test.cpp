// Path patching in a model with more than ten layers, whose numbers have two digits.
#include <gtest/gtest.h>

#include <set>

#include "inspect/answer_pass.h"
#include "inspect/edited_pass.h"
#include "inspect/patching.h"
#include "inspect/resolve.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::EditedPass;

class DirectPaths : public ::testing::Test {
 protected:
  DirectPaths() {
    TransformerConfig config = tiny_config("gpt");
    config.layers = 12;
    model_ = make_transformer(config);
    initialise(*model_, 3);
    clean_.target = {3, 9, 7, 5}, other_.target = {3, 8, 7, 5};
  }

  std::unique_ptr<Network> model_;
  ThreadPool pool_{1};
  inspect::PassInput clean_, other_;
  inspect::AnswerDifference answer_{3, 1, 2};
};

// In a pre-norm model, the direct path of a component adds the change of its output to the last residual.
TEST_F(DirectPaths, AreChangesOfTheLastResidual) {
  const inspect::PatchResult found = inspect::patch_components(*model_, pool_, clean_, other_, answer_,
                                                               {.mode = inspect::PatchMode::direct});
  std::size_t compared = 0;
  for (const inspect::PatchEffect& effect : found.effects) {
    EXPECT_EQ(effect.position, -1);
    if (effect.head) continue;
    const std::string point = effect.component + ".output";
    inspect::PointCapture clean, other;
    clean.want(point), other.want(point);
    inspect::run_pass(*model_, pool_, clean_, &clean);
    inspect::run_pass(*model_, pool_, other_, &other);
    Tensor change = clean.at(point).clone();
    for (std::int64_t i = 0; i < change.elements(); ++i) change.f32()[i] -= other.at(point).f32()[i];
    EditedPass edits;
    edits.add(inspect::ValueEdit{"decoder.11.residual", 0, model_->hidden_size(), 1.0f, change, true, {}});
    const double expected = inspect::answer_difference(*model_, pool_, other_, answer_, &edits);
    EXPECT_NEAR(effect.difference, expected, 1e-5) << effect.component;
    EXPECT_NE(effect.difference, found.corrupted) << effect.component;
    EXPECT_NEAR(effect.effect, (effect.difference - found.corrupted) / (found.clean - found.corrupted),
                1e-12);
    ++compared;
  }
  EXPECT_EQ(compared, 12u);
}

// Two equal inputs have no difference that a patch could restore.
TEST_F(DirectPaths, EqualInputsHaveNoEffect) {
  for (const inspect::PatchMode mode : {inspect::PatchMode::total, inspect::PatchMode::direct}) {
    const inspect::PatchResult found =
        inspect::patch_components(*model_, pool_, clean_, clean_, answer_, {.mode = mode});
    EXPECT_EQ(found.clean, found.corrupted);
    for (const inspect::PatchEffect& effect : found.effects) {
      EXPECT_EQ(effect.difference, found.clean) << effect.component;
      EXPECT_EQ(effect.effect, 0.0) << effect.component;
    }
  }
}

TEST_F(DirectPaths, InputsHaveEqualLengths) {
  other_.target.push_back(6);
  EXPECT_REGARD_ERROR(inspect::patch_components(*model_, pool_, clean_, other_, answer_), ErrorKind::usage,
                      "the two inputs of patching have different numbers of tokens (expected 4 tokens, found "
                      "5 tokens). Give two texts of equal length");
  model_ = tiny_model("translator");
  other_.target.pop_back();
  clean_.source.ids = {4, 5}, other_.source.ids = {4, 5, 6};
  EXPECT_REGARD_ERROR(inspect::patch_components(*model_, pool_, clean_, other_, answer_), ErrorKind::usage,
                      "(expected 2 tokens in the encoder and 4 tokens in the decoder, found 3 tokens in the "
                      "encoder and 4 tokens in the decoder)");
}

// A state file belongs to an input: its tokens, its types and the values of an image or sound.
TEST_F(DirectPaths, TheHashOfAnInputDependsOnAllOfIt) {
  std::set<std::string> hashes{inspect::hash_of(clean_)};
  inspect::PassInput changed = clean_;
  changed.target[3] = 6;
  EXPECT_TRUE(hashes.insert(inspect::hash_of(changed)).second);
  changed = clean_, changed.source.ids = {3};
  EXPECT_TRUE(hashes.insert(inspect::hash_of(changed)).second);
  changed.source.types = {1};
  EXPECT_TRUE(hashes.insert(inspect::hash_of(changed)).second);
  changed = clean_, changed.source.values = Tensor::of({2, 1}, {0.5f, 0.25f});
  EXPECT_TRUE(hashes.insert(inspect::hash_of(changed)).second);
  changed.source.values = Tensor::of({2, 1}, {0.5f, 0.125f});
  EXPECT_TRUE(hashes.insert(inspect::hash_of(changed)).second);
  changed.source.values = Tensor::of({2, 1}, {0.5f, 0.25f});
  EXPECT_FALSE(hashes.insert(inspect::hash_of(changed)).second);
  EXPECT_EQ(inspect::text_of({3, 1, 2}), "1 minus 2 at position 3");
  EXPECT_EQ(inspect::text_of({3, 1, -1}), "1 at position 3");
  EXPECT_EQ(inspect::text_of({0, -1, 0}), "with the highest logit minus 0 at position 0");
}

}  // namespace
}  // namespace regard::testing

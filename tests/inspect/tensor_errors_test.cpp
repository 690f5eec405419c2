// Errors of `regard run` for tensors that a model cannot read, and the loss of several classes.
#include <gtest/gtest.h>

#include <cmath>

#include "inspect/attend_tensors.h"
#include "inspect/run_tensors.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::TensorMap;
using inspect::TensorRunOptions;

Tensor integers(const Shape& shape, std::int64_t value, DType dtype = DType::i64) {
  Tensor all = Tensor::empty(shape, dtype);
  for (std::int64_t i = 0; i < all.elements(); ++i)
    if (dtype == DType::i64)
      all.i64()[i] = value;
    else
      all.i32()[i] = static_cast<std::int32_t>(value);
  return all;
}

// Runs the model of a folder of tests/data.
class Tensors {
 public:
  explicit Tensors(const std::string& folder)
      : model_(load_model(formats::ModelFolder::open(golden(folder)))) {}

  TensorMap run(const TensorMap& inputs, const TensorRunOptions& options = {}) {
    return inspect::run_tensors(*model_, pool_, inputs, options);
  }
  void expect_error(const TensorMap& inputs, const std::string& message, const TensorRunOptions& options = {},
                    ErrorKind kind = ErrorKind::invalid_input) {
    EXPECT_REGARD_ERROR(run(inputs, options), kind, message);
  }

 private:
  std::unique_ptr<Network> model_;
  ThreadPool pool_{1};
};

TEST(TensorErrors, OfTokens) {
  Tensors bert("hf-tiny/bert");
  const Tensor ids = integers({2, 3}, 5);
  EXPECT_NO_THROW(bert.run({{"input_ids", integers({2, 3}, 5, DType::i32)}}));
  bert.expect_error({}, "the input \"input_ids\" is missing");
  bert.expect_error({{"input_ids", Tensor::zeros({2, 3})}},
                    "\"input_ids\" has a wrong dtype (expected i64 or i32, found f32)");
  bert.expect_error({{"input_ids", integers({6}, 5)}},
                    "\"input_ids\" has a wrong shape (expected [batch, length], found [6])");
  for (const std::int64_t wrong : {std::int64_t{1} << 31, -(std::int64_t{1} << 31) - 1})
    bert.expect_error({{"input_ids", integers({2, 3}, wrong)}},
                      "\"input_ids\" has an integer outside the range of 32 bits (expected -2147483648 to "
                      "2147483647, found " +
                          std::to_string(wrong) + ")");
  for (const char* name : {"attention_mask", "token_type_ids", "position_ids"})
    bert.expect_error({{"input_ids", ids}, {name, integers({2, 4}, 1)}},
                      std::string("\"") + name + "\" has a wrong shape (expected [2, 3], found [2, 4])");
  for (const std::int64_t wrong : {-1, 2})
    bert.expect_error(
        {{"input_ids", ids}, {"attention_mask", integers({2, 3}, wrong)}},
        "\"attention_mask\" has an invalid value (expected 0 or 1, found " + std::to_string(wrong) + ")");
  bert.expect_error({{"input_ids", ids}},
                    "the model has none of the requested outputs (expected names of outputs, hidden_states, "
                    "attentions, gradients or all)",
                    {.capture = {"nothing"}}, ErrorKind::usage);
}

TEST(TensorErrors, OfImagesAndSounds) {
  Tensors vit("hf-tiny/vit"), whisper("hf-tiny/whisper"), ast("hf-tiny/ast"), wav("hf-tiny/wav2vec2-stable");
  vit.expect_error({{"pixel_values", integers({1, 3, 8, 8}, 1)}},
                   "\"pixel_values\" has a wrong dtype (expected f32, found i64)");
  whisper.expect_error({{"input_features", Tensor::zeros({2, 3})}},
                       "\"input_features\" has a wrong shape (expected [batch, features, frames], found "
                       "[2, 3])");
  ast.expect_error({{"input_values", Tensor::zeros({2, 3})}},
                   "\"input_values\" has a wrong shape (expected [batch, frames, features], found [2, 3])");
  wav.expect_error({{"input_values", Tensor::zeros({400})}},
                   "\"input_values\" has a wrong shape (expected [batch, samples], found [400])");
  wav.expect_error({{"input_values", integers({1, 400}, 1)}},
                   "\"input_values\" has a wrong dtype (expected f32, found i64)");
}

TEST(TensorErrors, OfLabels) {
  const Tensor ids = integers({2, 3}, 5);
  Tensors mlm("hf-tiny/bert-mlm"), classes("hf-tiny/bert-classifier"), base("hf-tiny/bert");
  mlm.expect_error({{"input_ids", ids}, {"labels", integers({2, 4}, 1)}},
                   "\"labels\" has a wrong shape (expected [2, 3], found [2, 4])");
  const std::string none = "no label contributes to the loss (expected at least one label other than -100)";
  mlm.expect_error({{"input_ids", ids}, {"labels", integers({2, 3}, -100)}}, none);
  const std::string wrong = "\"labels\" has a wrong shape or type (expected i64 [2], found ";
  classes.expect_error({{"input_ids", ids}, {"labels", integers({3}, 1)}}, wrong + "i64 [3])");
  classes.expect_error({{"input_ids", ids}, {"labels", integers({2}, 1, DType::i32)}}, wrong + "i32 [2])");
  Tensor logits = classes.run({{"input_ids", ids}}).at("logits");
  const std::int64_t count = logits.shape()[1];
  EXPECT_NO_THROW(classes.run({{"input_ids", ids}, {"labels", integers({2}, count - 1)}}));
  for (const std::int64_t label : {std::int64_t{-1}, count})
    classes.expect_error({{"input_ids", ids}, {"labels", integers({2}, label)}},
                         "\"labels\" has a class out of range (expected classes from 0 to " +
                             std::to_string(count - 1) + ", or -100 for an ignored sequence, found " +
                             std::to_string(label) + ")");
  base.expect_error({{"input_ids", ids}, {"labels", integers({2, 3}, 1)}},
                    "this model has no built-in loss. Use loss_weight.OUTPUT instead", {}, ErrorKind::usage);
  // With computed padding, labels of masked tokens do not contribute.
  Tensors flags("hf-tiny/electra-discriminator");
  flags.expect_error({{"input_ids", ids}, {"attention_mask", integers({2, 3}, 0)}, {"labels", ids}}, none,
                     {.capture = {"loss"}, .compute_padding = true});
  Tensors ctc("hf-tiny/wav2vec2-stable");
  const Tensor sound = Tensor::zeros({2, 400});
  for (const Tensor& labels : {integers({2}, 1), integers({3, 1}, 1), integers({2, 1}, 1, DType::i32)})
    ctc.expect_error({{"input_values", sound}, {"labels", labels}},
                     "\"labels\" has a wrong shape or type (expected i64 [2, labels], found ");
}

TEST(TensorErrors, OfLossWeights) {
  Tensors bert("hf-tiny/bert");
  const Tensor ids = integers({2, 3}, 5);
  bert.expect_error({{"input_ids", ids}, {"loss_weight.logits", Tensor::zeros({2, 3})}},
                    "the model has no output of this name for loss_weight (expected one of "
                    "last_hidden_state, pooler_output, found logits)");
  bert.expect_error({{"input_ids", ids}, {"loss_weight.pooler_output", integers({2, 32}, 1)}},
                    "\"loss_weight.pooler_output\" has a wrong dtype (expected f32, found i64)");
  bert.expect_error({{"input_ids", ids}, {"loss_weight.pooler_output", Tensor::zeros({2, 31})}},
                    "\"loss_weight.pooler_output\" has a wrong shape (expected the shape of the output "
                    "\"pooler_output\", found [2, 31])");
}

// The mean over all classes of −log σ(±logit).
TEST(SeveralClassesLoss, IsTheMeanBinaryCrossEntropy) {
  Tensors model("hf-more/bert-multilabel");
  TensorMap inputs{{"input_ids", integers({2, 3}, 5)}};
  const Tensor logits = model.run(inputs).at("logits");
  Tensor labels = Tensor::zeros(logits.shape());
  double sum = 0;
  for (std::int64_t i = 0; i < labels.elements(); ++i) {
    const bool on = i % 3 == 0;
    labels.f32()[i] = on ? 1.0f : 0.0f;
    sum += std::log1p(std::exp((on ? -1.0 : 1.0) * static_cast<double>(logits.f32()[i])));
  }
  inputs["labels"] = labels;
  EXPECT_NEAR(model.run(inputs).at("loss").f32()[0], sum / static_cast<double>(labels.elements()), 1e-6);
  inputs["labels"] = Tensor::zeros({2, labels.shape()[1] + 1});
  model.expect_error(inputs,
                     "\"labels\" has a wrong shape (expected " + labels.shape().text() + ", found [2, ");
}

TEST(TensorErrors, OfTwoEncoders) {
  Tensors clip("hf-more/clip");
  const std::string missing =
      "the inputs \"input_ids\" and \"pixel_values\" are missing (expected at least one "
      "of them)";
  clip.expect_error({}, missing);
  const Golden golden_of("hf-more", "clip");
  const TensorMap images{{"pixel_values", golden_of.tensor("pixel_values")}};
  clip.expect_error(images,
                    "the model has none of the requested outputs (expected names of outputs, "
                    "text_model_output, vision_model_output, gradients or all)",
                    {.capture = {"text_embeds"}}, ErrorKind::usage);
  infer::LoadedModel loaded;
  loaded.model = load_model(formats::ModelFolder::open(golden("hf-more/clip")));
  ThreadPool pool(1);
  std::vector<inspect::View> views;
  const auto attend = [&](const TensorMap& inputs) {
    views.clear();
    inspect::attend_tensors(loaded, pool, inputs, {},
                            [&views](inspect::View view) { views.push_back(std::move(view)); });
    return views.size();
  };
  EXPECT_REGARD_ERROR(attend({}), ErrorKind::invalid_input, missing);
  EXPECT_EQ(attend(images), static_cast<std::size_t>(images.at("pixel_values").shape()[0]));
  EXPECT_EQ(views[0].text, "pixel_values[0]");
  EXPECT_EQ(attend({{"input_ids", golden_of.tensor("input_ids")}}),
            static_cast<std::size_t>(golden_of.tensor("input_ids").shape()[0]));
}

TEST(TensorErrors, OfRowsOfAnEncoderDecoder) {
  infer::LoadedModel loaded;
  loaded.model = load_model(formats::ModelFolder::open(golden("hf-tiny/bart")));
  ThreadPool pool(1);
  std::vector<inspect::View> views;
  const auto attend = [&](std::int64_t sources, std::int64_t targets, const Tensor& mask) {
    views.clear();
    TensorMap inputs{{"input_ids", integers({sources, 3}, 5)},
                     {"decoder_input_ids", integers({targets, 2}, 6)}};
    if (mask.defined()) inputs["decoder_attention_mask"] = mask;
    inspect::attend_tensors(loaded, pool, inputs, {},
                            [&views](inspect::View view) { views.push_back(std::move(view)); });
  };
  EXPECT_REGARD_ERROR(attend(3, 2, {}), ErrorKind::invalid_input,
                      "the encoder's input has a wrong number of rows (expected 2 rows, as in the decoder's "
                      "input, found 3 rows)");
  EXPECT_REGARD_ERROR(attend(2, 2, integers({2, 2}, 0)), ErrorKind::invalid_input,
                      "row 0 of \"decoder_input_ids\" has no tokens (expected at least one token)");
  attend(2, 2, {});
  ASSERT_EQ(views.size(), 2u);
  // The token after the last position is the most probable one.
  const inspect::View& view = views[1];
  EXPECT_EQ(view.tokens.target.size(), 2u);
  ASSERT_EQ(view.steps.size(), 2u);
  ASSERT_EQ(view.tokens.written_origin.size(), 2u);
  EXPECT_EQ(view.tokens.written_origin[0].id, 6);
  EXPECT_EQ(view.tokens.written_origin[1].id, view.steps[1].candidates[0].id);
  EXPECT_EQ(view.steps[1].written_logit, view.steps[1].candidates[0].logit);
  EXPECT_EQ(view.tokens.written[1], view.steps[1].candidates[0].text);
}

}  // namespace
}  // namespace regard::testing

// Errors of calls with wrong inputs: empty sequences, two inputs with different numbers of sequences, and
// calls that need a head or an encoder that the model does not have. The message names the sequence or the
// part.
#include <gtest/gtest.h>

#include "base/json.h"
#include "nn/cache.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

std::unique_ptr<Network> of_golden(const std::string& name) {
  auto model = make_model(read_json(testing::golden("hf-tiny/" + name + "/config.json").string()));
  initialise(*model, 1);
  return model;
}

std::unique_ptr<Network> of_type(const std::string& family, const std::string& architecture,
                                 const Json& more = Json::object()) {
  Json config{{"model_type", "regard-" + family},
              {"architectures", {architecture}},
              {"vocabulary", 9},
              {"hidden_size", 4},
              {"layers", 1}};
  for (const auto& [key, value] : more.items()) config[key] = value;
  auto model = make_model(config);
  initialise(*model, 1);
  return model;
}

// A batch of sequences of token 1 with these lengths.
struct Batch {
  explicit Batch(std::initializer_list<std::int64_t> lengths) {
    for (const std::int64_t length : lengths) {
      side.ids.insert(side.ids.end(), static_cast<std::size_t>(length), 1);
      side.buffer.add(length, 0);
    }
  }
  TokenBatch batch() const { return side.batch(); }
  testing::Side side;
};

class WrongInput : public ::testing::Test {
 protected:
  WrongInput() { tape_.begin({}); }
  Var states(const Network& model, const Batch& batch) {
    return tape_.constant(arena_.zeros({std::ssize(batch.side.ids), model.hidden_size()}));
  }
  void head(Network& model, const Batch& batch) { model.head(tape_, states(model, batch), batch.batch()); }

  ThreadPool pool_{1};
  Arena arena_;
  Tape tape_{pool_, arena_};
};

TEST_F(WrongInput, ASequenceWithoutTokensHasNoClass) {
  std::vector<std::unique_ptr<Network>> models;
  for (const char* pooling : {"last", "mean", "max"})
    models.push_back(of_type("gru", "GruForSequenceClassification", {{"pooling", pooling}}));
  models.push_back(of_golden("bert-classifier"));
  for (const auto& model : models) {
    EXPECT_NO_THROW(head(*model, Batch{2, 1}));
    for (const auto& [batch, which] :
         {std::pair(Batch{0, 2}, "0"), {Batch{2, 0}, "1"}, {Batch{1, 2, 0}, "2"}})
      EXPECT_REGARD_ERROR(
          head(*model, batch), ErrorKind::invalid_input,
          std::string("sequence ") + which +
              " has no tokens, so it cannot be classified (expected at least 1 token, found 0 "
              "tokens)");
  }
}

TEST_F(WrongInput, HeadsOfTwoRowsNeedTwo) {
  const std::unique_ptr<Network> teacher = of_golden("deit-teacher"), sound = of_golden("ast");
  EXPECT_NO_THROW(head(*teacher, Batch{2, 3}));
  EXPECT_REGARD_ERROR(head(*teacher, Batch{2, 1}), ErrorKind::invalid_input,
                      "sequence 1 is too short for the head (expected at least 2 tokens, found 1 token)");
  EXPECT_NO_THROW(head(*sound, Batch{2, 3}));
  EXPECT_REGARD_ERROR(head(*sound, Batch{3, 1}), ErrorKind::invalid_input,
                      "the sequence is too short to classify (expected at least 2, found 1 position)");
}

TEST_F(WrongInput, ASourceWithoutTokensIsNotTranslated) {
  for (const bool bidirectional : {false, true}) {
    const std::unique_ptr<Network> model =
        of_type("rnn-search", "RnnSearchForConditionalGeneration", {{"bidirectional", bidirectional}});
    const Batch source{1, 0}, target{1, 1}, whole{1, 1};
    const Memory memory{states(*model, source), source.side.buffer.view()},
        right{states(*model, whole), whole.side.buffer.view()};
    EXPECT_NO_THROW(model->decode(tape_, target.batch(), &right, nullptr));
    EXPECT_REGARD_ERROR(
        model->decode(tape_, target.batch(), &memory, nullptr), ErrorKind::invalid_input,
        "source 1 has no tokens, so it cannot be translated (expected at least 1 token, found 0 "
        "tokens)");
  }
}

TEST_F(WrongInput, ADecoderNeedsOneSourceForEachTarget) {
  std::vector<std::unique_ptr<Network>> models;
  models.push_back(of_type("rnn-search", "RnnSearchForConditionalGeneration"));
  models.push_back(testing::tiny_model("translator"));
  for (const auto& model : models) {
    const Batch target{2, 1}, one{3};
    const Memory memory{states(*model, one), one.side.buffer.view()};
    EXPECT_REGARD_ERROR(model->decode(tape_, target.batch(), nullptr, nullptr), ErrorKind::usage,
                        "the decoder requires the encoder's output, which is missing");
    EXPECT_REGARD_ERROR(model->decode(tape_, target.batch(), &memory, nullptr), ErrorKind::usage,
                        "the encoder's output has a wrong number of sequences for the decoder (expected 2 "
                        "sequences, found 1 sequence)");
  }
}

TEST_F(WrongInput, ACacheNeedsOneSlotForEachSequence) {
  std::vector<std::unique_ptr<Network>> models;
  models.push_back(of_type("gru", "GruForCausalLM"));
  models.push_back(testing::tiny_model("llama"));
  for (const auto& model : models) {
    Cache cache(model->cache_shape(), 3, 8);
    const Batch two{2, 1};
    EXPECT_REGARD_ERROR(model->decode(tape_, two.batch(), nullptr, &cache), ErrorKind::usage,
                        "(expected 2 selected slots, one for each sequence, found 3 selected slots)");
    const std::vector<std::int32_t> slots{2, 0};
    cache.select(slots);
    model->decode(tape_, two.batch(), nullptr, &cache);
    EXPECT_EQ(cache.length(2), 2);
    EXPECT_EQ(cache.length(0), 1);
    EXPECT_EQ(cache.length(1), 0);
    tape_.begin({.record = true});
    EXPECT_REGARD_ERROR(model->decode(tape_, two.batch(), nullptr, &cache), ErrorKind::usage,
                        "a pass with a cache cannot record gradients. Train without a cache");
    tape_.begin({});
  }
}

TEST_F(WrongInput, MissingPartsAreNamed) {
  const Batch batch{2};
  const auto expect_missing = [&](Network& model, const std::string& part, const auto& call) {
    EXPECT_REGARD_ERROR(call(model), ErrorKind::usage,
                        "this model has no " + part + ". Use a model that has one");
  };
  const auto encode = [&](Network& model) { model.encode(tape_, batch.batch()); };
  const auto decode = [&](Network& model) { model.decode(tape_, batch.batch(), nullptr, nullptr); };
  const auto logits = [&](Network& model) { model.logits(tape_, states(model, batch)); };
  const auto loss = [&](Network& model) {
    const std::int32_t labels[] = {1, 1};
    model.loss(tape_, states(model, batch), labels, 0.0f, 1.0f);
  };
  const auto shape = [&](Network& model) { model.cache_shape(); };
  const auto pooled = [&](Network& model) {
    model.pooled(tape_, states(model, batch), batch.side.buffer.view());
  };
  for (const auto& model : {of_golden("bert-classifier"), of_type("gru", "GruForTokenClassification")}) {
    expect_missing(*model, "decoder", decode);
    expect_missing(*model, "decoder", shape);
    expect_missing(*model, "output vocabulary", logits);
    expect_missing(*model, "output vocabulary", loss);
  }
  for (const auto& model : {testing::tiny_model("llama"), of_type("lstm", "LstmForCausalLM")}) {
    expect_missing(*model, "encoder", encode);
    expect_missing(*model, "pooler", pooled);
    EXPECT_FALSE(model->has_pooler());
  }
}

TEST_F(WrongInput, TheKindOfInputIsNamed) {
  const std::unique_ptr<Network> picture = of_golden("vit"), text = of_golden("bert");
  const InputSpec &pixels = picture->input_spec(), &tokens = text->input_spec();
  EXPECT_EQ(tokens.length_of(ModelInput({1, 2, 3})), 3);
  EXPECT_REGARD_ERROR(pixels.length_of(ModelInput({1, 2})), ErrorKind::usage,
                      "the model does not read this kind of input (expected image input, found text)");
  EXPECT_REGARD_ERROR(tokens.length_of(ModelInput(Tensor::zeros({3, 4}))), ErrorKind::usage,
                      "(expected text, found feature input)");
  const Tensor right = Tensor::zeros(pixels.shape);
  EXPECT_EQ(pixels.length_of(right), pixels.specials + pixels.patch_rows * pixels.patch_columns);
  EXPECT_REGARD_ERROR(
      pixels.length_of(Tensor::zeros({1, 3, 1, 1})), ErrorKind::invalid_input,
      "the input has a wrong shape (expected " + pixels.shape.text() + ", found [1, 3, 1, 1])");
  EXPECT_REGARD_ERROR(
      pixels.length_of(right.to(DType::f64)), ErrorKind::invalid_input,
      "the input has a wrong dtype or is not contiguous (expected f32, contiguous, found f64)");
  const std::unique_ptr<Network> speech = of_golden("wav2vec2");
  const InputSpec& samples = speech->input_spec();
  const std::int64_t fewest = samples.fewest_frames();
  EXPECT_EQ(samples.length_of(Tensor::zeros({fewest, 1})), 1);
  EXPECT_REGARD_ERROR(samples.length_of(Tensor::zeros({fewest - 1, 1})), ErrorKind::invalid_input,
                      "the sound is too short for the model (expected at least " + std::to_string(fewest) +
                          " samples, found " + std::to_string(fewest - 1) + " sample");
  EXPECT_REGARD_ERROR(samples.length_of(Tensor::zeros({fewest, 2})), ErrorKind::invalid_input,
                      "expected [frames, 1]");
  EXPECT_EQ(samples.blank().values.shape(), (Shape{fewest, 1}));
  // A convolution of kernel 5 with one frame of padding on each side needs three states of 20 samples each.
  Json config = speech->config();
  config["add_adapter"] = true, config["num_adapter_layers"] = 1, config["adapter_kernel_size"] = 5;
  const InputSpec downsampled = make_model(config)->input_spec();
  EXPECT_EQ(downsampled.fewest_frames(), fewest + 2 * 20);
  EXPECT_EQ(downsampled.length_of(Tensor::zeros({fewest + 2 * 20, 1})), 3);
  EXPECT_EQ(downsampled.output_length(3), 1);
  EXPECT_REGARD_ERROR(downsampled.length_of(Tensor::zeros({fewest + 2 * 20 - 1, 1})),
                      ErrorKind::invalid_input, "the sound is too short for the model");
  EXPECT_EQ(pixels.blank().values.shape(), pixels.shape);
  EXPECT_EQ(tokens.blank().ids, (std::vector<std::int32_t>{0}));
}

// Sequences without types have type 0 if any other sequence of the batch has types.
TEST(InputBuffer, FillsMissingTypesWithZeros) {
  using Numbers = std::vector<std::int32_t>;
  const auto types = [](const std::vector<ModelInput>& inputs) {
    InputBuffer buffer;
    for (const ModelInput& input : inputs) buffer.add(input, std::ssize(input.ids), 0);
    const InputBatch batch = buffer.batch();
    EXPECT_EQ(std::ssize(batch.ids), batch.shape.tokens());
    return Numbers(batch.types.begin(), batch.types.end());
  };
  const ModelInput plain({7, 8}), typed({5, 6, 7}, {0, 1, 1});
  EXPECT_EQ(types({plain, plain}), Numbers{});
  EXPECT_EQ(types({plain, typed}), (Numbers{0, 0, 0, 1, 1}));
  EXPECT_EQ(types({typed, plain}), (Numbers{0, 1, 1, 0, 0}));
  EXPECT_EQ(types({typed, plain, typed}), (Numbers{0, 1, 1, 0, 0, 0, 1, 1}));
  InputBuffer pictures;
  pictures.add(ModelInput(Tensor::zeros({1, 1, 2, 2})), 5, 0);
  EXPECT_EQ(pictures.batch().values.size(), 1u);
  EXPECT_TRUE(pictures.batch().ids.empty());
  EXPECT_TRUE(plain == ModelInput({7, 8}));
  EXPECT_FALSE(plain == ModelInput({7, 9}));
  EXPECT_FALSE(typed == ModelInput({5, 6, 7}));
  EXPECT_FALSE(ModelInput(Tensor::of({1, 2})) == ModelInput(Tensor::of({1, 3})));
  EXPECT_TRUE(ModelInput(Tensor::of({1, 2})) == ModelInput(Tensor::of({1, 2})));
}

}  // namespace
}  // namespace regard::testing

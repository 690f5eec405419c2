// Errors of studies on images, sounds and names of tensors.
#include <gtest/gtest.h>

#include "inspect/pair_sweep.h"
#include "inspect/resolve.h"
#include "inspect/run_names.h"
#include "models/weights.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::MediaInput;
using inspect::MediaReader;
using inspect::MediaRow;

// Reads blank inputs of a model.
class BlankMedia {
 public:
  explicit BlankMedia(const std::string& folder) {
    loaded.model = load_model(formats::ModelFolder::open(golden(folder)));
    media.file = [this](const std::string&) {
      MediaInput input;
      input.file.input = loaded.model->input_spec().blank();
      input.cut = cut;
      return input;
    };
    media.rows = [this](const data::DataFiles&) {
      std::vector<MediaRow> rows;
      for (int i = 0; i < count; ++i)
        rows.push_back({"image " + std::to_string(i), label, {"table.tsv", i + 1, -1}, [this] {
                          return media.file("");
                        }});
      return rows;
    };
    options.media = &media;
  }
  std::vector<inspect::StudyExample> read() {
    return inspect::read_examples(loaded, pool, {.files = {"table.tsv"}}, options);
  }

  infer::LoadedModel loaded;
  ThreadPool pool{1};
  MediaReader media;
  inspect::StudyDataOptions options;
  int count = 3;
  bool cut = false;
  std::string label = "LABEL_1";
};

TEST(StudyMediaErrors, ExamplesAreReadUpToTheirLimit) {
  BlankMedia vit("hf-tiny/vit");
  for (const std::int64_t most : {0, 1, 2, 3, 9}) {
    vit.options.most_examples = most;
    const auto examples = vit.read();
    EXPECT_EQ(std::ssize(examples), most == 0 ? 3 : std::min<std::int64_t>(most, 3)) << most;
    EXPECT_EQ(examples[0].text, "image 0");
    EXPECT_EQ(examples[0].labels, std::vector<std::int32_t>{1});
    EXPECT_EQ(std::ssize(examples[0].places),
              vit.loaded.model->input_spec().length_of(examples[0].input.source));
  }
  int calls = 0;
  vit.options.most_examples = 2, vit.options.between = [&calls] { ++calls; };
  vit.read();
  EXPECT_EQ(calls, 2);
  vit.options.labels = false, vit.label = "none";
  EXPECT_TRUE(vit.read()[1].labels.empty());
  EXPECT_REGARD_ERROR(
      vit.read()[1].label(), ErrorKind::usage,
      "the study needs logits of tokens or classes (expected a decoder, an encoder-decoder or "
      "a classifier)");
  vit.options.labels = true;
  EXPECT_REGARD_ERROR(vit.read(), ErrorKind::invalid_input, "table.tsv:1: the model has no such label");
  vit.count = 0;
  EXPECT_REGARD_ERROR(vit.read(), ErrorKind::invalid_input, "table.tsv: the data has no images");
  vit.options.media = nullptr;
  EXPECT_REGARD_ERROR(
      vit.read(), ErrorKind::usage,
      "this call cannot read image or sound files (expected a model that reads texts, found a "
      "model that reads images)");
}

// A truncated sound is accepted only if the model has a fixed window and the target is not a transcript.
TEST(StudyMediaErrors, ATruncatedSoundIsNotStudied) {
  const std::string message =
      "the sound is too long for a study (expected at most 30 seconds, or the model's window)";
  BlankMedia ast("hf-tiny/ast"), wav("hf-tiny/wav2vec2-stable");
  ast.cut = wav.cut = true;
  EXPECT_EQ(ast.read().size(), 3u) << "the window of the spectrogram is fixed";
  wav.label = "";
  EXPECT_REGARD_ERROR(wav.read(), ErrorKind::invalid_input, "table.tsv:1: " + message);
  wav.cut = false;
  EXPECT_EQ(wav.read().size(), 3u);
}

TEST(StudyMediaErrors, AListOfLabelsNamesTheFirstTen) {
  formats::ModelFolder folder = formats::ModelFolder::open(golden("hf-more/bert-nli"));
  Json names = Json::object();
  for (int i = 0; i < 3; ++i) names[std::to_string(i)] = "name" + std::to_string(i);
  folder.config["id2label"] = names;
  const auto model = load_model(folder);
  EXPECT_REGARD_ERROR(inspect::class_of(*model, "other"), ErrorKind::invalid_input,
                      "the model has no such label (expected one of name0, name1, name2, found 'other')");
  for (const char* wrong : {"-1", "3", "1.0", "1 "})
    EXPECT_REGARD_ERROR(inspect::class_of(*model, wrong), ErrorKind::invalid_input, "no such label");
  EXPECT_EQ(inspect::class_of(*model, "0"), 0);
  for (const int count : {10, 11}) {
    folder.config["id2label"] = Json::object();
    for (int i = 0; i < count; ++i)
      folder.config["id2label"][std::to_string(i)] = std::string(1, static_cast<char>('a' + i));
    EXPECT_REGARD_ERROR(inspect::class_of(*make_model(folder.config), "other"), ErrorKind::invalid_input,
                        "(expected one of a, b, c, d, e, f, g, h, i, j, found 'other')");
  }
}

TEST(TensorNames, UnknownNamesHaveASuggestionOrAList) {
  const auto inputs = [](const std::string& name) {
    return inspect::usable_inputs({{name, Tensor::zeros({1})}});
  };
  EXPECT_REGARD_ERROR(inputs("logits"), ErrorKind::invalid_input,
                      "an input has the name of an output (found \"logits\"). Remove this input");
  for (const char* name : {"grad.a", "hidden_states.3", "text_model_output.attentions.0"})
    EXPECT_REGARD_ERROR(inputs(name), ErrorKind::invalid_input, "an input has the name of an output");
  EXPECT_REGARD_ERROR(inputs("input_id"), ErrorKind::invalid_input,
                      "unknown input name (found \"input_id\"). Did you mean 'input_ids'?");
  EXPECT_REGARD_ERROR(
      inputs("xyzzy"), ErrorKind::invalid_input,
      "unknown input name (expected one of input_ids, attention_mask, token_type_ids, "
      "position_ids, decoder_input_ids, decoder_attention_mask, decoder_position_ids, labels, "
      "start_positions, end_positions, pixel_values, input_features, input_values, "
      "loss_weight.OUTPUT, found \"xyzzy\")");
  EXPECT_REGARD_ERROR(inspect::usable_inputs({{"labels", Tensor()}}), ErrorKind::invalid_input,
                      "the input \"labels\" is an undefined tensor");
  EXPECT_EQ(inputs("loss_weight.anything").size(), 1u);
  EXPECT_REGARD_ERROR(inspect::check_output_names({"logit"}), ErrorKind::usage,
                      "no model returns an output of this name (found \"logit\"). Did you mean 'logits'?");
  for (const char* name :
       {"hidden_states.", "hidden_states.x", "logits.0", "xyzzy", "text_model_output.xyzzy"})
    EXPECT_REGARD_ERROR(inspect::check_output_names({name}), ErrorKind::usage, "no model returns an output");
  EXPECT_NO_THROW(inspect::check_output_names(
      {"all", "hidden_states", "cross_attentions.12", "vision_model_output.pooler_output", "gradients"}));
}

TEST(TensorNames, IntegersAreWidenedAndSmallFloatsToo) {
  Tensor ids = Tensor::empty({2}, DType::i32);
  ids.i32()[0] = -7, ids.i32()[1] = 9;
  const Tensor rows = Tensor::of({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  const inspect::TensorMap found = inspect::usable_inputs({{"input_ids", ids},
                                                           {"pixel_values", rows.to(DType::bf16)},
                                                           {"input_values", rows.to(DType::f16)},
                                                           {"input_features", rows.slice_columns(1, 2)}});
  EXPECT_EQ(found.at("input_ids").dtype(), DType::i64);
  EXPECT_EQ(found.at("input_ids").i64()[0], -7);
  for (const char* name : {"pixel_values", "input_values"}) {
    EXPECT_EQ(found.at(name).dtype(), DType::f32);
    EXPECT_EQ(found.at(name).f32()[3], 4.0f);
  }
  const Tensor& column = found.at("input_features");
  EXPECT_TRUE(column.contiguous());
  EXPECT_EQ(column.f32()[1], 4.0f);
}

TEST(TensorNames, ANameOrItsGroupSelectsAnOutput) {
  using Names = std::set<std::string>;
  for (const auto& [capture, selected] : {std::pair{Names{"all"}, true},
                                          {{"decoder_attentions.1"}, true},
                                          {{"decoder_attentions"}, true},
                                          {{"attentions"}, true},
                                          {{"decoder_attentions.0"}, false},
                                          {{"decoder"}, false},
                                          {{""}, false},
                                          {{}, false}})
    EXPECT_EQ(inspect::is_selected(capture, "decoder_attentions.1", "attentions"), selected);
  EXPECT_TRUE(inspect::is_selected({"text_model_output"}, "text_model_output.attentions.1"));
  EXPECT_TRUE(inspect::is_selected({"text_model_output.attentions"}, "text_model_output.attentions.1"));
  EXPECT_FALSE(inspect::is_selected({"attentions"}, "text_model_output.attentions.1"));
}

}  // namespace
}  // namespace regard::testing

// Errors of interventions with their complete text, on the files, places and inputs that they name.
#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "inspect/resolve.h"
#include "models/weights.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::Intervention;
using inspect::Positions;

TEST(InterventionErrors, ActionsThatChangeWeightsNeedAHead) {
  for (const std::string action : {"scale", "uniform", "replace", "freeze"}) {
    const std::string keys = action == "scale"     ? " by=0.5"
                             : action == "uniform" ? ""
                             : action == "freeze"  ? " ids=1 from=0"
                                                   : " ids=1";
    for (const std::string place : {"decoder.1.residual", "decoder.1"}) {
      const std::string text = action + " " + place + keys;
      EXPECT_REGARD_ERROR(Intervention::parse(text), ErrorKind::usage,
                          "invalid intervention: " + action +
                              " changes attention weights (expected a head, as in cross.1.0, found '" + text +
                              "')");
    }
    EXPECT_EQ(Intervention::parse(action + " decoder.1.0" + keys).sites.size(), 1u);
  }
  EXPECT_REGARD_ERROR(Intervention::parse("freeze decoder.1.0 ids=1"), ErrorKind::usage,
                      "freeze needs from= with one position (expected a position, such as from=0");
  EXPECT_REGARD_ERROR(Intervention::parse("freeze decoder.1.0 ids=1 from=0-1"), ErrorKind::usage,
                      "freeze needs from= with one position");
  EXPECT_REGARD_ERROR(Intervention::parse("patch decoder.1.0 ids=1 from=0-1 positions=2-4"), ErrorKind::usage,
                      "from= must name one position, or as many as positions= (expected 3,");
}

// An intervention has at most 1 MiB.
TEST(InterventionErrors, ATextHasALimit) {
  const std::string head = "zero decoder.1.0 positions=", most(std::size_t{1} << 20, '1');
  EXPECT_REGARD_ERROR(Intervention::parse(most + "1"), ErrorKind::usage,
                      "an intervention is too long (expected at most 1048576 bytes, found 1048577 bytes)");
  EXPECT_REGARD_ERROR(Intervention::parse(head + most.substr(head.size())), ErrorKind::usage,
                      "invalid list of positions");
}

TEST(InterventionErrors, PositionsOfRangesAreNumbered) {
  const Positions positions = Positions::parse("3,5-7,20", "positions");
  const std::vector<std::int64_t> all{3, 5, 6, 7, 20};
  EXPECT_EQ(positions.count(), 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(positions.at(i), all[static_cast<std::size_t>(i)]);
    EXPECT_EQ(positions.index_of(all[static_cast<std::size_t>(i)]), i);
  }
  EXPECT_EQ(positions.at(5), -1);
  for (const std::int64_t other : {0, 2, 4, 8, 19, 21}) {
    EXPECT_EQ(positions.index_of(other), -1) << other;
    EXPECT_FALSE(positions.contain(other)) << other;
  }
  EXPECT_TRUE(Positions().all());
  EXPECT_TRUE(Positions().contain(12));
}

class InterventionInput : public ::testing::Test {
 protected:
  void expect_error(const std::string& text, const std::string& message, ErrorKind kind = ErrorKind::usage) {
    EXPECT_REGARD_ERROR(
        inspect::resolve(*model_, pool_, loaded_ ? &*loaded_ : nullptr, {Intervention::parse(text)}), kind,
        message);
  }
  std::string write(const std::string& name, const std::vector<formats::NamedTensor>& tensors) {
    const auto file = folder_ / name;
    formats::write_safetensors(file, tensors);
    return file.string();
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
  std::unique_ptr<Network> model_ = tiny_model("gpt");
  std::optional<infer::LoadedModel> loaded_;
};

TEST_F(InterventionInput, AModelWithOneEncoderHasNoTower) {
  expect_error("zero text.decoder.0.residual",
               "the model has only one encoder (expected decoder.0.residual, found text.decoder.0.residual)");
  expect_error("zero vision.1.0", "the model has only one encoder (expected 1.0, found vision.1.0)");
}

TEST_F(InterventionInput, AModelWithTwoEncodersNeedsATower) {
  model_ = load_model(formats::ModelFolder::open(golden("hf-more/clip")));
  expect_error("zero encoder.0.0",
               "the encoder is not given, and the model has two encoders (expected text.encoder.0.0 or "
               "vision.encoder.0.0, found encoder.0.0)");
  expect_error("patch vision.encoder.0.0 ids=1,2",
               "a text has no values in the image encoder (expected a place that starts with 'text.', or an "
               "image (file=FILE), found patch vision.encoder.0.0 ids=1,2)");
  expect_error("patch text.encoder.0.0 file=a.png",
               "an image has no values in the text encoder (expected a place that starts with 'vision.', "
               "found patch text.encoder.0.0 file=a.png)");
  expect_error("zero text.encoder.9.residual", "the model has no such place for an intervention");
}

TEST_F(InterventionInput, AnUnknownPlaceHasASuggestionOrTwoExamples) {
  expect_error("zero encoder.12.mixture_of_experts",
               "the model has no such place for an intervention (expected a point such as "
               "decoder.0.feed_forward.inner or decoder.output, found encoder.12.mixture_of_experts)");
  expect_error("zero decoder.0.residua",
               "the model has no such place for an intervention (found decoder.0.residua). Did you mean "
               "decoder.0.residual?");
}

TEST_F(InterventionInput, AVectorHasTheSizeOfItsPlace) {
  const std::int64_t width = model_->hidden_size();
  const std::string two =
      write("two.safetensors", {{"a", Tensor::zeros({width})}, {"b", Tensor::zeros({width + 1})}});
  expect_error(
      "add decoder.1.residual vector=" + two,
      "the file has several tensors, so the name of one is required (expected FILE#NAME, found " + two + ")");
  expect_error("add decoder.1.residual vector=" + two + "#b",
               "the vector of an intervention has a wrong size (expected [" + std::to_string(width) +
                   "] for decoder.1.residual, found [" + std::to_string(width + 1) + "])");
  expect_error("add decoder.1.residual[2-4] vector=" + two + "#a",
               "(expected [3] for decoder.1.residual, found [" + std::to_string(width) + "])");
  const auto edits = inspect::resolve(*model_, pool_, nullptr,
                                      {Intervention::parse("add decoder.1.residual vector=" + two + "#a")});
  EXPECT_NE(edits, nullptr);
  expect_error("add decoder.1 vector=" + two + "#a",
               "a vector can be added at a probe point, not to a layer (expected decoder.1.residual, found "
               "decoder.1)");
}

TEST_F(InterventionInput, APatternHasARowForEachQuery) {
  const std::string file =
      write("pattern.safetensors", {{"flat", Tensor::zeros({4})}, {"square", Tensor::zeros({3, 3})}});
  expect_error("replace decoder.1.0 pattern=" + file + "#flat",
               "the attention pattern does not have two dimensions (expected [queries, keys], found [4])");
  expect_error("freeze decoder.1.0 from=3 pattern=" + file + "#square",
               "the query of from= does not exist (expected a query from 0 to 2, found 3 in 'freeze "
               "decoder.1.0 from=3 pattern=" +
                   file + "#square')");
  EXPECT_NE(inspect::resolve(*model_, pool_, nullptr,
                             {Intervention::parse("freeze decoder.1.0 from=2 pattern=" + file + "#square")}),
            nullptr);
}

TEST_F(InterventionInput, OtherInputsAreOfTheKindThatTheModelReads) {
  expect_error("patch decoder.0.residual file=a.png",
               "the model reads text, not files (expected text=… or ids=…, found file=a.png)");
  expect_error("mean decoder.0.residual files=list",
               "the model reads text, not files (expected text=… or ids=…, found files=list)");
  expect_error("patch decoder.0.residual text=a",
               "text= needs a tokenizer, and the model's folder has none (expected ids=0,1,…, found text=a)");
  expect_error("mean decoder.0.residual texts=list", "texts= needs a tokenizer (found list)");
  expect_error("patch decoder.0.residual ids=1,2 target_ids=1",
               "a target needs an encoder-decoder model. Remove target_ids=");
  model_ = load_model(formats::ModelFolder::open(golden("hf-tiny/vit")));
  expect_error("patch encoder.0.residual text=a",
               "the model reads images, not text (expected file=FILE, found text=a)");
  expect_error("patch encoder.0.residual ids=1", "the model reads images, not text");
  expect_error("patch encoder.0.residual file=a.png",
               "interventions of this call cannot read files (found file=a.png)");
  model_ = load_model(formats::ModelFolder::open(golden("hf-tiny/whisper")));
  expect_error("patch encoder.0.residual ids=1 target_ids=1",
               "the model reads sounds, not text (expected file=FILE, found ids=)");
}

TEST_F(InterventionInput, AListOfTextsIsNotEmpty) {
  write_text_model(folder_ / "gpt", "gpt");
  loaded_ = infer::LoadedModel::open(folder_ / "gpt");
  model_ = load_model(formats::ModelFolder::open(folder_ / "gpt"));
  const std::string list = write_file(folder_.path(), "texts", "\n \t\n").string();
  expect_error("mean decoder.0.residual texts=" + list,
               list + ": the file has no inputs. Write one input per line", ErrorKind::invalid_input);
}

// The mean of texts= is the mean over all tokens of all texts, and blank lines are skipped.
TEST_F(InterventionInput, TheMeanOfTextsIsOverTheirTokens) {
  write_text_model(folder_ / "gpt", "gpt");
  const infer::LoadedModel loaded = infer::LoadedModel::open(folder_ / "gpt");
  const std::string list = write_file(folder_.path(), "texts", "the fox\n\na\n").string();
  const std::string point = "decoder.0.residual";
  std::vector<double> sums(static_cast<std::size_t>(loaded.model->hidden_size()));
  double tokens = 0;
  for (const char* text : {"the fox", "a"}) {
    inspect::PassInput input;
    input.target = loaded.read(text).ids;
    inspect::PointCapture capture;
    capture.want(point);
    inspect::run_pass(*loaded.model, pool_, input, &capture);
    const Tensor& value = capture.at(point);
    for (std::int64_t row = 0; row < value.rows(); ++row, ++tokens)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(value.row(row)[i]);
  }
  int passes = 0;
  const auto edits =
      inspect::resolve(*loaded.model, pool_, &loaded,
                       {Intervention::parse("mean " + point + " texts=" + list)}, [&passes] { ++passes; });
  EXPECT_EQ(passes, 2);
  inspect::PointCapture capture;
  capture.want(point);
  edits->set_observer(&capture);
  inspect::PassInput input;
  input.target = loaded.read("dog").ids;
  inspect::run_pass(*loaded.model, pool_, input, edits.get());
  const Tensor& value = capture.at(point);
  for (std::int64_t row = 0; row < value.rows(); ++row)
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(value.row(row)[i], sums[i] / tokens, 1e-6);
}

}  // namespace
}  // namespace regard::testing

// Details of the public interface: sides of tokenizers, pieces of texts, gradients of intermediate values,
// and the errors of rare arguments.
#include <gtest/gtest.h>

#include <limits>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

// A folder of Marian has one tokenizer file for each side. The error shows which file was read.
TEST(Details, ATokenizerReadsTheFileOfItsSide) {
  const TemporaryFolder folder;
  for (const char* name : {"source.spm", "target.spm"}) write_file(folder.path(), name, "\x7f");
  write_file(folder.path(), "vocab.json", R"({"</s>": 0, "<unk>": 1})");
  EXPECT_REGARD_ERROR(Tokenizer(folder.path(), TextSide::source), ErrorKind::bad_file, "source.spm");
  EXPECT_REGARD_ERROR(Tokenizer(folder.path(), TextSide::target), ErrorKind::bad_file, "target.spm");
}

TEST(Details, TokenizersRefuseNegativeSizes) {
  const std::filesystem::path files[] = {"x"};
  EXPECT_REGARD_ERROR(Tokenizer::train(files, {.vocabulary_size = -1}), ErrorKind::usage,
                      "(expected 0 or more, found vocabulary_size -1, min_frequency 0)");
  EXPECT_REGARD_ERROR(Tokenizer::train(files, {.vocabulary_size = 5, .min_frequency = -2}), ErrorKind::usage,
                      "(expected 0 or more, found vocabulary_size 5, min_frequency -2)");
  const Tokenizer tokenizer(golden("hf-more/bert-nli"));
  const std::string sizes = "(expected 0 or more, found max_length 3, stride -1)";
  EXPECT_REGARD_ERROR(tokenizer.encode("a", {.max_length = 3, .stride = -1}), ErrorKind::usage, sizes);
  const std::string ids = "(expected ids from 0 to " + std::to_string(tokenizer.vocabulary_size() - 1);
  const std::vector<std::int32_t> last{static_cast<std::int32_t>(tokenizer.vocabulary_size() - 1)},
      after{last[0] + 1};
  EXPECT_NO_THROW(static_cast<void>(tokenizer.decode(last)));
  EXPECT_REGARD_ERROR(tokenizer.decode(after), ErrorKind::invalid_input, ids);
}

TEST(Details, ATokenStreamBeginsAgainAfterFinish) {
  const Tokenizer tokenizer(golden("hf-more/bert-nli"));
  const std::vector<std::int32_t> ids = tokenizer.ids("green rivers");
  TokenStream stream(tokenizer);
  const auto text = [&] {
    std::string all;
    for (const std::int32_t id : ids) all += stream.push(id);
    return all + stream.finish();
  };
  EXPECT_EQ(text(), tokenizer.decode(ids));
  EXPECT_EQ(text(), tokenizer.decode(ids));
  stream = TokenStream(tokenizer, false);
  EXPECT_EQ(text(), tokenizer.decode(ids, false));
  EXPECT_NE(tokenizer.decode(ids, false), tokenizer.decode(ids));
}

TEST(Details, PiecesOfATextAreNeverEmpty) {
  const TemporaryFolder folder;
  write_text_model(folder / "gpt", "gpt");
  const Model model = load(folder / "gpt");
  std::string shown;
  const auto show = [&](std::string_view piece) {
    EXPECT_FALSE(piece.empty());
    shown += piece;
  };
  for (const std::int64_t beam : {1, 2}) {
    const DecodingOptions options{.beam = beam, .max_new = 8};
    shown.clear();
    const Written written = model.write("the quick", options, {.text = show}).at(0);
    EXPECT_EQ(shown, written.text);
    shown.clear();
    Sessions sessions(model);
    SessionResult result;
    sessions.join("the quick", options,
                  {.text = show, .done = [&](const SessionResult& of) { result = of; }});
    while (sessions.step()) {
    }
    EXPECT_EQ(shown, written.text);
    EXPECT_EQ(result.text, written.text);
    EXPECT_EQ(result.log_probability, written.log_probability);
    EXPECT_EQ(result.complete, written.complete);
    EXPECT_EQ(result.error, "");
  }
  // The first tokens of this answer are <unk>, which is not shown.
  shown.clear();
  const std::vector<Message> conversation{{"user", "the lazy dog jumps"}};
  const DecodingOptions options{.beam = 1, .max_new = 6};
  const Written answer = model.chat(conversation, options, {.text = show}, "chatml").at(0);
  EXPECT_EQ(shown, answer.text);
  EXPECT_EQ(answer.tokens[0], "<unk>");
  shown.clear();
  Sessions sessions(model);
  sessions.chat(conversation, options, {.text = show}, "chatml");
  while (sessions.step()) {
  }
  EXPECT_EQ(shown, answer.text);
  EXPECT_REGARD_ERROR(sessions.join("a", {.interventions = {"zero decoder.0.0"}}), ErrorKind::usage,
                      "sessions do not support interventions, because requests share forward passes (found "
                      "'zero decoder.0.0'). Use Model::write() or Model::translate()");
}

// PyTorch: retain_grad() of h in mean(h²).
TEST(Details, GradientsOfIntermediateValuesAreKept) {
  Learner learner;
  const Value w = learner.parameter("w", random_normal({3, 4}, 1, "w"));
  for (const bool begins : {false, true}) {
    if (begins) learner.begin();
    const Value h = learner.scale(learner.relu(w), 3.0f), again = learner.scale(h, 2.0f);
    learner.backward(learner.squared_error(again, Tensor::zeros({3, 4})));
    ASSERT_EQ(learner.gradient(h).shape(), (Shape{3, 4})) << begins;
    EXPECT_LT(largest_difference(learner.gradient(h), scale(learner.value(h), 8.0f / 12.0f)), 1e-6f);
    EXPECT_LT(largest_difference(learner.gradient(again), scale(learner.value(again), 2.0f / 12.0f)), 1e-6f);
  }
  Learner wrong;
  const Value big = wrong.parameter("big", Tensor::of({1}, {1e30f}));
  EXPECT_REGARD_ERROR(wrong.step(wrong.squared_error(big, Tensor::zeros({1})), 0.1f), ErrorKind::numeric,
                      "the loss is not finite (found inf). Check the inputs for NaN and infinity, or lower "
                      "the learning rate");
  EXPECT_EQ(wrong.value(big).f32()[0], 1e30f);
}

TEST(Details, MaskAndBiasHaveOneShape) {
  const Tensor q = random_normal({2, 2, 3, 4}, 1, "q");
  const auto with = [&](const Shape& mask, const Shape& bias) {
    attention(q, q, q, {.mask = Tensor::zeros(mask, DType::boolean), .bias = Tensor::zeros(bias)});
  };
  EXPECT_NO_THROW(with({2, 1, 3, 3}, {2, 1, 3, 3}));
  EXPECT_REGARD_ERROR(with({2, 1, 3, 3}, {1, 1, 3, 3}), ErrorKind::usage,
                      "attention: the shape of the bias differs from the shape of the mask (expected [2, 1, "
                      "3, 3], found [1, 1, 3, 3])");
  EXPECT_REGARD_ERROR(with({1, 1, 3, 3}, {1, 2, 3, 3}), ErrorKind::usage, "found [1, 2, 3, 3]");
  for (const Shape& wrong : {Shape{3, 1, 3, 3}, Shape{1, 3, 3, 3}, Shape{1, 1, 2, 3}, Shape{1, 1, 3, 2}})
    EXPECT_REGARD_ERROR(with(wrong, {1, 1, 3, 3}), ErrorKind::usage,
                        "the shape of mask or bias does not match (expected [1 or 2, 1 or 2, 3, 3], found " +
                            wrong.text() + ")");
}

TEST(Details, RareArgumentsAreRefused) {
  for (const int count : {-1, 1025})
    EXPECT_REGARD_ERROR(set_threads(count), ErrorKind::usage,
                        "expected a number of threads from 0 to 1024, found " + std::to_string(count));
  EXPECT_REGARD_ERROR(format(Transcript(), "pdf"), ErrorKind::usage,
                      "unknown transcript format (expected text, srt, vtt, tsv or json, found pdf)");
  Transcript longest;
  longest.segments.resize(1);
  longest.segments[0].end = 1e9;
  EXPECT_FALSE(format(longest, "srt").empty());
  longest.segments[0].end = std::nextafter(1e9, 2e9);
  EXPECT_REGARD_ERROR(format(longest, "srt"), ErrorKind::usage, "out of range");
  const std::vector<std::string> views = study_views();
  EXPECT_EQ(views.size(), 14u);
  EXPECT_EQ(std::count(views.begin(), views.end(), "heads"), 1);
}

TEST(Details, MatricesArePrintedWithTheirNames) {
  const Tensor matrix = Tensor::of({3, 3}, {1, -2.5f, 3, 4, 5, 6, 7, 8, 100});
  EXPECT_EQ(
      matrix_text("m", matrix,
                  {.digits = 1, .row_names = {"a", "\u00e9\u00e9"}, .column_names = {"x", "long name"}}),
      "m [3, 3]\n        x  long name       \n  a   1.0       -2.5    3.0\n  \u00e9\u00e9  4.0        5.0    "
      "6.0\n      7.0        8.0  100.0\n");
  EXPECT_EQ(matrix_text("m", matrix, {.digits = 0, .most_rows = 1, .most_columns = 2}),
            "m [3, 3]\n    1  -2  … 1 more\n  … 2 more rows\n");
  EXPECT_EQ(matrix_text("v", Tensor::of({1, 2}), {.digits = 0}), "v [2]\n    1  2\n");
  EXPECT_EQ(vector_text(matrix, 0, 2), "[1, -2, … 7 more]");
  EXPECT_EQ(vector_text(Tensor::of({1, 2}), 0, 2), "[1, 2]");
  EXPECT_EQ(vector_text(Tensor::of({1, 2}), 0, 0), "[1, … 1 more]") << "at least one number";
  EXPECT_EQ(vector_text(Tensor::of({1}), 100).size(), 104u);
}

}  // namespace
}  // namespace regard::testing

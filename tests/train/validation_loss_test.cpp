// A validation of the examples of a step has the loss of the step, for each task; and it shows as many
// samples as the run file asks for.
#include <gtest/gtest.h>

#include <cmath>

#include "support/wav.h"
#include "task_case.h"

namespace regard::train {
namespace {

class LossOfAValidation : public TaskCase {
 protected:
  // Open a run whose batch contains all training examples, and whose validation data is its training data.
  void expect_equal(const std::string& task, const std::string& file, const std::string& columns,
                    const std::string& more, std::vector<std::string> overrides = {}) {
    if (more.find("lstm") == std::string::npos) overrides.emplace_back("model.dropout=0");
    const std::string name = "[\"" + file + "\"]\n";
    open(task, "train = " + name + "valid = " + name + columns, more, overrides);
    const double loss = context_->trainer->compute_gradients().loss;
    EXPECT_GT(loss, 0) << task;
    EXPECT_NEAR(validate(*context_).loss, loss, 1e-5 * loss) << task;
  }
  // Expect at most `most` samples, for several values of validation.samples.
  void expect_samples(std::size_t most) {
    for (const std::size_t samples : {0u, 1u, 2u, 3u, 9u}) {
      run_.validation.samples = static_cast<std::int64_t>(samples);
      EXPECT_EQ(validate(*context_).samples.size(), std::min(samples, most)) << run_.task;
    }
  }
};

TEST_F(LossOfAValidation, OfTexts) {
  const std::string two = "columns = [1, 2]", three = "columns = [1, 2, 3]";
  write("rows.tsv", "one two\ttwo\thigh\none\tone\tlow\ntwo two\tone one\tlow\ntwo\tone two\thigh\n");
  expect_equal("classification", "rows.tsv", "columns = [1, 3]", kEncoder);
  expect_samples(4);
  expect_equal("classification", "rows.tsv", three, kEncoder);
  expect_equal("classification", "rows.tsv", three, std::string(kEncoder) + "[labels]\nbalance = true\n");
  for (const char* loss : {"ranking", "triplet"}) {
    expect_equal("embedding", "rows.tsv", three,
                 std::string(kEncoder) + "[embedding]\nloss = \"" + loss + "\"\n");
    expect_samples(4);
  }
  expect_equal("embedding", "rows.tsv", two, kEncoder);
  write("rows.tsv", "one two\ttwo\t0.5\none\tone\t1\ntwo two\tone one\t-1\ntwo\tone two\t0\n");
  const std::string loss = "[validation]\nmetrics = [\"loss\"]\n";
  expect_equal("embedding", "rows.tsv", three, kEncoder + loss + "[embedding]\nloss = \"cosine\"\n");
  expect_samples(4);
  expect_equal("classification", "rows.tsv", three,
               kEncoder + loss + "[labels]\nproblem_type = \"regression\"\n");
  expect_samples(4);
  write("rows.jsonl",
        "{\"t\": \"one two\", \"l\": [\"a\", \"b\"]}\n{\"t\": \"two\", \"l\": [\"b\"]}\n"
        "{\"t\": \"one\", \"l\": []}\n{\"t\": \"two two\", \"l\": [\"c\"]}\n");
  expect_equal("classification", "rows.jsonl", "columns = [\"t\", \"l\"]",
               kEncoder + loss + "[labels]\nproblem_type = \"multi_label_classification\"\n");
}

TEST_F(LossOfAValidation, OfWordsAndAnswers) {
  write("tags.tsv", "one two\tX Y\none\tY\ntwo two one\tX X Y\ntwo\tX\n");
  expect_equal("token-classification", "tags.tsv", "columns = [1, 2]", kEncoder);
  expect_samples(4);
  expect_equal("token-classification", "tags.tsv", "columns = [1, 2]",
               std::string(kEncoder) + "[labels]\nweights = [2, 0.5]\n");
  std::string rows;
  for (const char* answer : {"anna", "has", "two"})
    rows +=
        Json{{"context", "anna has two"},
             {"question", "who"},
             {"answers", {{"text", {answer}}, {"answer_start", {std::string("anna has two").find(answer)}}}}}
            .dump() +
        "\n";
  write("questions.jsonl", rows);
  expect_equal("question-answering", "questions.jsonl", "",
               std::string(kEncoder) + "[questions]\nstride = 1\n", {"data.max_length=30"});
  expect_samples(3);
  const std::vector<Sample> samples = validate(*context_).samples;
  EXPECT_EQ(samples[0].reference + samples[1].reference + samples[2].reference, "annahastwo");
}

TEST_F(LossOfAValidation, OfTranslationAndText) {
  write("pairs.tsv", "a b\tc d e\nb\tc\na a\td\nb a\te e\n");
  expect_equal("translation", "pairs.tsv", "columns = [1, 2]", std::string(kTranslator) + R"([training]
label_smoothing = 0.0
max_steps = 1
)");
  expect_samples(4);
  write("text.txt", "abcabcb");
  expect_equal("language-model", "text.txt", "", R"(
[tokenizer]
type = "char"
[model]
layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
[training]
batch_size = 1
context = 6
max_steps = 1
)");
  expect_samples(9);
}

TEST_F(LossOfAValidation, OfPictures) {
  const char* const pixels[] = {"0 0 9 9", "9 0 9 0", "9 9 0 0", "0 9 0 9"};
  std::string rows;
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i) + ".pgm";
    write(name, "P2 2 2 9\n" + std::string(pixels[i]) + "\n");
    rows += name + "\t" + (i < 2 ? "red" : "blue") + std::to_string(i % 2) + "\n";
  }
  write("rows.tsv", rows);
  const std::string settings =
      "\n[training]\nbatch_size = 4\nmax_steps = 1\n[images]\nsize = 4\npatch_size = 2\n"
      "[model]\nhidden_size = 8\nheads = 2\nfeed_forward_size = 8\n";
  expect_equal("image-classification", "rows.tsv", "columns = [1, 2]",
               settings + "family = \"vit\"\nlayers = 1\n");
  expect_samples(4);
  expect_equal("captioning", "rows.tsv", "columns = [1, 2]\nmax_length = 6",
               settings + "family = \"vision-encoder-decoder\"\nencoder_layers = 1\ndecoder_layers = 1\n");
  open("contrastive", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]\nmax_length = 6",
       settings + "family = \"clip\"\nlayers = 1\nattention_dropout = 0.0\n");
  EXPECT_NEAR(validate(*context_).loss, context_->trainer->compute_gradients().loss, 1e-5);
  expect_samples(4);
}

class LossOfSounds : public LossOfAValidation {
 protected:
  // Write four sounds of different pitch, and a table with `copies` rows of each.
  void write_sounds(int copies) {
    std::string rows;
    for (int i = 0; i < 4 * copies; ++i) {
      const std::string name = std::to_string(i % 4) + ".wav";
      std::vector<std::int16_t> samples;
      for (int t = 0; t < 1600 * (i % 4 + 2); ++t)
        samples.push_back(static_cast<std::int16_t>(9000 * std::sin(0.1 * (i % 4 + 1) * t)));
      if (i < 4) write(name, regard::testing::wav_file(samples));
      rows += name + "\t" + (i % 4 < 2 ? "ab" : "ba") + "\n";
    }
    write("rows.tsv", rows);
  }
  static constexpr const char* kSoundModel =
      "\n[training]\nbatch_size = 4\nmax_steps = 1\n[model]\nhidden_size = 8\nheads = 2\nfeed_forward_size = "
      "8\n";
};

TEST_F(LossOfSounds, OfLabelsAndCharacters) {
  write_sounds(1);
  expect_equal("audio-classification", "rows.tsv", "columns = [1, 2]",
               std::string(kSoundModel) +
                   "family = \"audio-spectrogram-transformer\"\nlayers = 1\n[sound]\n"
                   "seconds = 1\nbins = 16\n");
  expect_samples(4);
  expect_equal(
      "speech-recognition", "rows.tsv", "columns = [1, 2]",
      std::string(kSoundModel) + "family = \"wav2vec2\"\nlayers = 1\n[sound]\nseconds = 1\nchannels = 4\n");
  expect_samples(4);
}

// Whisper decodes at most 40 of these sounds together.
TEST_F(LossOfSounds, AllTranscriptsAreDecoded) {
  write_sounds(11);
  open("speech-recognition",
       "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]\nmax_length = 12",
       std::string(kSoundModel) +
           "family = \"whisper\"\nencoder_layers = 1\ndecoder_layers = 1\n[sound]\nseconds = 1\nbins = 8\n"
           "vocabulary = 256\n[validation]\nsamples = 100\n");
  const std::vector<Sample> samples = validate(*context_).samples;
  ASSERT_EQ(samples.size(), 44u);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].source, std::to_string(i % 4) + ".wav");
    EXPECT_EQ(samples[i].output, samples[i % 4].output);
  }
}

// The second text of a pair has token type 1.
TEST_F(LossOfAValidation, PairsHaveTokenTypes) {
  using Types = std::vector<std::int32_t>;
  const auto types = [&] {
    Batch batch;
    context_->batches->next(batch, 0);
    return batch.types;
  };
  write("rows.tsv", "one\ttwo two\thigh\n");
  const std::string labels = std::string(kEncoder) + "[labels]\nnames = [\"low\", \"high\"]\n";
  const std::string data = "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = ";
  open("classification", data + "[1, 2, 3]", labels, {"tokenizer.min_frequency=1"});
  EXPECT_EQ(types().back(), 1);
  EXPECT_EQ(types().front(), 0);
  open("classification", data + "[1, 3]", labels);
  EXPECT_EQ(types(), Types());
  write("questions.jsonl",
        "{\"context\": \"a b\", \"question\": \"c\", \"answers\": {\"text\": [\"a\"], \"answer_start\": "
        "[0]}}\n");
  open("question-answering", "train = [\"questions.jsonl\"]\nvalid = [\"questions.jsonl\"]", kEncoder,
       {"questions.stride=1"});
  EXPECT_EQ(types(), (Types{0, 0, 0, 1, 1, 1})) << "[CLS] c [SEP] a b [SEP]";
}

}  // namespace
}  // namespace regard::train

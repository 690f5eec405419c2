// The samples that the validation of each task reports: their number, texts, references and outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/squad.h"
#include "support/wav.h"
#include "task_case.h"
#include "train/encoder_task.h"
#include "train/examples.h"
#include "train/tasks/question_answering.h"

namespace regard::train {
namespace {

class Samples : public TaskCase {
 protected:
  // Return the samples of a validation with validation.samples = `count`.
  std::vector<Sample> of(const std::string& task, const std::string& data, const std::string& more, int count,
                         std::vector<std::string> overrides = {}) {
    overrides.push_back("validation.samples=" + std::to_string(count));
    open(task, data, more, overrides);
    return validate(*context_).samples;
  }
};

constexpr const char* kRows = "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\n";

TEST_F(Samples, OfClassificationHaveTheLabelWithItsProbability) {
  write("rows.tsv", "one two\thigh\none\tlow\n");
  const std::string data = std::string(kRows) + "columns = [1, 2]";
  EXPECT_TRUE(of("classification", data, kEncoder, 0).empty());
  EXPECT_EQ(of("classification", data, kEncoder, 1).size(), 1u);
  const std::vector<Sample> both = of("classification", data, kEncoder, 3);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].source, "one two");
  EXPECT_EQ(both[0].reference, "high");
  EXPECT_EQ(both[1].source, "one");
  EXPECT_EQ(both[1].reference, "low");
  for (const Sample& sample : both) {
    const std::size_t space = sample.output.find(" (");
    ASSERT_NE(space, std::string::npos) << sample.output;
    const std::string label = sample.output.substr(0, space);
    EXPECT_TRUE(label == "high" || label == "low") << label;
    const double probability = std::stod(sample.output.substr(space + 2));
    EXPECT_TRUE(probability >= 0.5 && probability <= 1.0) << "the larger one of two probabilities";
  }
}

TEST_F(Samples, OfTagsHaveALabelForEachWord) {
  write("rows.tsv", "one two\tODD EVEN\nthree\tODD\n");
  const std::string data = std::string(kRows) + "columns = [1, 2]";
  EXPECT_EQ(of("token-classification", data, kEncoder, 1).size(), 1u);
  const std::vector<Sample> both = of("token-classification", data, kEncoder, 3);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].source, "one two");
  EXPECT_EQ(both[0].reference, "ODD EVEN");
  EXPECT_EQ(both[1].source, "three");
  EXPECT_EQ(both[1].reference, "ODD");
  EXPECT_TRUE(both[1].output == "ODD" || both[1].output == "EVEN") << both[1].output;
}

TEST_F(Samples, OfEmbeddingHaveTheTextsAndTheScoreOrTheMostSimilarText) {
  write("rows.tsv", "one\ttwo one\t1\ntwo\tthree\t-0.5\n");
  const std::string scores = std::string(kEncoder) + "[embedding]\nloss = \"cosine\"\n[validation]\n" +
                             "metrics = [\"loss\"]\n",
                    three = std::string(kRows) + "columns = [1, 2, 3]";
  EXPECT_EQ(of("embedding", three, scores, 1).size(), 1u);
  const std::vector<Sample> scored = of("embedding", three, scores, 3);
  ASSERT_EQ(scored.size(), 2u);
  EXPECT_EQ(scored[0].source, "one | two one");
  EXPECT_EQ(scored[0].reference, "1");
  EXPECT_EQ(scored[1].source, "two | three");
  EXPECT_EQ(scored[1].reference, "-0.5");
  for (const Sample& sample : scored) EXPECT_LE(std::fabs(std::stod(sample.output)), 1.0) << sample.output;

  const std::string two = std::string(kRows) + "columns = [1, 2]";
  EXPECT_EQ(of("embedding", two, kEncoder, 1).size(), 1u);
  const std::vector<Sample> found = of("embedding", two, kEncoder, 3);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].source, "one");
  EXPECT_EQ(found[0].reference, "two one");
  EXPECT_EQ(found[1].source, "two");
  EXPECT_EQ(found[1].reference, "three");
  for (const Sample& sample : found)
    EXPECT_TRUE(sample.output == "two one" || sample.output == "three") << sample.output;
}

TEST_F(Samples, OfMasksHaveTheMaskedAndTheOriginalText) {
  write("text.txt", "one two three one two three one two\n");
  const std::string data = "train = [\"text.txt\"]\nvalid = [\"text.txt\"]";
  EXPECT_TRUE(of("masked-language-model", data, kEncoder, 0, {"data.max_length=60"}).empty());
  const std::vector<Sample> samples =
      of("masked-language-model", data, kEncoder, 1, {"data.max_length=60", "masking.share=0.5"});
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_NE(samples[0].source.find("[MASK]"), std::string::npos) << samples[0].source;
  EXPECT_NE(samples[0].source.find("[CLS]"), std::string::npos) << samples[0].source;
  EXPECT_EQ(samples[0].reference, "one two three one two three one two");
  EXPECT_NE(samples[0].output, samples[0].reference) << "the model is not trained";
}

// The prompts start at equal distances in the validation text.
TEST_F(Samples, OfALanguageModelContinuePartsOfTheText) {
  write("text.txt", "abcdefghijklmnopqrst");
  const std::string data = "train = [\"text.txt\"]\nvalid = [\"text.txt\"]";
  const std::string model =
      "\n[tokenizer]\ntype = \"char\"\n[model]\nlayers = 1\nhidden_size = 8\nheads = 2\n"
      "feed_forward_size = 8\n[training]\nbatch_size = 1\nmax_steps = 1\n";
  EXPECT_TRUE(of("language-model", data, model, 0, {"training.context=8"}).empty());
  std::vector<std::string> prompts;
  bool generated = false;
  for (const Sample& sample : of("language-model", data, model, 3, {"training.context=8"})) {
    prompts.push_back(sample.source);
    EXPECT_EQ(sample.reference, "");
    generated = generated || !sample.output.empty();
  }
  EXPECT_EQ(prompts, (std::vector<std::string>{"ab", "gh", "mn"}));
  EXPECT_TRUE(generated);
  const std::vector<Sample> shortest = of("language-model", data, model, 1, {"training.context=3"});
  ASSERT_EQ(shortest.size(), 1u);
  EXPECT_EQ(shortest[0].source, "a");
}

// A new model ends its texts with the end token of its tokenizer; encoders generate no text.
TEST_F(Samples, GenerationSettingsAreThoseOfTheTokenizer) {
  write("text.txt", "abcdefghijklmnopqrst");
  const std::string data = "train = [\"text.txt\"]\nvalid = [\"text.txt\"]";
  open("language-model", data,
       "\n[tokenizer]\ntype = \"char\"\n[model]\nlayers = 1\nhidden_size = 8\nheads = 2\n"
       "feed_forward_size = 8\n[training]\nbatch_size = 1\nmax_steps = 1\ncontext = 4\n");
  const Json settings = context_->task->generation_config();
  EXPECT_EQ(settings, special_json(special_ids(context_->tokenizers)));
  EXPECT_EQ(settings["eos_token_id"], *context_->tokenizers.target->id_of("</s>"));
  open("masked-language-model", data, kEncoder);
  EXPECT_TRUE(context_->task->generation_config().is_null());
}

struct Head : EncoderTask {
  using EncoderTask::head_output;
};

// Return the best answer of a question, found by trying all spans of at most `longest` tokens. If
// `may_be_none` and the first token has a higher score in all windows, return "(no answer)".
std::string best_span(TrainingContext& context, const std::vector<AnswerWindow>& windows,
                      const std::string& text, std::size_t longest, bool may_be_none) {
  float best = -std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::infinity();
  std::string answer;
  for (const AnswerWindow& one : windows) {
    Examples examples;
    examples.ids.add(one.window.ids);
    examples.types.add(one.window.types);
    Batch batch;
    examples.append(batch, 0, 0);
    ThreadPool pool(1);
    Arena arena;
    Tape tape(pool, arena);
    tape.begin({});
    const Tensor logits = Head::head_output(*context.model, tape, batch)->value;
    const auto score = [&](std::size_t start, std::size_t end) {
      return logits.row(static_cast<std::int64_t>(start))[0] + logits.row(static_cast<std::int64_t>(end))[1];
    };
    none = std::min(none, score(0, 0));
    const auto& bytes = one.window.bytes;
    for (std::size_t s = 0; s < bytes.size(); ++s)
      for (std::size_t e = s; e < std::min(s + longest, bytes.size()); ++e)
        if (score(one.window.first + s, one.window.first + e) > best) {
          best = score(one.window.first + s, one.window.first + e);
          answer = text.substr(bytes[s].begin, bytes[e].end - bytes[s].begin);
        }
  }
  return may_be_none && none > best ? "(no answer)" : answer;
}

TEST_F(Samples, OfQuestionsHaveTheBestSpan) {
  const std::vector<std::string> contexts{"anna has three red apples and two pears",
                                          "two pears are red",
                                          "ben saw anna eat the last of six apples",
                                          "all of the pears and apples of ben are in the red box of anna",
                                          "anna and ben are red",
                                          "one two three four five six seven eight nine ten"};
  for (const bool unanswerable : {false, true}) {
    std::string rows;
    std::vector<data::MarkedQuestion> questions;
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      const bool none = unanswerable && i == 1;
      const std::string word = contexts[i].substr(0, contexts[i].find(' '));
      questions.push_back({"q", "who is red", 0, {}});
      Json row{{"context", contexts[i]}, {"question", questions.back().question}};
      row["answers"] = {{"text", Json::array()}, {"answer_start", Json::array()}};
      if (!none) {
        row["answers"] = {{"text", {word}}, {"answer_start", {0}}};
        questions.back().answers = {{word, 0}};
      }
      rows += row.dump() + "\n";
    }
    write("questions.jsonl", rows);
    const std::vector<Sample> samples = of(
        "question-answering", "train = [\"questions.jsonl\"]\nvalid = [\"questions.jsonl\"]",
        std::string(kEncoder) + "[questions]\nstride = 4\nlongest_answer = 4\n", 10, {"data.max_length=20"});
    ASSERT_EQ(samples.size(), contexts.size());
    std::size_t windows = 0, without = 0;
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      const auto all = answer_windows(*context_->tokenizers.target, questions[i], contexts[i], {20, 4});
      windows += all.size();
      for (const AnswerWindow& one : all) without += one.start == 0 ? 1 : 0;
      EXPECT_EQ(samples[i].source, "who is red");
      EXPECT_EQ(samples[i].reference,
                questions[i].answers.empty() ? "(no answer)" : questions[i].answers[0].text);
      EXPECT_EQ(samples[i].output, best_span(*context_, all, contexts[i], 4, unanswerable)) << contexts[i];
    }
    const std::string beginning = "training: 6 questions, " + std::to_string(windows) + " windows (" +
                                  std::to_string(without) + " without an answer), ";
    EXPECT_TRUE(context_->task->notes().at(0).starts_with(beginning)) << context_->task->notes()[0];
    EXPECT_TRUE(context_->task->notes()[0].ends_with(" tokens; read 6 records"));
    EXPECT_GT(windows, contexts.size());
    EXPECT_GT(without, 0u);
  }
}

class SoundSamples : public Samples {
 protected:
  SoundSamples() {
    for (const char* name : {"a.wav", "b.wav"})
      write(name, regard::testing::wav_file(std::vector<std::int16_t>(8000, 100)));
    write("rows.tsv", "a.wav\tone\nb.wav\ttwo\n");
  }
  const std::string data_ = std::string(kRows) + "columns = [1, 2]\ncache = \"never\"";
  const std::string model_ =
      "\n[sound]\nseconds = 1\nbins = 8\n[model]\nfamily = \"whisper\"\nencoder_layers = 1\n"
      "decoder_layers = 1\nhidden_size = 8\nheads = 2\nfeed_forward_size = 8\n[training]\nmax_steps = 1\n"
      "batch_size = 2\n";
};

TEST_F(SoundSamples, HaveTheFileAndItsText) {
  const std::vector<Sample> one = of("speech-recognition", data_, model_, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].source, "a.wav");
  EXPECT_EQ(one[0].reference, "one");
  EXPECT_EQ(of("speech-recognition", data_, model_, 5).size(), 2u);
}

TEST_F(SoundSamples, SpeechHasTheMetricsOfTheRunFile) {
  for (const auto& [list, found] : {std::pair("\"loss\"", "loss"),
                                    {"\"wer\"", "loss wer"},
                                    {"\"cer\", \"loss\"", "loss cer"},
                                    {"\"cer\", \"wer\"", "loss wer cer"}}) {
    open("speech-recognition", data_, model_,
         {std::string("validation.metrics=[") + list + "]", "validation.samples=0"});
    EXPECT_EQ(metrics(), found);
  }
}

// validate() calls the function once after the only batch of the loss; the second call is in the search.
TEST_F(SoundSamples, AStopRequestEndsTheSearch) {
  open("speech-recognition", data_, model_, {"validation.metrics=[\"wer\"]", "validation.samples=0"});
  int calls = 0;
  EXPECT_THROW(validate(*context_, [&calls] { return ++calls > 1; }), Stopped);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace regard::train

// Complete messages for options that cannot be combined with a model or with another option.
#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

class RefusedOptions : public ::testing::Test {
 protected:
  RefusedOptions() {
    write_text_model(folder_ / "gpt", "gpt", 64);
    write_text_model(folder_ / "translator", "translator");
    write_file(folder_.path(), "t.txt", "a\n");
    write_file(folder_.path(), "empty", "");
  }
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& message) const {
    const ProgramResult result = run_program(arguments, folder_.path());
    EXPECT_EQ(result.exit_code, code) << message;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "regard: " + message + "\n");
  }
  const TemporaryFolder folder_;
  const std::string encoder_ = golden("hf-more/st-mean").string();
};

// The commands that send lines to a server refuse the same options.
TEST_F(RefusedOptions, OfDecoding) {
  const std::vector<std::string> here, there{"--server", "http://127.0.0.1:1"};
  for (const auto& server : {here, there}) {
    const auto with = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), server.begin(), server.end());
      return arguments;
    };
    expect_error(with({"translate", "translator", "t.txt", "--log-probabilities"}), 2,
                 "--log-probabilities needs --json. Add --json");
    expect_error(with({"translate", "translator", "t.txt", "--sentences", "--n-best", "2"}), 2,
                 "--sentences cannot be combined with --n-best. Remove --n-best or --sentences");
  }
  const std::vector<std::string> one{"translate", "translator", "t.txt", "--sentences", "--n-best", "1"};
  EXPECT_EQ(run_program(one, folder_.path()).exit_code, 0);
  expect_error({"caption", golden("hf-tiny/vit-gpt2").string(), "t.txt", "--log-probabilities"}, 2,
               "--log-probabilities needs --json. Add --json");
  expect_error({"generate", encoder_, "t.txt"}, 2,
               encoder_ +
                   ": this model cannot generate text: it has no decoder (expected a decoder or an "
                   "encoder-decoder)");
}

TEST_F(RefusedOptions, OfAServer) {
  for (const auto& [option, value] : {std::pair{"--adapter", "a"},
                                      {"--quantize", "int8"},
                                      {"--precision", "bf16"},
                                      {"--attend", "a"},
                                      {"--ablate", "0.0"},
                                      {"--set", "a=1"}})
    expect_error({"translate", "x", "t.txt", "--server", "http://127.0.0.1:1", option, value}, 2,
                 std::string(option) + " cannot be combined with --server. Remove one of the two options");
}

TEST_F(RefusedOptions, OfSoundsAndImages) {
  const std::string whisper = golden("sound/whisper-small").string();
  expect_error({"transcribe", whisper, "a.wav", "--output", "a", "--output-folder", "b"}, 2,
               "--output cannot be combined with --output-folder. Remove one of the two options");
  expect_error(
      {"transcribe", whisper, "a.wav", "--word-times"}, 2,
      "--word-times is not available in the format \"text\". Use --format json, srt, vtt or tsv with "
      "--word-times");
  for (const auto& [model, reads] : {std::pair{"hf-tiny/ast", "sounds"}, {"hf-tiny/vit", "images"}})
    expect_error({"classify", golden(model).string(), "t.txt", "--pair"}, 2,
                 std::string("--pair needs a text model; this model reads ") + reads + ". Remove --pair");
  expect_error({"embed", golden("hf-more/clip").string(), "t.txt", "--normalize"}, 2,
               "the pooling and the maximum length of this model cannot be changed. Remove --pooling, "
               "--normalize, --prompt, --truncate and --max-tokens");
  expect_error({"embed", encoder_, "t.txt", "--images"}, 2,
               encoder_ +
                   ": --images needs a model that compares texts and images (expected a CLIP or SigLIP "
                   "model)");
}

TEST_F(RefusedOptions, OfEvaluations) {
  const auto expect_wrong = [&](const std::string& model, const std::string& task, const std::string& own) {
    expect_error({"evaluate", model, "t.txt", "--task", task}, 2,
                 model + ": the model does not support the task given with --task (expected " + own +
                     ", found " + task + ")");
  };
  for (const char* task : {"translation", "image-classification"})
    expect_wrong("gpt", task, "language-model");
  for (const char* task : {"language-model", "speech-recognition"})
    expect_wrong("translator", task, "translation");
  expect_error({"evaluate", "gpt", "empty"}, 2,
               "the text is too short to evaluate on (expected at least 2, found 0 tokens)");
}

TEST_F(RefusedOptions, OfOtherCommands) {
  expect_error({"bench", "embed", encoder_, "empty"}, 3,
               "empty: the file has no lines to embed (expected one text per line)");
  expect_error({"explain", "a b", "--vectors", "x", "--invented"}, 2,
               "--vectors cannot be combined with --invented. Remove one of the two options");
  expect_error({"vectors", "train", "t.txt", "--output", "nowhere/x.txt"}, 4,
               "nowhere: there is no such folder. Create it, or choose another --output");
  expect_error(
      {"vectors", "train", "t.txt", "--output", "x.txt", "--subwords", "--min-n", "4", "--max-n", "3"}, 2,
      "--max-n is less than --min-n (expected at least 4, found 3)");
  expect_error(
      {"vectors", "train", "t.txt", "--output", "x.txt", "--subwords", "--min-n", "3", "--max-n", "3"}, 2,
      "no word of the corpus is frequent enough (expected a word that occurs at least 5 times). Lower "
      "--min-count, or use more text");
  expect_error({"run", "gpt", "-i", "x"}, 2,
               "--outputs is missing. Add --outputs FILE, or --attend FILE for a capture");
  for (const std::vector<std::string>& one :
       {std::vector<std::string>{"--generate"}, {"--capture", "logits"}}) {
    std::vector<std::string> call{"run", "gpt", "-i", "x", "--attend", "y"};
    call.insert(call.end(), one.begin(), one.end());
    expect_error(call, 2, "--generate and --capture need --outputs. Add --outputs FILE");
  }
}

TEST(ContradictoryOptions, AreRefusedBeforeAnyFileIsRead) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::vector<std::string>& arguments, const std::string& first,
                          const std::string& second) {
    const ProgramResult result = run_program(arguments, folder.path());
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(first), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(second), std::string::npos) << result.err;
  };
  expect({"tokenizer", "encode", "-T", "none.json", "--view", "pieces", "--json"},
         "--view pieces cannot be combined with --json", "Remove one of the two options");
  expect({"study", "none", "none.tsv", "--rows", "3", "--json"}, "--rows", "--json");
  expect({"study", "none", "none.tsv", "--rows", "3", "--csv", "a.csv"}, "--rows", "--csv");
  expect({"study", "none", "none.tsv", "--rows", "3", "--svg", "a.svg"}, "--rows", "--svg");
  expect({"train", "none.toml", "--dry-run", "--resume"}, "--dry-run", "--resume");
}

}  // namespace
}  // namespace regard::testing

// regard translate and regard generate, called as by a user.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/json.h"
#include "infer/loaded_model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

using testing::lines_of;
using testing::run_program;
namespace fs = std::filesystem;

class Decode : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder();
    testing::write_text_model(root() / "translator", "translator");
    testing::write_text_model(root() / "short", "translator", 12);
    testing::write_text_model(root() / "gpt", "gpt", 200);
  }
  static void TearDownTestSuite() { delete folder_; }
  static fs::path root() { return folder_->path(); }
  testing::ProgramResult run(std::vector<std::string> arguments, const std::string& input = "") {
    return run_program(arguments, root(), input);
  }

 private:
  inline static testing::TemporaryFolder* folder_ = nullptr;
};

// A truncated prompt keeps its last tokens, a truncated source its first tokens and its end token.
TEST_F(Decode, TruncationKeepsTheEndOfAPrompt) {
  testing::write_text_model(root() / "short-gpt", "gpt", 12);
  const auto prompts = infer::LoadedModel::open(root() / "short-gpt"),
             sources = infer::LoadedModel::open(root() / "short");
  const std::string text = "the quick brown fox";
  const std::vector<std::int32_t> prompt = prompts.encode_prompt(text), source = sources.encode_source(text);
  ASSERT_GT(prompt.size(), 13u);
  EXPECT_EQ(prompts.read(text, true).ids, (std::vector<std::int32_t>(prompt.end() - 12, prompt.end())));
  std::vector<std::int32_t> expected(source.begin(), source.begin() + 11);
  expected.push_back(source.back());
  EXPECT_EQ(sources.read(text, true).ids, expected);
  // 12 tokens fit
  EXPECT_EQ(prompts.read("the quick br", true).ids, prompts.encode_prompt("the quick br"));
  EXPECT_EQ(prompts.read("the quick br", false).ids, prompts.encode_prompt("the quick br"));
  EXPECT_EQ(sources.read("the quick b", true).ids, sources.encode_source("the quick b"));
}

TEST_F(Decode, OneResultALineInOrder) {
  const std::vector<std::string> inputs{"the dog",           "a",      "", "quick brown fox", "   ",
                                        "over the lazy dog", "the dog"};
  std::string text;
  for (const std::string& input : inputs) text += input + "\n";
  const testing::ProgramResult result = run({"translate", "translator", "--max-new", "20"}, text);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), inputs.size());
  EXPECT_EQ(lines[2], "");
  EXPECT_EQ(lines[4], "");
  EXPECT_EQ(lines[0], lines[6]);
  EXPECT_NE(lines[0], lines[3]);
  // Each line equals the library's result for that line alone.
  const infer::LoadedModel model = infer::LoadedModel::open(root() / "translator");
  infer::SearchOptions options = model.options;
  options.max_new = 20;
  ThreadPool pool(1);
  for (const std::size_t i : {0U, 1U, 3U, 5U}) {
    const std::vector<std::vector<std::int32_t>> source{model.encode_source(inputs[i])};
    EXPECT_EQ(source[0].back(), 3) << "a source ends as in training";
    EXPECT_EQ(lines[i], model.decode(infer::translate(*model.model, pool, source, options)[0][0]));
  }
}

TEST_F(Decode, FromAFileWithAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += std::string("quick brown fox jumps").substr(static_cast<std::size_t>(i) % 9) + "\r\n";
  testing::write_file(root(), "in.txt", text);
  const std::string one = run({"translate", "translator", "-i", "in.txt", "-b", "3", "-t", "1"}).out;
  EXPECT_EQ(lines_of(one).size(), 60u);
  EXPECT_EQ(run({"translate", "translator", "-i", "in.txt", "-b", "3", "-t", "3"}).out, one);
}

TEST_F(Decode, NBestAndJson) {
  const auto plain =
      lines_of(run({"translate", "translator", "--n-best", "3", "--max-new", "9"}, "a fox\n\n").out);
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_EQ(plain[0].substr(0, 6), "0 ||| ");
  EXPECT_EQ(plain[3], "");
  const auto result =
      run({"translate", "translator", "--n-best", "3", "--max-new", "9", "--json"}, "a fox\n\n");
  const auto json = lines_of(result.out);
  ASSERT_EQ(json.size(), 2u) << result.err;
  const Json first = parse_json(json[0], "out"), empty = parse_json(json[1], "out");
  EXPECT_EQ(first["line"], 1);
  EXPECT_EQ(first["input"], "a fox");
  ASSERT_EQ(first["hypotheses"].size(), 3u);
  EXPECT_GE(first["hypotheses"][0]["score"].get<double>(), first["hypotheses"][1]["score"].get<double>());
  EXPECT_EQ(first["output"], first["hypotheses"][0]["text"]);
  EXPECT_EQ(empty["output"], "");
}

// A folder may set several results per text. --sentences joins the best result of each sentence.
TEST_F(Decode, SentencesAreAllWrittenIfTheFolderSetsSeveralResults) {
  const std::string line = "A fox. The dog. A bank.\n";
  const std::vector<std::string> call{"translate", "translator", "--sentences", "--max-new",
                                      "6",         "--set",      "num_beams=2"};
  std::vector<std::string> several = call;
  several.insert(several.end(), {"--set", "num_return_sequences=2"});
  const testing::ProgramResult one = run(call, line), best = run(several, line);
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(best.out, one.out) << best.err;
}

TEST_F(Decode, GenerateContinuesAndSamplesByTheSeed) {
  const auto greedy = lines_of(run({"generate", "gpt", "--max-new", "15"}, "the\nthe quick\n").out);
  ASSERT_EQ(greedy.size(), 2u);
  const std::vector<std::string> sample{"generate", "gpt",     "--max-new", "15",
                                        "--sample", "--top-p", "0.95",      "-s"};
  const auto with_seed = [&](const std::string& seed) {
    std::vector<std::string> arguments = sample;
    arguments.push_back(seed);
    return lines_of(run(arguments, "a\nthe\n").out);
  };
  const auto seven = with_seed("7");
  ASSERT_EQ(seven.size(), 2u);
  EXPECT_EQ(with_seed("7"), seven);
  EXPECT_NE(with_seed("8"), seven);
  const auto prompt = run({"generate", "gpt", "--max-new", "15", "--prompt", "the"});
  EXPECT_EQ(prompt.out, "the" + greedy[0] + "\n") << prompt.err;
}

// --sample uses the folder's sampling values even if the folder selects greedy search. Greedy search does not
// use these values, so they may be invalid.
TEST_F(Decode, SamplingHasTheFoldersValues) {
  const auto written = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"generate", "gpt", "--max-new", "15", "-s", "7"});
    const testing::ProgramResult result = run(options, "a\nthe\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string given = written({"--sample", "--temperature", "3"});
  EXPECT_NE(written({"--sample"}), given);
  EXPECT_EQ(written({"--sample", "--set", "temperature=3"}), given);
  EXPECT_EQ(written({"--sample", "--set", "top_k=1"}), written({}));
  EXPECT_EQ(written({"--set", "temperature=0"}), written({}));
  const testing::ProgramResult refused =
      run({"generate", "gpt", "--sample", "--set", "temperature=0"}, "a\n");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("temperature"), std::string::npos) << refused.err;
}

// An unknown or unsupported setting is an error.
TEST_F(Decode, SettingsWithoutEffectAreRefused) {
  for (const auto& [setting, expected] :
       {std::pair{"num_beam=4", "\"num_beams\""}, std::pair{"nonsense=1", "generation_config.json"},
        std::pair{"num_beam_groups=2", "found \"num_beam_groups\""}}) {
    const testing::ProgramResult result = run({"translate", "translator", "--set", setting}, "the fox\n");
    EXPECT_EQ(result.exit_code, 2) << setting;
    EXPECT_NE(result.err.find(expected), std::string::npos) << result.err;
  }
  for (const char* setting :
       {"stop_strings=[\"fox\"]", "eos_token_id=3", "normalize_whitespace=true", "eta_cutoff=0.1"})
    EXPECT_EQ(run({"translate", "translator", "--set", setting}, "the fox\n").exit_code, 0) << setting;
}

TEST_F(Decode, FaultyLinesAreNamedAndThoseBeforeAnswered) {
  const auto bad = run({"translate", "translator"}, "the dog\n\xff\xfe\nthe fox\n");
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_EQ(lines_of(bad.out).size(), 1u);
  EXPECT_NE(bad.err.find("standard input:2"), std::string::npos) << bad.err;
  const auto long_line = run({"translate", "short"}, "a\nthe quick brown fox\n");
  EXPECT_EQ(long_line.exit_code, 3);
  EXPECT_EQ(lines_of(long_line.out).size(), 1u);
  EXPECT_NE(
      long_line.err.find(
          "standard input:2: the text is too long for the model (expected at most 12, found 20 tokens)"),
      std::string::npos)
      << long_line.err;
}

TEST_F(Decode, WrongCallsSayWhatToDo) {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string part;
  };
  for (const Case& one :
       {Case{{"translate", "nowhere"}, 4, "nowhere"},
        Case{{"translate", "gpt"}, 2, "Use regard generate"},
        Case{{"translate"}, 2, "MODEL"},
        Case{{"translate", "translator", "-b", "0"}, 2, "beam"},
        Case{{"translate", "translator", "-b", "2", "--n-best", "3"}, 2, "at most the beam"},
        Case{{"translate", "translator", "-b", "2", "--sample"}, 2, "sampling cannot be combined"},
        Case{{"generate", "gpt", "--temperature", "0"}, 2, "temperature"},
        Case{{"generate", "gpt", "--top-p", "1.5"}, 2, "top-p"},
        Case{{"generate", "gpt", "--set", "top_k"}, 2, "KEY=VALUE"},
        Case{{"generate", "gpt", "--log-probabilities"}, 2, "--json"},
        Case{{"generate", "gpt", "--bad-word", ""}, 2, "bad word"},
        Case{{"generate", "gpt", "--prompt", "a", "--chat", "b"}, 2, "cannot be combined with --chat"},
        Case{{"generate", "gpt", "--system", "a"}, 2, "--chat"},
        Case{{"generate", "gpt", "--chat", "a"}, 2, "no chat template"},
        Case{{"generate", "gpt", "--chat", "a", "--chat-template", "chatm"}, 2, "chatml"},
        Case{{"generate", "gpt", "--prompt", ""}, 3, "no tokens"},
        Case{{"translate", "translator", "--task", "translation_en_to_de"}, 2, "no task_specific_params"},
        Case{{"translate", "translator", "--to", "de"}, 2, "one target language"},
        Case{{"translate", "translator", "--sentences", "--n-best", "2"}, 2, "--sentences"},
        Case{{"translate", "translator", "-i", "missing.txt"}, 4, "missing.txt"}}) {
    const auto result = run(one.arguments, "a\n");
    EXPECT_EQ(result.exit_code, one.exit_code) << result.err;
    EXPECT_NE(result.err.find(one.part), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(Decode, APromptWithABeamAndAnEncoder) {
  const auto lines = run({"generate", "gpt", "--max-new", "9", "-b", "3"}, "the\n");
  const auto prompt = run({"generate", "gpt", "--max-new", "9", "-b", "3", "--prompt", "the"});
  EXPECT_EQ(prompt.out, "the" + lines.out) << prompt.err;
  const auto translated = run({"translate", "translator", "--max-new", "9"}, "the dog\n");
  EXPECT_EQ(run({"generate", "translator", "--max-new", "9"}, "the dog\n").out, translated.out);
  EXPECT_EQ(run({"generate", "translator", "--max-new", "9", "--prompt", "the dog"}).out, translated.out);
}

// Folders without a tokenizer, or without the start token that decoding needs, give an error.
TEST_F(Decode, FoldersThatDoNotFit) {
  testing::write_text_model(root() / "unfit", "gpt");
  testing::write_text_model(root() / "startless", "translator");
  Json config = read_json((root() / "unfit/config.json").string());
  EXPECT_TRUE(config.contains("vocabulary"));
  fs::remove(root() / "startless/generation_config.json");
  const auto startless = run({"translate", "startless"}, "a\n");
  EXPECT_EQ(startless.exit_code, 3);
  EXPECT_NE(startless.err.find("decoder_start_token_id"), std::string::npos) << startless.err;
  fs::remove(root() / "unfit/tokenizer.json");
  const auto without = run({"generate", "unfit"}, "a\n");
  EXPECT_NE(without.exit_code, 0);
  EXPECT_NE(without.err.find("tokenizer"), std::string::npos) << without.err;
}

// Run the program with pipes: the result of each line arrives before the next line is sent.
TEST_F(Decode, AnswersEachLineAsItIsTyped) {
  int to[2], from[2];
  ASSERT_EQ(pipe(to), 0);
  ASSERT_EQ(pipe(from), 0);
  const std::string model = root() / "translator";
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
    execl(testing::program_path(), "regard", "translate", model.c_str(), "--max-new", "5", nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  for (const std::string typed : {"the dog\n", "\n", "a fox\n"}) {
    ASSERT_EQ(write(to[1], typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
    std::string answer;
    while (answer.find('\n') == std::string::npos) {
      pollfd waiting{from[0], POLLIN, 0};
      ASSERT_EQ(poll(&waiting, 1, 30000), 1) << "no answer to " << typed;
      char letter = 0;
      ASSERT_EQ(read(from[0], &letter, 1), 1);
      answer += letter;
    }
    EXPECT_EQ(answer == "\n", typed == "\n") << answer;
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  close(to[1]);
  close(from[0]);
}

}  // namespace
}  // namespace regard::testing

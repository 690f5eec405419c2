// How every command that reads lines handles files, byte order marks, lines that are not UTF-8, and a closed
// standard input.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

class Lines : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    write_text_model(root() / "translator", "translator");
    write_text_model(root() / "gpt", "gpt", 200);
  }
  static void TearDownTestSuite() { delete folder_; }
  static fs::path root() { return folder_->path(); }
  static ProgramResult run(const std::vector<std::string>& arguments, const std::string& input = "") {
    return run_program(arguments, root(), input);
  }

  struct Verb {
    std::vector<std::string> arguments;
    std::string good;  // a valid line
  };
  static std::vector<Verb> verbs() {
    const auto model = [](const std::string& name) { return golden(name).string(); };
    return {{{"translate", "translator", "--max-new", "5"}, "the dog"},
            {{"generate", "gpt", "--max-new", "5"}, "the dog"},
            {{"classify", model("hf-more/bert-nli")}, "Green."},
            {{"embed", model("hf-more/st-mean")}, "Green."},
            {{"fill", model("tasks/roberta-fill")}, "a <mask> b"},
            {{"answer", model("hf-more/bert-qa-stride")}, "What?\tWater on new day."},
            {{"tag", model("hf-more/bert-ner")}, "Bird slowland."},
            {{"tokenizer", "encode", "-T", model("tokenizer-json/bpe-gpt2")}, "Green."}};
  }

 private:
  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(Lines, ALineThatIsNotUtf8EndsTheCommandWithItsPlace) {
  for (const Verb& verb : verbs()) {
    SCOPED_TRACE(verb.arguments[0]);
    const ProgramResult result = run(verb.arguments, verb.good + "\n\xFF\xFE\n" + verb.good + "\n");
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_NE(result.err.find("standard input:2"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("not UTF-8"), std::string::npos) << result.err;
    EXPECT_EQ(lines_of(result.out).size(), 1u) << result.out;
  }
}

TEST_F(Lines, SkippedLinesHaveAnEmptyResultAndAreCounted) {
  for (const Verb& verb : verbs()) {
    SCOPED_TRACE(verb.arguments[0]);
    std::vector<std::string> arguments = verb.arguments;
    arguments.push_back("--skip-bad");
    const std::string input = "\xFF\n" + verb.good + "\n\xC3\n" + verb.good + "\n\xFF";
    const ProgramResult result = run(arguments, input), one = run(verb.arguments, verb.good + "\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "\n" + one.out + "\n" + one.out + "\n");
    EXPECT_NE(result.err.find("3 lines were skipped"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("standard input:1"), std::string::npos) << result.err;
    arguments.push_back("--json");
    const auto json = lines_of(run(arguments, input).out);
    ASSERT_EQ(json.size(), 5u);
    EXPECT_EQ(parse_json(json[2], "out")["line"], 3);
    EXPECT_NE(parse_json(json[2], "out")["error"].get<std::string>().find("not UTF-8"), std::string::npos);
    EXPECT_FALSE(parse_json(json[3], "out").contains("error"));
  }
}

TEST_F(Lines, WhatCannotBeTakenIsSkippedToo) {
  const std::string nli = golden("hf-more/bert-nli").string();
  const ProgramResult pairs = run({"classify", nli, "--pair", "--skip-bad"}, "a\tb\na\tb\tc\nd\na\tb\n");
  EXPECT_EQ(pairs.exit_code, 0) << pairs.err;
  const auto lines = lines_of(pairs.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], lines[3]);
  EXPECT_EQ(lines[1] + lines[2], "");
  const std::string embed = golden("hf-more/st-mean").string();
  const ProgramResult same = run({"embed", embed, "--similarity", "--skip-bad"}, "Green.\n\xFF\nGreen.\n");
  EXPECT_EQ(same.out, "1.0000\t0.0000\t1.0000\n0.0000\t0.0000\t0.0000\n1.0000\t0.0000\t1.0000\n") << same.err;
  const ProgramResult json = run({"tokenizer", "encode", "-T", golden("tokenizer-json/bpe-gpt2").string(),
                                  "--input-format", "jsonl", "--skip-bad"},
                                 "{\"text\": \"a\"}\n{\"text\": \"\\ud800\"}\n{}\n{\"text\": \"a\"}\n");
  EXPECT_EQ(json.exit_code, 0) << json.err;
  ASSERT_EQ(lines_of(json.out).size(), 4u) << json.err;
  EXPECT_EQ(lines_of(json.out)[0], lines_of(json.out)[3]);
}

TEST_F(Lines, AByteOrderMarkIsNoPartOfTheFirstLine) {
  for (const Verb& verb : verbs()) {
    SCOPED_TRACE(verb.arguments[0]);
    EXPECT_EQ(run(verb.arguments, "\xEF\xBB\xBF" + verb.good + "\r\n").out,
              run(verb.arguments, verb.good).out);
  }
}

TEST_F(Lines, AClosedStandardInputIsAnErrorAndNoOtherFileIsRead) {
  for (const Verb& verb : verbs()) {
    std::string command = "cd '" + root().string() + "' && '" + program_path() + "'";
    for (const std::string& argument : verb.arguments) command += " '" + argument + "'";
    const int status = std::system((command + " <&- >closed.out 2>closed.err").c_str());
    const std::string err = file_content(root() / "closed.err");
    ASSERT_TRUE(WIFEXITED(status)) << verb.arguments[0];
    EXPECT_EQ(WEXITSTATUS(status), 4) << verb.arguments[0] << err;
    EXPECT_NE(err.find("standard input: cannot read"), std::string::npos) << verb.arguments[0] << err;
    EXPECT_EQ(file_content(root() / "closed.out"), "") << verb.arguments[0];
  }
}

TEST_F(Lines, TranslateAndGenerateTakeAFileAndWriteOne) {
  write_file(root(), "in.txt", "the dog\n\nthe fox\n");
  for (const Verb& verb : {verbs()[0], verbs()[1]}) {
    std::vector<std::string> arguments = verb.arguments;
    const std::string expected = run(arguments, "the dog\n\nthe fox\n").out;
    arguments.insert(arguments.begin() + 2, "in.txt");
    EXPECT_EQ(run(arguments).out, expected);
    arguments.insert(arguments.end(), {"-o", "out.txt"});
    const ProgramResult written = run(arguments);
    EXPECT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(written.out, "");
    EXPECT_EQ(file_content(root() / "out.txt"), expected);
    arguments[2] = "bad.txt";
    write_file(root(), "bad.txt", "the dog\n\xFF\n");
    EXPECT_EQ(run(arguments).exit_code, 3);
    EXPECT_EQ(file_content(root() / "out.txt"), expected) << "an output is there as a whole or not at all";
    arguments.back() = "-";
    arguments[2] = "in.txt";
    EXPECT_EQ(run(arguments).out, expected);
  }
  EXPECT_EQ(run({"generate", "gpt", "in.txt", "--prompt", "a"}).exit_code, 2);
  EXPECT_EQ(run({"translate", "translator", "."}).exit_code, 4);
}

// One character of the vocabulary is replaced by a line end, so that the model generates line ends.
TEST_F(Lines, GeneratedLineEndsStayThoseOfAnOnlyLine) {
  std::string prompt, plain;
  char seen = 0;
  for (const std::string one : {"the", "dog", "a", "fox", "quick", "over", "lazy"}) {
    prompt = one, plain = lines_of(run({"generate", "gpt", "--max-new", "15"}, one + "\n").out).at(0);
    const std::size_t place = plain.find_first_not_of(" " + one);
    if (place == plain.npos) continue;
    seen = plain[place];
    break;
  }
  ASSERT_NE(seen, 0) << "no prompt is continued by a letter that it does not have";
  fs::copy(root() / "gpt", root() / "lines", fs::copy_options::recursive);
  Json tokenizer = read_json((root() / "lines/tokenizer.json").string());
  Json vocabulary = Json::object();
  for (const auto& [token, id] : tokenizer["model"]["vocab"].items())
    vocabulary[token == std::string(1, seen) ? "\n" : token] = id;
  tokenizer["model"]["vocab"] = vocabulary;
  write_file(root() / "lines", "tokenizer.json", tokenizer.dump());
  std::string with_lines = plain, escaped;
  for (char& letter : with_lines) {
    if (letter == seen) letter = '\n';
    escaped += letter == '\n' ? "\\n" : std::string(1, letter);
  }
  const std::vector<std::string> generate{"generate", "lines", "--max-new", "15"};
  EXPECT_EQ(run(generate, prompt + "\n").out, with_lines + "\n");
  EXPECT_EQ(run(generate, prompt).out, with_lines + "\n");
  EXPECT_EQ(lines_of(run(generate, prompt + "\n" + prompt + "\n").out),
            (std::vector<std::string>{escaped, escaped}));
  EXPECT_EQ(lines_of(run(generate, prompt + "\n\n").out).at(0), escaped);
  std::vector<std::string> json = generate;
  json.push_back("--json");
  const auto objects = lines_of(run(json, prompt + "\n" + prompt + "\n").out);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(parse_json(objects[1], "out")["output"], with_lines);
}

TEST_F(Lines, TokenIdsBehindANulByteAreNotLost) {
  const std::string gpt2 = golden("tokenizer-json/bpe-gpt2").string();
  const ProgramResult result = run({"tokenizer", "decode", "-T", gpt2}, std::string("45 \0 609\n", 9));
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_NE(result.err.find("standard input:1: invalid token id"), std::string::npos) << result.err;
}

TEST_F(Lines, AByteOrderMarkIsNoPartOfAWordsVector) {
  write_file(root(), "header.txt",
             "\xEF\xBB\xBF"
             "2 2\nmoney 1 0\nbank 1 1\n");
  write_file(root(), "glove.txt", "\xEF\xBB\xBFmoney 1 0\nbank 1 1\n");
  for (const char* file : {"header.txt", "glove.txt"}) {
    const ProgramResult result = run({"vectors", "similar", file, "money"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("bank"), std::string::npos) << result.out;
  }
}

TEST_F(Lines, TextOnTheCommandLineHasToBeUtf8) {
  const std::string bad = "a\xFF", embed = golden("hf-more/st-mean").string();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"attend", "translator", bad, "--json"},
           {"attend", "translator", "a", "--target", bad},
           {"translate", "translator", "--prefix", bad},
           {"translate", "translator", "--stop", bad},
           {"translate", "translator", "--bad-word", bad},
           {"generate", "gpt", "--prompt", bad},
           {"embed", embed, "--query", bad, "--json"},
           {"embed", embed, "--prompt", bad},
           {"fill", golden("tasks/roberta-fill").string(), "--targets", bad}}) {
    const ProgramResult result = run(arguments, "a\n");
    EXPECT_EQ(result.exit_code, 2) << arguments[0] << result.err;
    EXPECT_NE(result.err.find("not UTF-8"), std::string::npos) << arguments[0] << result.err;
  }
}

// At a line without tokens, classify prints the results of the lines before it and stops.
TEST_F(Lines, ALineWithoutTokensEndsClassifyAfterThoseBefore) {
  fs::copy(golden("hf-more/bert-nli"), root() / "bare", fs::copy_options::recursive);
  fs::permissions(root() / "bare/tokenizer.json", fs::perms::owner_all, fs::perm_options::add);
  Json tokenizer = read_json((root() / "bare/tokenizer.json").string());
  tokenizer["post_processor"] = nullptr;
  write_file(root() / "bare", "tokenizer.json", tokenizer.dump());
  const ProgramResult result = run({"classify", "bare"}, "Green.\n\nGreen.\n");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(lines_of(result.out).size(), 1u);
  const ProgramResult skipped = run({"classify", "bare", "--skip-bad"}, "Green.\n\nGreen.\n");
  EXPECT_EQ(lines_of(skipped.out).size(), 3u) << skipped.err;
}

class Whitespace : public ::testing::Test {
 protected:
  // Train a translator on four sentences whose text has byte order marks and irregular spaces.
  void train(const std::string& name, const std::vector<std::string>& more = {}) {
    std::string english = "\xEF\xBB\xBF", german = "\xEF\xBB\xBF";
    for (int i = 0; i < 8; ++i) {
      english += "one two three\n four  five \n\xEF\xBB\xBFsix\nseven\teight\n";
      german += "eins zwei drei\nvier fünf\n sechs\nsieben  acht\n";
    }
    write_file(folder_.path(), "a.en", english);
    write_file(folder_.path(), "a.de", german);
    write_file(folder_.path(), "run.toml", R"(task = "translation"
[data]
train = ["a.en", "a.de"]
valid = ["a.en", "a.de"]
[tokenizer]
vocab_size = 300
[model]
encoder_layers = 1
decoder_layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
[training]
max_steps = 3
batch_tokens = 64
[validation]
metrics = ["loss"]
samples = 0
[output]
folder = ")" + name + "\"\n");
    std::vector<std::string> arguments{"train", "run.toml", "-q"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult trained = run(arguments);
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }
  ProgramResult run(const std::vector<std::string>& arguments, const std::string& input = "") {
    return run_program(arguments, folder_.path(), input);
  }
  // Return the output lines of `translate --json`, one JSON object per input line.
  std::vector<std::string> translations(const std::string& model, const std::string& text) {
    return lines_of(run({"translate", model, "--json", "--max-new", "8"}, text).out);
  }
  static std::vector<Json> scores(const std::vector<std::string>& lines) {
    std::vector<Json> found;
    for (const std::string& line : lines) found.push_back(parse_json(line, "out").value("score", Json()));
    return found;
  }
  TemporaryFolder folder_;
};

const char* const kSpaced = "one two three\n one  two\tthree \n\xEF\xBB\xBFone two three\n\xC2\xA0\n";

TEST_F(Whitespace, IsTheSameInTrainingAndUse) {
  train("out");
  const std::string vocabulary = file_content(folder_.path() / "out/tokenizer.json");
  EXPECT_EQ(vocabulary.find("\xEF\xBB\xBF"), std::string::npos) << "a byte order mark is in the vocabulary";
  const auto found = scores(translations("out", kSpaced));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
  EXPECT_TRUE(found[3].is_null()) << "white space alone is an empty line";
  // attend and evaluate normalise white space as translate does.
  const auto attended = [&](const std::string& text, const std::string& target) {
    Json view = parse_json(run({"attend", "out", text, "--target", target, "--json"}).out, "view");
    view.erase("text");
    return view;
  };
  EXPECT_EQ(attended(" one  two", " eins "), attended("one two", "eins"));
  write_file(folder_.path(), "b.en", " one  two three\n");
  write_file(folder_.path(), "c.en", "one two three\n");
  write_file(folder_.path(), "b.de", "eins  zwei drei \n");
  write_file(folder_.path(), "c.de", "eins zwei drei\n");
  const auto loss = [&](const std::string& name) {
    const ProgramResult result = run({"evaluate", "out", name + ".en", name + ".de", "--json"});
    return result.exit_code == 0 ? parse_json(result.out, "out")["loss"] : Json(result.err);
  };
  EXPECT_EQ(loss("b"), loss("c"));
}

TEST_F(Whitespace, StaysWhereTheRunSaysSoAndInFoldersThatPredateIt) {
  train("kept", {"--set", "data.normalize_whitespace=false"});
  const auto found = scores(translations("kept", "one two three\n one  two three\n"));
  EXPECT_NE(found[0], found[1]);
  train("old");
  const auto before = scores(translations("old", "one two three\n one  two three\n"));
  EXPECT_EQ(before[0], before[1]);
  int records = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "old"))
    if (entry.path().filename() == "generation_config.json") {
      Json json = read_json(entry.path().string());
      records += static_cast<int>(json.erase("normalize_whitespace"));
      fs::create_directories(folder_.path() / "older");
      for (const auto& file : fs::directory_iterator(entry.path().parent_path()))
        fs::copy(file, folder_.path() / "older", fs::copy_options::overwrite_existing);
      write_file(folder_.path() / "older", "generation_config.json", json.dump());
    }
  EXPECT_GT(records, 0);
  const auto after = scores(translations("older", "one two three\n one  two three\n"));
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
}

// The run.toml of an older version lacks the key normalize_whitespace. Such a run is resumed without
// normalisation.
TEST_F(Whitespace, AnOlderRunIsResumedAsItBegan) {
  train("out", {"--set", "data.normalize_whitespace=false"});
  const fs::path file = folder_.path() / "out/run.toml";
  std::string saved = file_content(file);
  const std::string line = "normalize_whitespace = false\n";
  ASSERT_NE(saved.find(line), std::string::npos);
  saved.erase(saved.find(line), line.size());
  write_file(folder_.path() / "out", "run.toml", saved);
  for (const std::string from : {"run.toml", "out/run.toml"}) {
    const ProgramResult resumed = run({"train", from, "-q", "--resume", "--set", "training.max_steps=5"});
    EXPECT_EQ(resumed.exit_code, 0) << from << resumed.err;
  }
  const auto found = scores(translations("out", "one two three\n one  two three\n"));
  EXPECT_NE(found[0], found[1]);
}

TEST_F(Whitespace, AWordOfAMillionLettersIsNoSentence) {
  for (const std::string type : {"bpe", "byte-bpe", "wordpiece", "word"}) {
    train(type, {"--set", "tokenizer.type=" + type});
    std::string long_en = file_content(folder_.path() / "a.en") + std::string(1'000'000, 'a') + "\n";
    write_file(folder_.path(), "long.en", long_en);
    write_file(folder_.path(), "long.de", file_content(folder_.path() / "a.de") + "neun\n");
    const ProgramResult trained =
        run({"train", "run.toml", "--set", "tokenizer.type=" + type, "--set",
             "data.train=[\"long.en\", \"long.de\"]", "--set", "output.folder=long-" + type});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_NE((trained.err + trained.out).find("training: 32 pairs"), std::string::npos) << trained.err;
    EXPECT_NE((trained.err + trained.out).find("1 with too many characters skipped"), std::string::npos);
    EXPECT_EQ(file_content(folder_.path() / ("long-" + type) / "tokenizer.json"),
              file_content(folder_.path() / type / "tokenizer.json"))
        << "the vocabulary is learnt without it";
  }
}

TEST_F(Whitespace, ATsvHeaderIsNoPair) {
  train("out");
  write_file(folder_.path(), "t.tsv", "id\tde\ten\n1\teins\tone two\n2\tvier\tfour\n");
  const auto sentences = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"evaluate", "out", "t.tsv", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run(arguments);
    return result.exit_code == 0 ? parse_json(result.out, "out")["sentences"] : Json(result.err);
  };
  EXPECT_EQ(sentences({"--columns", "en,de"}), 2);
  EXPECT_EQ(sentences({"--columns", "3,2", "--header"}), 2);
  EXPECT_EQ(sentences({"--columns", "3,2"}), 3);
}

}  // namespace
}  // namespace regard::testing

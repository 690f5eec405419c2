// translate, generate, attend --generate and run --generate with the Hugging Face folders of hf-tiny.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "support/golden.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "text/sentencepiece.h"
#include "text/tokenizer.h"

namespace regard::testing {
namespace {

using testing::lines_of;
using testing::run_program;
namespace fs = std::filesystem;

class HfFolder : public ::testing::Test {
 protected:
  fs::path root() const { return folder_.path(); }
  testing::ProgramResult run(const std::vector<std::string>& arguments, const std::string& input = "") {
    return run_program(arguments, root(), input);
  }
  void copy_model(const std::string& name, const std::string& to) {
    fs::create_directories(root() / to);
    for (const char* file : {"config.json", "generation_config.json", "model.safetensors"})
      fs::copy_file(testing::golden("hf-tiny/" + name) / file, root() / to / file);
  }
  // Build the same model folder as tests/data/marian-text/translate.py.
  void make_marian() {
    copy_model("marian", "marian");
    const std::string bytes = read_file(testing::golden("sentencepiece") / "sp-bpe-identity" / "sp.model");
    for (const char* side : {"source.spm", "target.spm"}) testing::write_file(root() / "marian", side, bytes);
    std::vector<std::string> pieces;
    for (const text::SentencePiece& piece : text::parse_sentencepiece(bytes, "sp.model").pieces)
      if (piece.type == text::PieceType::normal) pieces.push_back(piece.piece);
    pieces.erase(pieces.begin(), pieces.end() - 108);
    Json vocabulary{{"</s>", 0}, {"<unk>", 1}, {">>deu<<", 2}, {"<pad>", 111}};
    for (std::size_t i = 0; i < pieces.size(); ++i) vocabulary[pieces[i]] = 3 + i;
    testing::write_file(root() / "marian", "vocab.json", vocabulary.dump());
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(HfFolder, MarianTranslatesWhatTransformersDoes) {
  make_marian();
  const Json golden = read_json((testing::golden("marian-text") / "golden.json").string());
  std::string input;
  for (const Json& one : golden) input += one["line"].get<std::string>() + "\n\n";
  const auto result = run({"translate", "marian", "-b", "3", "--max-new", "12"}, input);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 2 * golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    EXPECT_EQ(lines[2 * i], golden[i]["text"].get<std::string>()) << golden[i]["line"];
    EXPECT_EQ(lines[2 * i + 1], "") << "an empty line keeps its place";
  }
  // The target language is given by --to instead of in the line.
  const auto to = run({"translate", "marian", "-b", "3", "--max-new", "12", "--to", "deu"}, "a red dog\n");
  EXPECT_EQ(to.out, golden[1]["text"].get<std::string>() + "\n") << to.err;
  const auto unknown = run({"translate", "marian", "--to", "fra"}, "a\n");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("one of deu"), std::string::npos) << unknown.err;
}

TEST_F(HfFolder, SentencesOfALongLineAreTranslatedAloneAndJoined) {
  make_marian();
  const std::string first = "Hello, world!", second = "The man beats the boy .", third = "\"A red dog.\"";
  const auto alone = lines_of(
      run({"translate", "marian", "--max-new", "9"}, first + "\n" + second + "\n" + third + "\n").out);
  ASSERT_EQ(alone.size(), 3u);
  const std::string line = first + "  " + second + " " + third;
  const auto joined =
      run({"translate", "marian", "--max-new", "9", "--sentences"}, line + "\n\n" + first + "\n");
  EXPECT_EQ(joined.out, alone[0] + "  " + alone[1] + " " + alone[2] + "\n\n" + alone[0] + "\n") << joined.err;
  const auto json = run({"translate", "marian", "--max-new", "9", "--sentences", "--json"}, line + "\n");
  const Json object = parse_json(json.out, "out");
  ASSERT_EQ(object["sentences"].size(), 3u) << json.out;
  EXPECT_EQ(object["sentences"][1]["text"], alone[1]);
  // The line is too long for the model, but each of its sentences fits.
  std::string text;
  for (int i = 0; i < 6; ++i) text += line + " ";
  const auto whole = run({"translate", "marian", "--max-new", "9"}, text + "\n");
  EXPECT_EQ(whole.exit_code, 3);
  EXPECT_NE(whole.err.find("standard input:1: the text is too long for the model"), std::string::npos)
      << whole.err;
  EXPECT_NE(whole.err.find("--truncate"), std::string::npos) << whole.err;
  EXPECT_EQ(run({"translate", "marian", "--max-new", "9", "--sentences"}, text + "\n").exit_code, 0);
  const auto cut = run({"translate", "marian", "--max-new", "9", "--truncate"}, text + "\n");
  EXPECT_EQ(cut.exit_code, 0) << cut.err;
  EXPECT_EQ(lines_of(cut.out).size(), 1u);
}

TEST_F(HfFolder, AT5FolderKnowsItsTasks) {
  copy_model("t5", "t5");
  testing::write_text_model(root() / "letters", "gpt", 200);
  fs::copy_file(root() / "letters/tokenizer.json", root() / "t5/tokenizer.json");
  Json config = read_json((root() / "t5/config.json").string());
  config["task_specific_params"] = {
      {"translation_en_to_de", {{"prefix", "the quick "}, {"num_beams", 3}, {"max_new_tokens", 6}}},
      {"summarization", {{"prefix", "fox "}}}};
  testing::write_file(root() / "t5", "config.json", config.dump());
  const auto untold = run({"translate", "t5"}, "dog\n");
  EXPECT_EQ(untold.exit_code, 2);
  EXPECT_NE(untold.err.find("Tasks of this model: translation_en_to_de"), std::string::npos) << untold.err;
  const auto task = run({"translate", "t5", "--task", "translation_en_to_de"}, "dog\n");
  EXPECT_EQ(task.exit_code, 0) << task.err;
  const std::vector<std::string> same{"-b", "3", "--max-new", "6"};
  EXPECT_EQ(run({"translate", "t5", "--prefix", "the quick ", "-b", "3", "--max-new", "6"}, "dog\n").out,
            task.out);
  EXPECT_EQ(run({"generate", "t5", "-b", "3", "--max-new", "6"}, "the quick dog\n").out, task.out);
  EXPECT_NE(run({"translate", "t5", "--prefix", "fox ", "-b", "3", "--max-new", "6"}, "dog\n").out, task.out);
  const auto wrong = run({"translate", "t5", "--task", "translation_en_to_fr"}, "dog\n");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("one of translation_en_to_de, summarization"), std::string::npos) << wrong.err;
}

// Without generation_config.json, the settings in config.json apply even if a task or --set changes other
// settings.
TEST_F(HfFolder, SettingsInTheConfigApplyWithATask) {
  copy_model("t5", "t5");
  testing::write_text_model(root() / "letters", "gpt", 200);
  fs::copy_file(root() / "letters/tokenizer.json", root() / "t5/tokenizer.json");
  fs::remove(root() / "t5/generation_config.json");
  Json config = read_json((root() / "t5/config.json").string());
  config["forced_bos_token_id"] = 7;
  config["task_specific_params"] = {{"summarization", {{"num_beams", 2}}}};
  testing::write_file(root() / "t5", "config.json", config.dump());
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--task", "summarization"}, {"--set", "num_beams=2"}, {}}) {
    std::vector<std::string> all{"translate", "t5", "--max-new", "4", "--json", "--log-probabilities"};
    all.insert(all.end(), more.begin(), more.end());
    if (more.empty()) all.insert(all.end(), {"--prefix", ""});
    const auto result = run(all, "the dog\n");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(parse_json(result.out, "out")["hypotheses"][0]["pieces"][0]["id"], 7);
  }
}

// forced_bos_token_id determines the first generated token, as in multilingual BART.
TEST_F(HfFolder, AForcedFirstTokenIsWrittenFirst) {
  copy_model("bart", "bart");
  testing::write_text_model(root() / "letters", "gpt", 200);
  fs::copy_file(root() / "letters/tokenizer.json", root() / "bart/tokenizer.json");
  for (const int token : {7, 12}) {
    const auto result = run({"translate", "bart", "-b", "2", "--max-new", "5", "--set",
                             "forced_bos_token_id=" + std::to_string(token), "--json", "--log-probabilities"},
                            "the dog\n");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(parse_json(result.out, "out")["hypotheses"][0]["pieces"][0]["id"], token);
  }
}

TEST_F(HfFolder, AttendShowsWhatADecoderGenerates) {
  copy_model("gpt2", "gpt2");
  testing::write_text_model(root() / "letters", "gpt", 200);
  fs::copy_file(root() / "letters/tokenizer.json", root() / "gpt2/tokenizer.json");
  const auto written =
      run({"generate", "gpt2", "--max-new", "5", "--json", "--log-probabilities"}, "the fox\n");
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const Json pieces = parse_json(written.out, "out")["hypotheses"][0]["pieces"];
  ASSERT_EQ(pieces.size(), 5u);
  const auto shown = run({"attend", "gpt2", "the fox", "--generate", "5", "--json", "--full"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const Json view = parse_json(shown.out, "out");
  const auto tokenizer = text::Tokenizer::load(root() / "gpt2/tokenizer.json");
  std::vector<std::int32_t> ids = tokenizer->encode_ids("the fox");
  const std::size_t prompt = ids.size();
  for (const Json& piece : pieces) ids.push_back(piece["id"].get<std::int32_t>());
  // The weights equal the weights that `run` computes for the prompt followed by the generated tokens.
  Tensor input = Tensor::empty({1, static_cast<std::int64_t>(ids.size())}, DType::i64);
  std::copy(ids.begin(), ids.end(), input.i64());
  formats::write_safetensors(root() / "in.safetensors",
                             std::vector<formats::NamedTensor>{{"input_ids", input}});
  ASSERT_EQ(run({"run", "gpt2", "-i", "in.safetensors", "-o", "out.safetensors", "--capture", "attentions"})
                .exit_code,
            0);
  const auto file = formats::SafetensorsFile::open(root() / "out.safetensors");
  std::size_t compared = 0;
  for (const Json& map : view["attention"]) {
    const Tensor weights = file->tensor("attentions." + std::to_string(map["layer"].get<int>()));
    const std::int64_t size = weights.shape()[2];
    // The last generated token was never an input, so it may have no row.
    const auto rows = std::ssize(map["weights"]);
    ASSERT_GE(rows, static_cast<std::int64_t>(prompt) + 4);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column <= row; ++column, ++compared)
        ASSERT_NEAR(
            map["weights"][static_cast<std::size_t>(row)][static_cast<std::size_t>(column)].get<double>(),
            static_cast<double>(
                weights.f32()[(map["head"].get<std::int64_t>() * size + row) * size + column]),
            2e-5);
  }
  EXPECT_GT(compared, 100u);
}

// The options of `run --generate` correspond to the arguments of the golden cases.
TEST_F(HfFolder, RunGeneratesUnderItsFlags) {
  const std::map<std::string, std::string> flags{
      {"num_beams", "--beam"}, {"max_new_tokens", "--max-new"}, {"length_penalty", "--length-penalty"}};
  for (const char* name : {"gpt2", "bart", "marian", "t5", "llama"}) {
    const testing::HfFolder folder(name);
    std::vector<formats::NamedTensor> inputs;
    for (const char* input : {"input_ids", "attention_mask"})
      if (folder.golden.has(input)) inputs.push_back({input, folder.golden.tensor(input)});
    formats::write_safetensors(root() / "in.safetensors", inputs);
    for (const auto& [generation, about] : folder.golden.about()["generation"].items()) {
      SCOPED_TRACE(std::string(name) + " " + generation);
      std::vector<std::string> arguments{"run", folder.path.string(), "-i",        "in.safetensors",
                                         "-o",  "out.safetensors",    "--generate"};
      for (const auto& [key, value] : about["arguments"].items())
        if (const auto flag = flags.find(key); flag != flags.end()) {
          arguments.push_back(flag->second);
          arguments.push_back(value.dump());
        }
      const auto result = run(arguments);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      const auto file = formats::SafetensorsFile::open(root() / "out.safetensors");
      const Tensor found = file->tensor("sequences"), expected = folder.golden.tensor(generation);
      ASSERT_EQ(found.shape().text(), expected.shape().text());
      for (std::int64_t i = 0; i < expected.elements(); ++i)
        EXPECT_EQ(found.i64()[i], expected.i64()[i]) << i;
      if (!folder.golden.has(generation + "_score")) continue;
      const Tensor scores = folder.golden.tensor(generation + "_score");
      for (std::int64_t i = 0; i < scores.elements(); ++i)
        EXPECT_NEAR(file->tensor("sequences_scores").f32()[i], scores.f32()[i], 1e-4f);
    }
  }
}

TEST_F(HfFolder, SearchOptionsOfRunNeedGenerate) {
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
           {"--beam", "2"}, {"--max-new", "4"}, {"--sample"}, {"--set", "num_beams=2"}}) {
    std::vector<std::string> arguments{
        "run", testing::golden("hf-tiny/gpt2").string(), "-i", "in.safetensors", "-o", "out.safetensors"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << option[0];
    EXPECT_NE(result.err.find("--generate"), std::string::npos) << result.err;
  }
}

TEST_F(HfFolder, RunRefusesWhatItDoesNotKnow) {
  const fs::path gpt2 = testing::golden("hf-tiny/gpt2");
  Tensor ids = Tensor::empty({1, 3}, DType::i64);
  std::fill_n(ids.i64(), 3, 5);
  formats::write_safetensors(root() / "in.safetensors",
                             std::vector<formats::NamedTensor>{{"input_ids", ids}, {"atention_mask", ids}});
  const auto unknown = run({"run", gpt2.string(), "-i", "in.safetensors", "-o", "out.safetensors"});
  EXPECT_EQ(unknown.exit_code, 3);
  for (const char* part : {"in.safetensors", "\"atention_mask\"", "attention_mask"})
    EXPECT_NE(unknown.err.find(part), std::string::npos) << unknown.err;
  EXPECT_FALSE(fs::exists(root() / "out.safetensors"));
  formats::write_safetensors(root() / "in.safetensors",
                             std::vector<formats::NamedTensor>{{"input_ids", ids}});
  const auto setting = run({"run", gpt2.string(), "-i", "in.safetensors", "-o", "out.safetensors",
                            "--generate", "--set", "num_beams=many"});
  EXPECT_NE(setting.exit_code, 0);
  EXPECT_NE(setting.err.find("num_beams"), std::string::npos) << setting.err;
  const auto encoder = run({"run", testing::golden("hf-tiny/bert").string(), "-i", "in.safetensors", "-o",
                            "out.safetensors", "--generate"});
  EXPECT_EQ(encoder.exit_code, 2);
  EXPECT_NE(encoder.err.find("no decoder"), std::string::npos) << encoder.err;
}

}  // namespace
}  // namespace regard::testing

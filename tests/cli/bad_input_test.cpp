// Invalid calls and invalid files: each ends with its exit code and a message that gives the error, its
// location and the expected form. Existing files are not changed.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/program_case.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

using Case = ProgramCase;

constexpr const char* kTokenizer =
    "{\"version\": \"1.0\", \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"[UNK]\": 0}, \"unk_token\": "
    "\"[UNK]\"}}";

// Return the names and contents of the texts and run files that every case has in its folder.
std::map<std::string, std::string> texts_and_runs() {
  const std::string run_head =
      "task = \"translation\"\n[data]\ntrain = [\"a.en\", \"a.de\"]\nvalid = [\"a.en\", \"a.de\"]\n";
  const std::string run_tail =
      "[tokenizer]\ntype = \"char\"\n[model]\nencoder_layers = 1\ndecoder_layers = 1\nhidden_size = 8\nheads "
      "= 2\n"
      "feed_forward_size = 8\n[training]\nmax_steps = 2\nbatch_tokens = 64\n[validation]\nmetrics = "
      "[\"loss\"]\n"
      "[output]\nfolder = \"out\"\n";
  return {
      {"a.en", "one two\nthree\nfour five\n"},
      {"a.de", "eins zwei\ndrei\nvier fünf\n"},
      {"short.de", "eins zwei\ndrei\n"},
      {"bad.de",
       "eins zwei\ndr\xff"
       "ei\nvier\n"},
      {"empty.en", ""},
      {"empty.de", ""},
      {"hole.tsv", "one\teins\nno tab here\n"},
      {"good.toml", run_head + run_tail},
      {"unknown-key.toml", run_head + "[training]\nlerning_rate = 1e-3\n"},
      {"unknown-section.toml", run_head + "[trainng]\nmax_steps = 1\n"},
      {"wrong-type.toml", run_head + "[training]\nmax_steps = \"many\"\n"},
      {"negative.toml", run_head + "[training]\nmax_steps = -3\n"},
      {"heads.toml", run_head + "[model]\nhidden_size = 10\nheads = 3\n"},
      {"activation.toml", run_head + "[model]\nactivation = \"rellu\"\n"},
      {"dropout.toml", run_head + "[model]\ndropout = 1.5\n"},
      {"task.toml", "task = \"translating\"\n"},
      {"not-toml.toml", "task = = \"translation\"\n"},
      {"missing-data.toml",
       "task = \"translation\"\n[data]\ntrain = [\"nowhere.en\", \"nowhere.de\"]\nvalid = [\"a.en\", "
       "\"a.de\"]\n" +
           run_tail},
      {"unequal.toml",
       "task = \"translation\"\n[data]\ntrain = [\"a.en\", \"short.de\"]\nvalid = [\"a.en\", \"a.de\"]\n" +
           run_tail},
      {"bad-utf8.toml",
       "task = \"translation\"\n[data]\ntrain = [\"a.en\", \"bad.de\"]\nvalid = [\"a.en\", \"a.de\"]\n" +
           run_tail},
      {"empty.toml",
       "task = \"translation\"\n[data]\ntrain = [\"empty.en\", \"empty.de\"]\nvalid = [\"a.en\", "
       "\"a.de\"]\n" +
           run_tail},
      {"tsv.toml",
       "task = \"translation\"\n[data]\ntrain = [\"hole.tsv\"]\ncolumns = [\"1\", \"2\"]\nvalid = "
       "[\"hole.tsv\"]\n" +
           run_tail},
      {"diverge.toml", run_head + run_tail},
  };
}

// Return the names and contents of the tokenizers, vectors and models that every case has in its folder.
std::map<std::string, std::string> other_files() {
  return {
      {"tokenizer-broken.json",
       "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}"},
      {"tokenizer-unknown.json", "{\"version\": \"1.0\", \"model\": {\"type\": \"Mystery\", \"vocab\": {}}}"},
      {"tokenizer-cut.json", "{\"version\": \"1.0\", \"model\": {"},
      {"tokenizer-depth.json", std::string(100000, '[')},
      {"vectors.txt", "2 2\nmoney 1 0\nbank 0 1\n"},
      {"cut-vectors.txt", "2 2\nmoney 1 0\nbank 0\n"},
      {"no-pairs.txt", "money bank\n"},
      {"other-pairs.txt", "river shore 5\n"},
      {"other-analogies.txt", ": capitals\nParis France Rome Italy\n"},
      {"vectors.txt.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x33", 11)},
      {"picture", std::string("\x89PNG\r\x1a\0\0\0\rIHDR\n", 16)},
      {"cut.safetensors", std::string("\x10\0\0\0\0\0\0\0{\"a\"", 12)},
      {"huge-header.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)},
      {"text.safetensors", "this is not a tensor file"},
      {"folder/config.json", "{\"model_type\": \"unheard-of\"}"},
      {"folder/tokenizer.json", kTokenizer},
      {"bad-config/tokenizer.json", kTokenizer},
      {"no-config/model.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10)},
      {"bad-config/config.json", "{\"model_type\": \"regard-transformer\", \"hidden_size\": \"wide\"}"},
      {"existing.txt", "kept"},
  };
}

void write_fixtures(const fs::path& folder) {
  for (const auto& files : {texts_and_runs(), other_files()})
    for (const auto& [name, content] : files) write_file(folder, name, content);
  fs::create_symlink("nowhere/vectors", folder / "dangling");
}

const std::vector<Case> kCases = {
    {"NoCommand", {}, 2, {"command"}},
    {"UnknownCommand", {"trian"}, 2, {"trian", "train"}},
    {"UnknownFlag", {"train", "good.toml", "--fast"}, 2, {"--fast", "regard help train"}},
    {"ServeJson", {"serve", "folder", "--json"}, 2, {"not expected: --json", "regard help serve"}},
    {"RunJson", {"run", "folder", "-i", "in", "--json"}, 2, {"not expected: --json"}},
    {"EmbedSeed", {"embed", "folder", "--seed", "2"}, 2, {"not expected: --seed"}},
    {"ConvertThreads", {"convert", "folder", "out", "--threads", "2"}, 2, {"not expected: --threads 2"}},
    {"ExplainModelSeed", {"explain", "Bank", "--model", "folder", "--seed", "2"}, 2, {"--seed", "--model"}},
    {"ReportJsonToFile", {"report", "folder", "--json", "-o", "page.html"}, 2, {"--json", "--output"}},
    {"TrainDryRunJson", {"train", "good.toml", "--dry-run", "--json"}, 2, {"--dry-run", "--json"}},
    {"ContextVectors", {"context", "folder", "bank", "a bank", "--vectors"}, 2, {"--vectors", "--json"}},
    {"TranscribeTwoFormats", {"transcribe", "folder", "a.wav", "--format", "srt", "--json"}, 2, {"--json"}},
    {"DemoExportSeed", {"demo", "--export", "other", "--seed", "2"}, 2, {"--export", "--seed"}},
    {"HelpForNothing", {"help", "nothing"}, 2, {"nothing"}},
    {"ThreadsZero", {"train", "good.toml", "--threads", "0"}, 2, {"--threads", "1"}},
    {"ThreadsWord", {"train", "good.toml", "--threads", "many"}, 2, {"--threads"}},
    {"ClassifyThreshold", {"classify", "folder", "--threshold", "nan"}, 2, {"--threshold", "finite"}},
    {"AnswerThreshold", {"answer", "folder", "--threshold", "nan"}, 2, {"--threshold", "finite"}},
    {"EmbedTop", {"embed", "folder", "--top", "3"}, 2, {"--top", "--query"}},
    {"EvaluateThreshold", {"evaluate", "folder", "a.en", "--threshold", "nan"}, 2, {"--threshold", "finite"}},
    {"SeedNegative", {"train", "good.toml", "--seed", "-1"}, 2, {"--seed"}},

    {"TrainNoFile", {"train"}, 2, {"run file"}},
    {"TrainMissingFile", {"train", "nowhere.toml"}, 4, {"nowhere.toml", "No such file"}},
    {"TrainFolder", {"train", "folder"}, 4, {"folder"}},
    {"TrainNotToml", {"train", "not-toml.toml"}, 3, {"not-toml.toml:1"}},
    {"TrainUnknownKey",
     {"train", "unknown-key.toml"},
     3,
     {"unknown-key.toml:6", "lerning_rate", "learning_rate"}},
    {"TrainUnknownSection",
     {"train", "unknown-section.toml"},
     3,
     {"unknown-section.toml:5", "trainng", "training"}},
    {"TrainWrongType", {"train", "wrong-type.toml"}, 3, {"wrong-type.toml:6", "max_steps", "many"}},
    {"TrainNegative", {"train", "negative.toml"}, 3, {"max_steps", "-3"}},
    {"TrainHeads", {"train", "heads.toml"}, 2, {"heads", "hidden_size"}},
    {"TrainActivation", {"train", "activation.toml"}, 3, {"rellu", "relu"}},
    {"TrainDropout", {"train", "dropout.toml"}, 3, {"dropout", "1.5"}},
    {"TrainTask", {"train", "task.toml"}, 3, {"translating", "translation"}},
    {"TrainMissingData", {"train", "missing-data.toml"}, 4, {"nowhere.en"}},
    {"TrainUnequal", {"train", "unequal.toml"}, 3, {"short.de", "3"}},
    {"TrainBadUtf8", {"train", "bad-utf8.toml"}, 3, {"bad.de:2", "UTF-8"}},
    {"TrainEmpty", {"train", "empty.toml"}, 3, {"empty"}},
    {"TrainTsvHole", {"train", "tsv.toml"}, 3, {"hole.tsv:2"}},
    {"TrainSetUnknown", {"train", "good.toml", "--set", "training.max_step=3"}, 2, {"max_step", "max_steps"}},
    {"TrainSetNoValue", {"train", "good.toml", "--set", "training.max_steps"}, 2, {"="}},
    {"TrainSetType", {"train", "good.toml", "--set", "training.max_steps=soon"}, 2, {"soon"}},
    {"TrainOutputTaken", {"train", "good.toml", "--set", "output.folder=folder"}, 2, {"folder"}},
    {"TrainDiverges",
     {"train", "diverge.toml", "--set", "training.learning_rate=1e5", "--set", "training.max_steps=50",
      "--set", "training.warmup_steps=0", "--set", "training.schedule=constant"},
     5,
     {"step"}},

    {"TokenizerNoCommand", {"tokenizer"}, 2, {"subcommand"}},
    {"TokenizerMissing",
     {"tokenizer", "encode", "--tokenizer", "nowhere.json", "-"},
     4,
     {"nowhere.json"},
     "text\n"},
    {"TokenizerBrokenMerge",
     {"tokenizer", "info", "tokenizer-broken.json"},
     3,
     {"tokenizer-broken.json", "merge"}},
    {"TokenizerUnknownModel", {"tokenizer", "info", "tokenizer-unknown.json"}, 3, {"Mystery"}},
    {"TokenizerCut", {"tokenizer", "info", "tokenizer-cut.json"}, 3, {"tokenizer-cut.json", "byte"}},
    {"TokenizerDeep", {"tokenizer", "info", "tokenizer-depth.json"}, 3, {"tokenizer-depth.json"}},

    {"InfoMissing", {"info", "nowhere"}, 4, {"nowhere"}},
    {"InfoCut", {"info", "cut.safetensors"}, 3, {"cut.safetensors"}},
    {"InfoHugeHeader", {"info", "huge-header.safetensors"}, 3, {"huge-header.safetensors", "header"}},
    {"InfoText", {"info", "text.safetensors"}, 3, {"text.safetensors"}},

    {"AttendNoModel", {"attend"}, 2, {"MODEL"}},
    {"AttendMissing", {"attend", "nowhere", "text"}, 4, {"nowhere"}},
    {"AttendParametersWithoutValues",
     {"attend", "nowhere", "text", "--json", "--parameters"},
     2,
     {"--parameters", "--values"}},
    {"AttendUnknownFamily", {"attend", "folder", "text"}, 3, {"unheard-of"}},
    {"AttendNoConfig", {"attend", "no-config", "text"}, 3, {"config.json"}},
    {"AttendBadConfig", {"attend", "bad-config", "text"}, 3, {"hidden_size"}},

    {"VectorsNoCommand", {"vectors"}, 2, {"subcommand"}},
    {"VectorsMissing", {"vectors", "info", "nowhere.txt"}, 4, {"nowhere.txt"}},
    {"VectorsCut", {"vectors", "info", "cut-vectors.txt"}, 3, {"cut-vectors.txt:3", "2 numbers"}},
    {"VectorsUnknownWord", {"vectors", "similar", "vectors.txt", "river"}, 2, {"'river'", "vectors.txt"}},
    {"VectorsFormat", {"vectors", "info", "vectors.txt", "--format", "tar"}, 2, {"--format"}},
    {"VectorsAnalogyWords", {"vectors", "analogy", "vectors.txt", "money", "bank"}, 2, {"WORDS"}},
    {"VectorsUpperCase", {"vectors", "similar", "vectors.txt", "Money"}, 2, {"'Money'", "Use 'money'"}},
    {"VectorsGzip", {"vectors", "info", "vectors.txt.gz"}, 3, {"vectors.txt.gz", "gzip", "gunzip"}},
    {"VectorsPicture", {"vectors", "info", "picture"}, 3, {"picture", "byte 0", "COUNT SIZE"}},
    {"VectorsPairs", {"vectors", "evaluate", "vectors.txt", "no-pairs.txt"}, 3, {"no-pairs.txt:1"}},
    {"VectorsNoPairs", {"vectors", "evaluate", "vectors.txt", "empty.en"}, 3, {"empty.en", "WORD WORD"}},
    {"VectorsUnknownPairs",
     {"vectors", "evaluate", "vectors.txt", "other-pairs.txt"},
     2,
     {"found 1 with such a word"}},
    {"VectorsUnknownAnalogies",
     {"vectors", "evaluate", "vectors.txt", "other-analogies.txt"},
     2,
     {"analogy"}},
    {"VectorsAttendWord",
     {"vectors", "attend", "vectors.txt", "money bank", "--word", "loan"},
     2,
     {"'loan'", "money, bank"}},
    {"VectorsAttendNothing", {"vectors", "attend", "vectors.txt", " "}, 3, {"no words"}},
    {"VectorsRestrict",
     {"vectors", "similar", "vectors.txt", "bank", "--restrict", "-3"},
     2,
     {"--restrict", "'-3'", "a number of at least zero"}},
    {"VectorsScale",
     {"vectors", "attend", "vectors.txt", "bank", "--scale", "0"},
     2,
     {"--scale", "'0'", "above zero"}},
    {"VectorsTrainNothing", {"vectors", "train", "empty.en", "-o", "v"}, 2, {"frequent enough"}},
    {"VectorsTrainGlove",
     {"vectors", "train", "a.en", "-o", "v", "--model", "glove", "--subwords"},
     2,
     {"--subwords", "skip-gram"}},
    {"VectorsTrainIgnored",
     {"vectors", "train", "a.en", "-o", "v", "--model", "glove", "--negative", "9"},
     2,
     {"--negative has no effect", "skip-gram"}},
    {"VectorsTrainNan",
     {"vectors", "train", "a.en", "-o", "v", "--rate", "nan"},
     2,
     {"--rate", "'nan'", "from 0 to 10"}},
    {"VectorsTrainFolder", {"vectors", "train", "a.en", "-o", "folder"}, 4, {"folder", "name of a file"}},

    {"ExplainNothing", {"explain"}, 2, {"TEXT"}},
    {"ExplainEmpty", {"explain", "  "}, 3, {"no words"}},
    {"ArgumentsInTheirOrder", {"explain", "Bank", "--layers", "3"}, 2, {"not expected: --layers 3"}},
    {"MistypedHelp", {"translate", "--hlep"}, 2, {"not expected: --hlep. Did you mean --help?"}},
    {"MistypedOption",
     {"translate", "folder", "--baem", "4"},
     2,
     {"not expected: --baem. Did you mean --beam?", "regard help translate"}},
    {"UnknownOption", {"translate", "folder", "--zzzzzz"}, 2, {"not expected: --zzzzzz\n"}},
    {"MistypedOptionBeforeAPath",
     {"bench", "decode", "--promt", "3"},
     2,
     {"not expected: --promt. Did you mean --prompt?", "regard bench decode --help"}},
    {"TwoArgumentsMissing", {"convert", "folder"}, 2, {"is required"}},
    {"NestedCommand",
     {"bench", "decode"},
     2,
     {"regard bench decode: MODEL", "See 'regard bench decode --help'"}},
    {"ExplainQuery", {"explain", "Money Bank", "--query", "River"}, 2, {"River", "Bank"}},
    {"ExplainBadUtf8", {"explain", "Ba\xffnk"}, 3, {"UTF-8", "byte 2"}},
    {"EmptyModel", {"embed", ""}, 2, {"MODEL", "empty"}},
    {"EmptyReport", {"report", ""}, 2, {"RUN", "empty"}},
    {"EmptyOutput", {"tokenizer", "train", "vectors.txt", "-o", ""}, 2, {"--output", "empty"}},
    {"EmptyPath", {"info", ""}, 2, {"PATH", "empty"}},
    {"EmptyTokenizer", {"explain", "Bank", "--tokenizer", ""}, 2, {"--tokenizer", "empty"}},
    {"EmptyVectors", {"explain", "Bank", "--vectors", ""}, 2, {"--vectors", "empty"}},
    {"EmptyQuery", {"explain", "Bank", "--query", ""}, 2, {"--query", "empty"}},
    {"EmptySvg", {"explain", "Bank", "--svg", ""}, 2, {"--svg", "empty"}},
    {"EmptyRun", {"train", ""}, 2, {"RUN", "empty"}},
    {"EmptyServer", {"generate", "gpt", "--server", ""}, 2, {"--server", "empty"}},
    {"EmptyWord", {"vectors", "attend", "vectors.txt", "bank", "--word", ""}, 2, {"--word", "empty"}},
    {"EmptyInput", {"tokenizer", "encode", "-T", "vectors.txt", ""}, 2, {"FILE", "empty"}},
    {"EmptyTopic", {"help", ""}, 2, {"COMMAND", "empty"}},
    {"TokenizerTrainFolder", {"tokenizer", "train", "missing.txt", "-o", "nowhere/t.json"}, 4, {"nowhere"}},
    {"VectorsTrainLink", {"vectors", "train", "missing.txt", "-o", "dangling"}, 4, {"nowhere"}},
    {"OctalNumber", {"bench", "gemm", "--m", "010"}, 2, {"--m", "'010' is not a decimal number"}},
    {"HexadecimalNumber", {"explain", "Bank", "--head-dim", "0x4"}, 2, {"--head-dim", "'0x4' is not"}},
    {"HexadecimalRate",
     {"vectors", "train", "a.en", "-o", "v", "--rate", "0x1p-3"},
     2,
     {"--rate", "'0x1p-3' is not a decimal number"}},
    {"OctalThreads", {"info", "gpt", "-t", "02"}, 2, {"'02' is not a decimal number"}},
    {"ExplainHeadDim", {"explain", "Bank", "--head-dim", "0"}, 2, {"--head-dim"}},
};

std::map<std::string, std::string> everything_in(const fs::path& folder) {
  std::map<std::string, std::string> content;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      content[fs::relative(entry.path(), folder).string()] = file_content(entry.path());
  return content;
}

class BadInput : public ::testing::TestWithParam<Case> {};

TEST_P(BadInput, EndsWithItsCodeAndAMessageThatHelps) {
  const Case& c = GetParam();
  const TemporaryFolder folder;
  write_fixtures(folder.path());
  const auto before = everything_in(folder.path());
  const ProgramResult result = run_program(c.arguments, folder.path(), c.input);
  expect_ending(c, result);
  EXPECT_NE(("\n" + result.err).find("\nregard"), std::string::npos)
      << "a message begins with the program's name: " << result.err;
  const auto after = everything_in(folder.path());
  for (const auto& [name, content] : before) {
    ASSERT_TRUE(after.contains(name)) << name << " is gone";
    EXPECT_EQ(after.at(name), content) << name << " was changed";
  }
}

INSTANTIATE_TEST_SUITE_P(Table, BadInput, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

TEST(BadInputTable, HasAtLeastFortyCases) {
  EXPECT_GE(kCases.size(), 40u);
}

}  // namespace
}  // namespace regard::testing

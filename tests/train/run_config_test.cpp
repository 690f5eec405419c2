// Run files: values that are read, values that are rejected, and the error messages.
#include "train/run_config.h"
#include "train/unused_keys.h"

#include "train/corpora.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::train {
namespace {

constexpr const char* kMinimal = R"(
task = "translation"
[data]
train = ["a.en", "a.de"]
valid = ["b.en", "b.de"]
[training]
max_steps = 10
[output]
folder = "runs/x"
)";

TEST(RunConfig, ReadsValuesAndKeepsDefaults) {
  const RunConfig config = parse_run(std::string(kMinimal) + "keep = 7\n", "/some/where/run.toml");
  EXPECT_EQ(config.training.max_steps, 10);
  EXPECT_EQ(config.output.keep, 7);
  EXPECT_EQ(config.data.train[0], "/some/where/a.en");
  EXPECT_EQ(config.training.batch_tokens, TrainingConfig().batch_tokens);
}

// A saved run file is read back as the same run.
TEST(RunConfig, SavedRunReadsBackEqual) {
  RunConfig config = parse_run(kMinimal, "/some/where/run.toml",
                               {"training.learning_rate=3e-3", "training.betas=[0.5, 0.25]",
                                "validation.metrics=[\"loss\", \"bleu\"]"});
  config.data.train[0] = "/odd \"name\"\\with\ttab";
  const std::string saved = run_as_toml(config);
  const RunConfig again = parse_run(saved, "/else/where/run.toml");
  EXPECT_EQ(run_as_toml(again), saved);
  EXPECT_TRUE(changes_between(config, again).empty());
  EXPECT_EQ(again.training.learning_rate, 3e-3);
}

TEST(RunConfig, EveryFieldHasMeaningAndOneName) {
  RunConfig config;
  const std::string help = help_config();
  std::set<std::string> names;
  for (const Field& field : run_fields(config)) {
    EXPECT_FALSE(field.meaning.empty()) << field.name();
    EXPECT_TRUE(names.insert(field.name()).second) << field.name();
    EXPECT_NE(help.find(field.key + " = "), std::string::npos);
  }
}

// The output of --help-config is a run file with every key at its default.
TEST(RunConfig, HelpIsARunFile) {
  const std::string help = help_config();
  RunConfig defaults;
  const toml::table table = parse_toml(help, "help.toml");
  std::size_t used = 0;
  for (const Field& field : run_fields(defaults)) {
    const bool unused = !why_unused(defaults, field).empty();
    EXPECT_EQ(static_cast<bool>(table.at_path(field.name())), !unused) << field.name();
    EXPECT_NE(help.find((unused ? "\n# " : "\n") + field.key + " = "), std::string::npos) << field.name();
    used += unused ? 0 : 1;
  }
  std::size_t keys = 0;
  for (const auto& [name, value] : table) keys += value.is_table() ? value.as_table()->size() : 1;
  EXPECT_EQ(keys, used);
  EXPECT_EQ(run_as_toml(parse_run(help, "/help.toml")), run_as_toml(parse_run("", "/help.toml")));
}

TEST(RunConfig, HelpOfOneKeyOrSection) {
  const std::string one = help_config("masking.share");
  EXPECT_NE(one.find("share = 0.15"), std::string::npos) << one;
  EXPECT_EQ(one.find("unit = "), std::string::npos) << one;
  const std::string section = help_config("masking");
  EXPECT_NE(section.find("share = 0.15"), std::string::npos) << section;
  EXPECT_NE(section.find("unit = "), std::string::npos) << section;
  EXPECT_EQ(section.find("seed = "), std::string::npos) << section;
  EXPECT_EQ(help_config("share"), one);  // the section may be omitted
  EXPECT_NE(help_config("folder").find("[output]"), std::string::npos);
  EXPECT_REGARD_ERROR(help_config("maskin.share"), ErrorKind::usage, "masking.share");
  EXPECT_REGARD_ERROR(help_config("nothing.like.it"), ErrorKind::usage, "lists every key");
}

TEST(RunConfig, EnvironmentVariablesInPaths) {
  ::setenv("REGARD_TEST_FOLDER", "/corpora", 1);
  ::unsetenv("REGARD_TEST_UNSET");
  const auto train = [](const std::string& path) {
    return parse_run("[data]\ntrain = [\"" + path + "\"]\n", "/r/run.toml").data.train[0];
  };
  EXPECT_EQ(train("${REGARD_TEST_FOLDER}/a"), "/corpora/a");
  EXPECT_EQ(train("${REGARD_TEST_UNSET:-../shared}/a"), "/shared/a");
  EXPECT_REGARD_ERROR(train("${REGARD_TEST_UNSET}/a"), ErrorKind::bad_file, "REGARD_TEST_UNSET");
}

// The shipped recipes are valid run files (their corpora need not exist).
TEST(RunConfig, RecipesAreWellFormed) {
  int recipes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::golden("../../recipes"))) {
    if (entry.path().extension() != ".toml") continue;
    RunConfig config = read_run(entry.path().string());
    for (std::string& file : config.data.train)
      file = entry.path().string() + std::filesystem::path(file).extension().string();
    try {
      check_run(config);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io) << entry.path() << error.what();
    }
    ++recipes;
  }
  EXPECT_GE(recipes, 3);
}

struct Wrong {
  const char* text;
  const char* message;  // part of the expected message
};

class WrongRunFile : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongRunFile, IsRefusedWithPlaceAndRemedy) {
  EXPECT_REGARD_ERROR(parse_run(GetParam().text, "/r/run.toml"), ErrorKind::bad_file, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongRunFile,
    ::testing::Values(Wrong{"task = \"translation\"\n[training]\nlearning_rat = 1\n",
                            "run.toml:3: unknown key 'training.learning_rat'"},
                      Wrong{"[training]\nlearning_rat = 1\n", "Did you mean 'learning_rate'?"},
                      Wrong{"[model]\nbatch_tokens = 1\n", "Did you mean 'training.batch_tokens'?"},
                      Wrong{"[trainig]\nx = 1\n", "Did you mean [training]?"},
                      Wrong{"tsk = \"translation\"\n", "Did you mean 'task'?"},
                      Wrong{"[training]\nmax_steps = \"many\"\n", "expected an integer"},
                      Wrong{"[training]\nmax_steps = 1.5\n", "found the number 1.5"},
                      Wrong{"[training]\nmax_steps = -1\n", "out of range"},
                      Wrong{"[training]\nlearning_rate = nan\n", "wrong type"},
                      Wrong{"[training]\nschedule = \"cosin\"\n", "Did you mean 'cosine'?"},
                      Wrong{"[training]\nbetas = [0.9, 1.5]\n", "out of range"},
                      Wrong{"[data]\ntrain = [1.5]\n", "expected an array of strings"},
                      Wrong{"training = 3\n", "a section [training]"},
                      Wrong{"seed = 1\nseed = 2\n", "run.toml:2"},
                      Wrong{"[validation]\nmetrics = [\"loss\", \"blue\"]\n", "Did you mean 'bleu'?"}));

struct Misfit {
  const char* override_text;
  const char* message;
};

class MisfitRun : public ::testing::TestWithParam<Misfit> {};

TEST_P(MisfitRun, IsRefusedNamingTheKey) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"a.en", "a.de", "b.en", "b.de"}) testing::write_file(folder.path(), name, "x\n");
  const auto checked = [&](const std::vector<std::string>& overrides) {
    check_run(parse_run(kMinimal, (folder / "run.toml").string(), overrides));
  };
  checked({});
  EXPECT_REGARD_ERROR(checked({GetParam().override_text}), ErrorKind::usage, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MisfitRun,
    ::testing::Values(
        Misfit{"model.heads=7", "model.heads"}, Misfit{"model.kv_heads=3", "model.kv_heads"},
        Misfit{"training.max_steps=0", "the length of the run has no limit"},
        Misfit{"data.train=[\"a.en\"]", "data.train"}, Misfit{"data.valid=[]", "valid_fraction"},
        Misfit{"data.format=tsv", "data.columns"}, Misfit{"training.betas=[0.9]", "training.betas"},
        Misfit{"training.min_learning_rate=1", "training.min_learning_rate"},
        Misfit{"validation.best=bleu", "validation.best"},
        Misfit{"validation.metrics=[]", "validation.metrics"}, Misfit{"output.folder=\"\"", "output.folder"},
        Misfit{"tokenizer.joint=false", "tie_embeddings"},
        Misfit{"model.max_positions=100", "'data.max_length' exceeds"},
        Misfit{"data.valid=[\"b.tsv\", \"b.de\"]", "have different formats"},
        Misfit{"data.train=[\"a.en\", \"a.jsonl\"]", "the files of 'data.train' have different formats"},
        Misfit{"validation.beam=5000", "'validation.beam' is out of range"},
        Misfit{"validation.samples=100000000", "'validation.samples' is out of range"},
        Misfit{"training.epsilon=0", "'training.epsilon' is out of range"},
        Misfit{"training.accumulate=1000000000", "'training.accumulate' is out of range"},
        Misfit{"training.max_step=3", "Did you mean 'max_steps'"},
        Misfit{"training.max_steps", "has no value"},
        Misfit{"training.max_steps=many", "expected an integer"}));

TEST(RunConfig, CosineNeedsAnEnd) {
  EXPECT_REGARD_ERROR(
      check_run(parse_run(kMinimal, "/r/run.toml", {"training.schedule=cosine", "training.warmup_steps=10"})),
      ErrorKind::usage, "training.warmup_steps");
}

TEST(RunConfig, AWindowBatchBeyond32BitsIsRefused) {
  const testing::TemporaryFolder folder;
  const auto check = [&](const std::string& more) {
    check_run(
        parse_run("task = \"language-model\"\n[data]\ntrain = [\"t\"]\nvalid_fraction = 0.1\n"
                  "[output]\nfolder = \"o\"\n[training]\nmax_steps = 1\n" +
                      more,
                  (folder / "run.toml").string()));
  };
  testing::write_file(folder.path(), "t", "text\n");
  check("batch_size = 4\ncontext = 64\n");
  EXPECT_REGARD_ERROR(check("batch_size = 1000000\ncontext = 4096\n"), ErrorKind::usage,
                      "'training.batch_size' × 'training.context'");
  EXPECT_REGARD_ERROR(check("context = 64\n[model]\nmax_positions = 32\n"), ErrorKind::usage,
                      "'training.context' exceeds");
}

TEST(RunConfig, TextAndRecordsCanBeCombinedAsTheMessageSays) {
  const testing::TemporaryFolder folder;
  const auto check = [&](const std::string& data) {
    check_run(parse_run(
        "task = \"language-model\"\n[output]\nfolder = \"o\"\n[training]\nmax_steps = 1\n[data]\n" + data,
        (folder / "run.toml").string()));
  };
  testing::write_file(folder.path(), "a.txt", "text\n");
  testing::write_file(folder.path(), "a.jsonl", "{\"text\": \"text\"}\n");
  const std::string text = "train = [\"a.txt\"]\nvalid = [\"a.jsonl\"]\nvalid_columns = [\"text\"]\n";
  EXPECT_REGARD_ERROR(check(text), ErrorKind::usage,
                      "set 'data.format' to \"lines\" and 'data.valid_format' to \"auto\"");
  check(text + "format = \"lines\"\nvalid_format = \"auto\"\n");
  const std::string records = "train = [\"a.jsonl\"]\nvalid = [\"a.txt\"]\ncolumns = [\"text\"]\n";
  EXPECT_REGARD_ERROR(check(records), ErrorKind::usage, "set 'data.valid_format' to \"lines\"");
  check(records + "valid_format = \"lines\"\n");
}

// For a language model, line files are read one after another, like text files.
TEST(RunConfig, ALanguageModelReadsFilesOfLinesInTurn) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.path(), "a.txt", "one\n\ntwo\n");
  testing::write_file(folder.path(), "b.txt", "three\n\n");
  const RunConfig config =
      parse_run("task = \"language-model\"\n[data]\ntrain = [\"a.txt\", \"b.txt\"]\nformat = \"lines\"\n",
                (folder / "run.toml").string());
  RecordReader reader(config, config.data.train);
  std::string read;
  while (reader.next()) read += reader.texts().at(0) + ",";
  EXPECT_EQ(read, "one,two,three,");
  EXPECT_EQ(reader.report().records, 3);
  EXPECT_EQ(reader.report().count(data::SkipReason::empty), 2);
  EXPECT_EQ(reader.report().skipped()[0].place.line, 2);
}

TEST(RunConfig, AFolderIsNotACorpus) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"a.en", "b.en", "b.de"}) testing::write_file(folder.path(), name, "x\n");
  std::filesystem::create_directory(folder / "a.de");
  EXPECT_REGARD_ERROR(check_run(parse_run(kMinimal, (folder / "run.toml").string())), ErrorKind::io,
                      "is not a regular file");
}

TEST(RunConfig, MissingFileIsNamed) {
  EXPECT_REGARD_ERROR(check_run(parse_run(kMinimal, "/nowhere/run.toml")), ErrorKind::io, "/nowhere/a.en");
}

// A resumed run may be longer, but the model may not change.
TEST(RunConfig, ChangesAreFound) {
  const RunConfig before = parse_run(kMinimal, "/r/run.toml");
  const auto changes = [&before](const std::string& override_text) {
    return changes_between(before, parse_run(kMinimal, "/r/run.toml", {override_text}));
  };
  ASSERT_EQ(changes("training.max_steps=20").size(), 1u);
  EXPECT_TRUE(changes("training.max_steps=20")[0].allowed);
  ASSERT_EQ(changes("model.hidden_size=64").size(), 1u);
  EXPECT_FALSE(changes("model.hidden_size=64")[0].allowed);
  EXPECT_EQ(changes("model.hidden_size=64")[0].text(), "model.hidden_size 512 → 64");
}

// Every key of a Transformer's configuration is a key of run files, except those derived from the task and
// the tokenizer.
TEST(RunConfig, NoKeyOfTheModelIsLost) {
  const std::set<std::string> derived{
      "model_type",   "kind",         "vocabulary",   "source_vocabulary",
      "pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"};
  RunConfig config;
  std::set<std::string> keys;
  for (const Field& field : run_fields(config))
    if (field.section == "model") keys.insert(field.key);
  for (const char* kind : {"encoder-decoder", "decoder"}) {
    TransformerConfig model;
    model.kind = kind;
    const Json json = model.to_json();
    for (const auto& [key, value] : json.items())
      EXPECT_TRUE(derived.contains(key) || keys.contains(key)) << key;
  }
}

struct Unused {
  const char* text;
  const char* message;
};

class UnusedKey : public ::testing::TestWithParam<Unused> {};

TEST_P(UnusedKey, IsRefusedByNameAndLine) {
  EXPECT_REGARD_ERROR(parse_run(GetParam().text, "/r/run.toml"), ErrorKind::bad_file, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, UnusedKey,
    ::testing::Values(
        Unused{"[training]\nbatch_size = 4\n", "run.toml:2: 'training.batch_size' has no effect"},
        Unused{"task = \"language-model\"\n[training]\nbatch_tokens = 4\n",
               "run.toml:3: 'training.batch_tokens'"},
        Unused{"[model]\nlayers = 4\n", "language-model"},
        Unused{"[model]\nlayers = 4\n", "Remove it, or set 'task' (default: \"translation\")"},
        Unused{"task = \"translation\"\n[model]\nlayers = 4\n", "read it. Remove it"},
        Unused{"task = \"language-model\"\n[data]\nmax_length = 4\n", "'data.max_length'"},
        Unused{"[model]\nfrom = \"x\"\nhidden_size = 8\n", "run.toml:3: 'model.hidden_size' has no effect"},
        Unused{"[model]\nfrom = \"x\"\n[tokenizer]\nvocab_size = 80\n", "'tokenizer.vocab_size'"},
        Unused{"[tokenizer]\nfile = \"x\"\ntype = \"bpe\"\n", "'tokenizer.file' is set"},
        Unused{"[tokenizer]\ntype = \"char\"\nvocab_size = 80\n", "'tokenizer.vocab_size'"},
        Unused{"[data]\nvalid = [\"a\", \"b\"]\nvalid_fraction = 0.1\n", "'data.valid_fraction'"},
        Unused{"[model]\nrotary_base = 1e5\n", "'model.rotary_base'"},
        Unused{"[training]\nmin_learning_rate = 1e-5\n", "'training.min_learning_rate'"},
        Unused{"[validation]\nlower_case = true\n", "neither bleu nor chrf"},
        Unused{"task = \"question-answering\"\n[training]\nlabel_smoothing = 0.1\n", "no label smoothing"},
        Unused{"task = \"contrastive\"\n[training]\nlabel_smoothing = 0.1\n", "no label smoothing"},
        Unused{"task = \"speech-recognition\"\n[model]\nfamily = \"wav2vec2\"\n[validation]\nbeam = 2\n",
               "run.toml:5: 'validation.beam' has no effect"},
        Unused{"[validation]\nevery_steps = 0\npatience = 3\n", "'validation.patience'"}));

TEST(UnusedKeys, TheLongestSoundOfAFolderCanBeSet) {
  const RunConfig config = parse_run(
      "task = \"speech-recognition\"\n[model]\nfrom = \"x\"\n[sound]\nseconds = 60\n", "/r/run.toml");
  EXPECT_EQ(config.sound.seconds, 60);
}

TEST(UnusedKeys, TheNumberOfScoredCaptionsCanBeSet) {
  const std::string text =
      "task = \"captioning\"\n[validation]\nmetrics = [\"exact_match\"]\nmax_sentences = 7\n";
  EXPECT_NE(run_as_toml(parse_run(text, "/r/run.toml")).find("max_sentences = 7"), std::string::npos);
}

// A final slash is removed from the run folder, because caches are written next to the folder, not inside it.
TEST(RunPaths, HaveNoLastSlash) {
  EXPECT_EQ(parse_run(kMinimal, "/r/run.toml", {"output.folder=/r/x/"}).output.folder, "/r/x");
}

TEST(UnusedKeys, AnOverrideIsRefusedAndAKeyThatItTakesTheEffectFromWarnedOf) {
  EXPECT_REGARD_ERROR(parse_run(kMinimal, "/r/run.toml", {"training.context=8"}), ErrorKind::usage,
                      "--set training.context=8: 'training.context' has no effect");
  const std::string cosine = "[training]\nschedule = \"cosine\"\nmin_learning_rate = 1e-5\n";
  EXPECT_TRUE(parse_run(cosine, "/r/run.toml").warnings.empty());
  const RunConfig config = parse_run(cosine, "/r/run.toml", {"training.schedule=constant"});
  ASSERT_EQ(config.warnings.size(), 1u);
  EXPECT_EQ(config.warnings[0].find("/r/run.toml:3: 'training.min_learning_rate' has no effect"), 0u);
}

// Only keys that the task reads are suggested.
TEST(UnusedKeys, AreNotSuggested) {
  try {
    parse_run("[training]\nbatch_siz = 4\n[task]\n", "/r/run.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("batch_size"), std::string::npos) << error.what();
  }
  EXPECT_REGARD_ERROR(parse_run("task = \"language-model\"\n[training]\nbatch_siz = 4\n", "/r/run.toml"),
                      ErrorKind::bad_file, "Did you mean 'batch_size'?");
}

}  // namespace
}  // namespace regard::train

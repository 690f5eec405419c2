// Runs that are resumed in another folder, with other settings, after weight averaging, or without the base
// model; and two processes in one folder.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "run_case.h"
#include "train/run_log.h"
#include "train/run_state.h"
#include "train/validator.h"

namespace regard::train {
namespace {

using Arguments = std::vector<std::string>;

class Resume : public RunCase {
 protected:
  ProgramResult program(const Arguments& arguments) { return run_program(arguments, folder.path()); }
  // Return the first validation of a step in the log.
  Json validation(const std::string& run, std::int64_t step) {
    for (const Json& line : log(run))
      if (line.contains("validation") && line["step"] == step) return line["validation"];
    return nullptr;
  }
};

TEST_F(Resume, AMovedFolderGoesOnWhereItLies) {
  ASSERT_EQ(train({"--set", "output.folder=alone", "--set", "training.max_steps=60"}).exit_code, 0);
  for (const char* argument : {"moved", "moved/run.toml"}) {
    ASSERT_EQ(train().exit_code, 0);
    fs::rename(folder / "run", folder / "moved");
    const ProgramResult result = program({"train", "--resume", argument, "--set", "training.max_steps=60"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("resumed at step 40"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "run"));
    EXPECT_EQ(weights("alone", "checkpoints/60"), weights("moved", "checkpoints/60"));
    fs::remove_all(folder / "moved");
  }
}

// Without --resume, a run folder as the argument is rejected; it does not start a run in another folder.
TEST_F(Resume, AFolderWithoutResumeIsRefused) {
  ASSERT_EQ(train({"--set", "training.max_steps=2"}).exit_code, 0);
  fs::rename(folder / "run", folder / "moved");
  const ProgramResult result = program({"train", "moved"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("--resume"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST_F(Resume, AMissingCorpusIsNamedWithItsKey) {
  ASSERT_EQ(train({"--set", "training.max_steps=2"}).exit_code, 0);
  fs::remove(folder / "valid.de");
  const ProgramResult result = program({"train", "--resume", "run"});
  EXPECT_EQ(result.exit_code, 4);
  for (const char* part : {"valid.de", "data.valid", "--set"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST_F(Resume, SettingsThatMayChangeAreSaidLoggedAndKept) {
  ASSERT_EQ(train().exit_code, 0);
  const ProgramResult result =
      train({"--resume", "--set", "training.learning_rate=0.002", "--set", "training.schedule=cosine",
             "--set", "training.max_steps=60", "--set", "validation.patience=7", "--set",
             "validation.every_steps=5", "--set", "validation.metrics=[\"loss\", \"chrf\"]"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("training.learning_rate 0.01 → 0.002"), std::string::npos) << result.err;
  Json changes;
  for (const Json& line : log("run"))
    if (line.contains("changes")) changes = line["changes"];
  EXPECT_EQ(changes["training.learning_rate"], Json({"0.01", "0.002"}));
  EXPECT_EQ(changes["training.max_steps"], Json({"40", "60"}));
  EXPECT_EQ(changes["training.schedule"], Json({"\"inverse-sqrt\"", "\"cosine\""}));
  EXPECT_EQ(changes["validation.every_steps"], Json({"10", "5"}));
  EXPECT_TRUE(validation("run", 45).contains("chrf"));
  // After the resume, chrF selects the best checkpoint. It cannot be compared with the best loss before, so
  // the best checkpoint is one of the later ones.
  EXPECT_GE(state("run", "best")["best"], 0.0);
  EXPECT_GT(linked("run", "best"), 40);
  const ProgramResult again = program({"train", "--resume", "run"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err.find("changed:"), std::string::npos) << again.err;
}

TEST_F(Resume, SettingsThatCannotChangeAreNamedWithBothValues) {
  ASSERT_EQ(train({"--set", "training.max_steps=2"}).exit_code, 0);
  const ProgramResult result =
      train({"--resume", "--set", "model.hidden_size=32", "--set", "training.batch_tokens=99"});
  EXPECT_EQ(result.exit_code, 2);
  for (const char* part : {"model.hidden_size 16 → 32", "training.batch_tokens 120 → 99"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST_F(Resume, DecodingSettingsOfValidationMayChange) {
  ASSERT_EQ(train({"--set", "validation.metrics=[\"bleu\"]", "--set", "validation.beam=1"}).exit_code, 0);
  const ProgramResult result =
      program({"train", "--resume", "run", "--set", "training.max_steps=50", "--set", "validation.beam=2",
               "--set", "validation.length_penalty=0.5", "--set", "validation.max_sentences=2", "--set",
               "training.average_last=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("changed: validation.beam 1 → 2 (the weights are the same"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("the previous best value is discarded"), std::string::npos) << result.err;
  EXPECT_GT(linked("run", "best"), 40) << "BLEU with another beam is not comparable";
  EXPECT_EQ(state("run", "latest")["validated"].size(), 2u);
}

// The first resume runs no step and writes no checkpoint. The second resume therefore reads a checkpoint
// whose best value is a loss.
TEST_F(Resume, AnotherMetricIsNotComparedWithTheOldOneAfterAResumeWithoutSteps) {
  ASSERT_EQ(train({"--set", "training.max_steps=20", "--set", "training.average_last=0", "--set",
                   "validation.metrics=[\"loss\", \"chrf\"]", "--set", "validation.best=loss"})
                .exit_code,
            0);
  ASSERT_EQ(program({"train", "--resume", "run", "--set", "validation.best=chrf"}).exit_code, 0);
  ASSERT_EQ(linked("run", "latest"), 20);
  const ProgramResult result = program({"train", "--resume", "run", "--set", "training.max_steps=40"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("the previous best value is discarded"), std::string::npos) << result.err;
  EXPECT_GT(linked("run", "best"), 20);
  const ProgramResult again = program({"train", "--resume", "run", "--set", "training.max_steps=45"});
  EXPECT_EQ(again.err.find("the previous best value is discarded"), std::string::npos) << again.err;
}

TEST(RunState, KeepsABestValueThatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  RunState state;
  state.judged_by = "pearson";
  for (const std::optional<double> best :
       {std::optional<double>(), {0.5}, {std::nan("")}, {kInfinity}, {-kInfinity}}) {
    state.best = best;
    const RunState read = RunState::from_json(Json::parse(state.to_json().dump()), "state.json");
    ASSERT_EQ(read.best.has_value(), best.has_value());
    if (!best) continue;
    EXPECT_EQ(std::isnan(*read.best), std::isnan(*best));
    if (!std::isnan(*best)) {
      EXPECT_EQ(*read.best, *best);
    }
    EXPECT_EQ(read.judged_by, "pearson");
  }
  Json older = state.to_json();
  older.erase("judged_by");
  EXPECT_EQ(RunState::from_json(older, "state.json").judged_by, "");
}

TEST(Validator, ANumberIsBetterThanNaN) {
  RunConfig config;
  config.task = "classification";
  for (const char* metric : {"loss", "accuracy"}) {
    config.validation.metrics = {metric};
    EXPECT_TRUE(better(config, 0.3, std::nan(""))) << metric;
    EXPECT_FALSE(better(config, std::nan(""), 0.3)) << metric;
    EXPECT_FALSE(better(config, std::nan(""), std::nan(""))) << metric;
  }
}

// The average needs only the checkpoints of the last validations. The other checkpoints are removed.
TEST_F(Resume, OnlyTheCheckpointsOfTheAverageAreKept) {
  ASSERT_EQ(train({"--set", "output.keep=1", "--set", "output.checkpoint_every_steps=1"}).exit_code, 0);
  const std::vector<std::int64_t> validated = state("run")["validated"];
  ASSERT_EQ(validated, (std::vector<std::int64_t>{20, 30, 40}));
  std::vector<std::int64_t> others;
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints"))
    others.push_back(std::stoll(entry.path().filename().string()));
  std::erase_if(others, [&](std::int64_t step) {
    return std::count(validated.begin(), validated.end(), step) > 0 || step == linked("run", "best") ||
           step == linked("run", "latest") || step == state("run")["best_step"];
  });
  EXPECT_EQ(others, std::vector<std::int64_t>()) << "checkpoints that nothing needs";
}

TEST_F(Resume, AnAverageLeavesOutCheckpointsThatNoLongerExist) {
  const ProgramResult complete = train({"--set", "training.average_last=2"});
  ASSERT_EQ(complete.exit_code, 0) << complete.err;
  EXPECT_EQ(complete.err.find("no longer exist"), std::string::npos) << complete.err;
  ASSERT_EQ(state("run")["validated"], (std::vector<std::int64_t>{30, 40}));
  ASSERT_NE(linked("run", "best"), 30);
  fs::remove_all(folder / "run/checkpoints/30");
  const ProgramResult result = program(
      {"train", "--resume", "run", "--set", "training.max_steps=50", "--set", "training.average_last=3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("the average is over 2 checkpoints: the others no longer exist"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(state("run")["average_of"], 50);
}

TEST_F(Resume, FewerStepsThanDoneAreRefused) {
  ASSERT_EQ(train({"--set", "training.max_steps=20"}).exit_code, 0);
  const ProgramResult result = program({"train", "--resume", "run", "--set", "training.max_steps=19"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'training.max_steps' is less than the number of steps that the run has finished "
                            "(expected at least 20 steps, found 19 steps)"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(program({"train", "--resume", "run", "--set", "training.max_steps=20"}).exit_code, 0);
}

// The base model is needed to start a run, not to resume it.
TEST_F(Resume, AFineTunedRunGoesOnWithoutTheModelItBeganWith) {
  ASSERT_EQ(train({"--set", "output.folder=base"}).exit_code, 0);
  const Arguments from{"--set", "model.from=base", "--set", "training.max_steps=20"};
  ASSERT_EQ(train(from).exit_code, 0);
  Arguments longer{"--set", "model.from=base",      "--set", "output.folder=long",
                   "--set", "training.max_steps=30"};
  ASSERT_EQ(train(longer).exit_code, 0);
  fs::remove_all(folder / "base");
  const ProgramResult result = program({"train", "--resume", "run", "--set", "training.max_steps=30"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(weights("long", "checkpoints/30"), weights("run", "checkpoints/30"));
}

// The average (checkpoint 41) is better than every checkpoint of training. A resumed run discards it, and has
// the same best checkpoint as an uninterrupted run.
TEST_F(Resume, AnAverageThatWasBestDoesNotStay) {
  const Arguments rough{"--set", "training.schedule=constant", "--set", "training.learning_rate=0.08",
                        "--set", "validation.every_steps=4",   "--set", "output.checkpoint_every_steps=1",
                        "--set", "training.average_last=6",    "--set", "output.keep=1"};
  const auto with = [&rough](Arguments more) {
    more.insert(more.end(), rough.begin(), rough.end());
    return more;
  };
  ASSERT_EQ(train(with({})).exit_code, 0);
  ASSERT_EQ(linked("run", "best"), 41) << "the average is not the best: the case says nothing";
  ASSERT_EQ(train(with({"--set", "training.max_steps=42", "--set", "output.folder=long"})).exit_code, 0);
  const ProgramResult result = train(with({"--resume", "--set", "training.max_steps=42"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(state("run")["best"], state("long")["best"]);
  EXPECT_EQ(state("run")["best_step"], state("long")["best_step"]);
  EXPECT_EQ(weights("run", "best"), weights("long", "best"));
  EXPECT_EQ(weights("run", "checkpoints/42"), weights("long", "checkpoints/42"));
}

// An average over one checkpoint is not computed, so no checkpoints are kept for it.
TEST_F(Resume, AnAverageOfOneKeepsNoCheckpoints) {
  ASSERT_EQ(train({"--set", "training.average_last=1", "--set", "output.keep=1", "--set",
                   "validation.every_steps=4", "--set", "training.max_steps=20"})
                .exit_code,
            0);
  const auto kept =
      std::distance(fs::directory_iterator(folder / "run/checkpoints"), fs::directory_iterator());
  EXPECT_LE(kept, 2);  // the latest and the best
}

TEST_F(Resume, HangupSavesAsTerminationDoes) {
  const Arguments endless{
      "--set", "training.max_steps=100000000", "--set", "validation.every_steps=0",
      "--set", "training.average_last=0",      "--set", "output.checkpoint_every_steps=0"};
  EXPECT_EQ(train_until(endless, "run/log.jsonl", SIGHUP), 129);
  EXPECT_GT(state("run")["step"], 0);
}

// A signal during the training of the tokenizer ends the program within seconds and leaves no run folder.
TEST_F(Resume, InterruptedWhileTheTokenizerIsTrained) {
  std::string text;
  for (std::int64_t i = 0; i < 400000; ++i) text += "word" + std::to_string(i * 7919 % 1000003) + "\n";
  for (const char* name : {"train.en", "train.de"}) {
    fs::remove(folder / name);
    regard::testing::write_file(folder.path(), name, text);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(train_and_signal({"--set", "tokenizer.type=bpe", "--set", "tokenizer.vocab_size=30000"}, SIGTERM,
                             std::chrono::milliseconds(1000)),
            143);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_FALSE(fs::exists(folder / "run"));
}

// A signal during validation stops it. The resumed run repeats the validation first and ends with the same
// bits.
TEST_F(Resume, InterruptedWithinAValidation) {
  std::string english, german;
  for (int i = 0; i < 1000; ++i) english += "one two three four five six\n", german += "eins zwei drei\n";
  for (const auto& [name, text] : {std::pair{"valid.en", english}, std::pair{"valid.de", german}}) {
    fs::remove(folder / name);
    regard::testing::write_file(folder.path(), name, text);
  }
  const Arguments slow{"--set", "validation.metrics=[\"bleu\"]",
                       "--set", "training.max_steps=2",
                       "--set", "validation.every_steps=1",
                       "--set", "training.average_last=0",
                       "--set", "validation.beam=8"};
  ASSERT_EQ(train_until(slow, "run/log.jsonl", SIGTERM), 143);
  EXPECT_EQ(state("run")["step"], 1);
  ASSERT_TRUE(state("run")["validated"].empty()) << "the validation was over before the signal";
  for (const Json& line : log("run")) EXPECT_FALSE(line.contains("validation"));
  // The whole validations may be shorter than the interrupted one.
  Arguments alone = slow;
  alone.insert(alone.end(), {"--set", "validation.max_sentences=50"});
  Arguments again = alone;
  again.push_back("--resume");
  const ProgramResult result = train(again);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  alone.insert(alone.end(), {"--set", "output.folder=alone"});
  ASSERT_EQ(train(alone).exit_code, 0);
  EXPECT_EQ(weights("alone", "checkpoints/2"), weights("run", "checkpoints/2"));
  EXPECT_EQ(state("alone")["validated"], state("run")["validated"]);
  EXPECT_EQ(state("alone")["best"], state("run")["best"]);
  EXPECT_EQ(validation("alone", 1), validation("run", 1));
}

// The first start was killed after it had written run.toml, but before it wrote the other files.
TEST_F(Resume, ARunWithOnlyRunTomlGetsTheWordsOfTheSources) {
  ASSERT_EQ(train({"--set", "training.max_steps=2"}).exit_code, 0);
  fs::create_directories(folder / "killed/checkpoints");
  fs::copy(folder / "run/run.toml", folder / "killed/run.toml");
  const ProgramResult result = program({"train", "--resume", "killed"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_NE(file_content(folder / "run/source_words.tsv"), "");
  EXPECT_EQ(file_content(folder / "killed/source_words.tsv"), file_content(folder / "run/source_words.tsv"));
}

// run.toml must be UTF-8. A run whose path is not UTF-8 could not be resumed.
TEST_F(Resume, APathThatIsNotUtf8IsRefused) {
  const ProgramResult result = train({"--set", "output.folder=m\xE9t", "--set", "training.max_steps=2"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("a path of the run is not UTF-8"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "m\xE9t"));
}

// Two processes in one folder: the second is rejected and names the process id of the first. After the first
// is killed, the run can be resumed.
TEST_F(Resume, ASecondProcessIsRefusedWithTheFirstOnesId) {
  const pid_t first = fork();
  ASSERT_GE(first, 0);
  if (first == 0) {
    if (chdir(folder.path().c_str()) != 0 || freopen("first.err", "w", stderr) == nullptr) _exit(126);
    execl(regard::testing::program_path(), "regard", "train", "run.toml", "--set",
          "training.max_steps=100000000", "--set", "training.average_last=0", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 500 && !fs::exists(folder / "run/latest"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const bool names_processes = std::ifstream("/proc/locks").good();
  for (const Arguments& arguments : {Arguments{}, Arguments{"--resume"}}) {
    const ProgramResult second = train(arguments);
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_NE(second.err.find("another process is writing"), std::string::npos) << second.err;
    if (names_processes) {
      EXPECT_NE(second.err.find("process " + std::to_string(first)), std::string::npos) << second.err;
    }
  }
  kill(first, SIGKILL);
  ASSERT_EQ(waitpid(first, nullptr, 0), first);
  const ProgramResult third = program({"train", "--resume", "run", "--set", "training.max_minutes=0.0001"});
  EXPECT_EQ(third.exit_code, 0) << third.err;
}

// A run can start in an empty folder, or in a folder without a run after a crash.
TEST_F(Resume, AnEmptyFolderIsAPlaceToBegin) {
  for (const Arguments& arguments : {Arguments{}, Arguments{"--resume"}}) {
    fs::create_directories(folder / "run/checkpoints");
    Arguments more = arguments;
    more.insert(more.end(), {"--set", "training.max_steps=2"});
    const ProgramResult result = train(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    fs::remove_all(folder / "run");
  }
}

// A run may end between the line of a validation and its checkpoint. The resumed run validates again.
TEST(RunLog, DropsTheValidationThatIsRepeated) {
  const regard::testing::TemporaryFolder folder;
  const std::string lines =
      "{\"step\":8,\"loss\":1}\n{\"step\":8,\"validation\":{\"loss\":2}}\n{\"step\":9,\"loss\":3}\n";
  for (const bool validated : {true, false}) {
    regard::testing::write_file(folder.path(), "log.jsonl", lines);
    RunLog log(folder / "log.jsonl", 8, validated);
    const std::string kept = regard::testing::file_content(folder / "log.jsonl");
    EXPECT_NE(kept.find("\"loss\":1"), std::string::npos) << kept;
    EXPECT_EQ(kept.find("validation") != std::string::npos, validated) << kept;
    EXPECT_EQ(kept.find("\"step\":9"), std::string::npos) << kept;
  }
}

}  // namespace
}  // namespace regard::train

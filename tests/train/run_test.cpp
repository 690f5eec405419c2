// Training runs of the program: start, stop, kill, resume and rejection.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "base/peak_memory.h"
#include "formats/safetensors.h"
#include "run_case.h"

namespace regard::train {
namespace {

class Run : public RunCase {};

TEST_F(Run, LeavesWhatItShould) {
  const ProgramResult result = train({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["steps"], 40);
  for (const char* name :
       {"run.toml", "log.jsonl", "tokenizer.json", "latest/model.safetensors", "latest/config.json",
        "latest/state.json", "latest/generation_config.json", "latest/tokenizer.json",
        "best/model.safetensors", "checkpoints/40/optimizer.safetensors"})
    EXPECT_TRUE(fs::exists(folder / "run" / name)) << name;
  double first = 0, last = 0;
  std::int64_t validations = 0, averaged = 0;
  for (const Json& line : log("run")) {
    if (line.contains("validation")) ++validations;
    if (line.contains("averaged")) ++averaged;
    if (!line.contains("loss")) continue;
    if (first == 0) first = line["loss"];
    last = line["loss"];
  }
  EXPECT_EQ(validations, 5);  // four validations (steps 10, 20, 30 and 40) and one of the average
  EXPECT_EQ(averaged, 1);
  EXPECT_LT(last, 0.8 * first);
}

// A model that learns its task reaches a high BLEU score and translates its samples; BLEU selects the best
// checkpoint.
TEST_F(Run, BleuRisesAndPicksTheBest) {
  testing_task::write_corpora(folder.path(), 2000);
  const ProgramResult result = train({"-t",    "1",
                                      "--set", "validation.metrics=[\"loss\", \"bleu\", \"chrf\"]",
                                      "--set", "training.max_steps=300",
                                      "--set", "validation.every_steps=100",
                                      "--set", "training.average_last=0",
                                      "--set", "model.dropout=0.0",
                                      "--set", "training.batch_tokens=800",
                                      "--set", "model.hidden_size=32",
                                      "--set", "tokenizer.type=bpe",
                                      "--set", "tokenizer.vocab_size=300",
                                      "--set", "output.checkpoint_every_steps=0",
                                      "--set", "validation.beam=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<double> bleu;
  std::int64_t best = 0;
  for (const Json& line : log("run")) {
    if (!line.contains("validation")) continue;
    bleu.push_back(line["validation"]["bleu"]);
    if (bleu.back() >= *std::max_element(bleu.begin(), bleu.end()) && line["best"]) best = line["step"];
    EXPECT_NE(line["validation"]["bleu_signature"].get<std::string>().find("tok:13a"), std::string::npos);
    EXPECT_EQ(line["samples"].size(), 3u);
  }
  ASSERT_EQ(bleu.size(), 3u);
  EXPECT_GT(bleu.back(), 60.0) << result.err;
  EXPECT_EQ(fs::read_symlink(folder / "run/best").filename(), std::to_string(best));
}

// The averaged weights are the mean of the weights at the last validations.
TEST_F(Run, AveragesTheLastValidations) {
  ASSERT_EQ(train().exit_code, 0);
  const auto tensors = [this](const char* step) {
    return formats::SafetensorsFile::open(folder / "run" / "checkpoints" / step / "model.safetensors");
  };
  const auto average = tensors("41");
  const std::vector<std::shared_ptr<const formats::SafetensorsFile>> parts{tensors("20"), tensors("30"),
                                                                           tensors("40")};
  for (const formats::TensorEntry& entry : average->entries()) {
    const Tensor value = average->tensor(entry.name);
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      double sum = 0;
      for (const auto& part : parts) sum += double{part->tensor(entry.name).f32()[i]};
      ASSERT_NEAR(value.f32()[i], sum / 3, 1e-6) << entry.name;
    }
  }
}

// A run killed twenty times at random moments and resumed gives the same bits as an uninterrupted one.
TEST_F(Run, KilledTwentyTimesEndsWithTheSameBits) {
  ASSERT_EQ(train({"--set", "output.folder=alone", "--set", "training.max_steps=80"}).exit_code, 0);
  const std::vector<std::string> killed{
      "-t", "1", "--resume", "--set", "output.folder=killed", "--set", "training.max_steps=80"};
  std::mt19937 random(std::random_device{}());
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(train({"--set", "output.folder=timed", "--set", "training.max_steps=80"}).exit_code, 0);
  const auto whole =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
  std::uniform_int_distribution<std::int64_t> moment(0, whole.count() / 4);
  int kills = 0;
  while (kills < 20) {
    const int code = train_and_signal(killed, SIGKILL, std::chrono::microseconds(moment(random)));
    ASSERT_TRUE(code == 0 || code == 128 + SIGKILL) << code;
    if (code == 0) fs::remove_all(folder / "killed");  // the run ended before the signal: start again
    if (code != 0) ++kills;
  }
  const ProgramResult result = train(killed);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(weights("alone"), weights("killed"));
  EXPECT_EQ(weights("alone", "checkpoints/80"), weights("killed", "checkpoints/80"));
  EXPECT_EQ(weights("alone", "best"), weights("killed", "best"));
  EXPECT_EQ(file_content(folder / "alone/checkpoints/80/optimizer.safetensors"),
            file_content(folder / "killed/checkpoints/80/optimizer.safetensors"));
}

TEST_F(Run, ThreadsDoNotChangeABit) {
  ASSERT_EQ(train({"-t", "1", "--set", "output.folder=one"}).exit_code, 0);
  ASSERT_EQ(train({"-t", "3", "--set", "output.folder=three"}).exit_code, 0);
  EXPECT_EQ(weights("one"), weights("three"));
  ASSERT_EQ(train({"-s", "2", "--set", "output.folder=other"}).exit_code, 0);
  EXPECT_NE(weights("one"), weights("other"));
}

TEST_F(Run, SignalLeavesACheckpointAndItsExitCode) {
  const std::vector<std::string> endless{
      "--set", "training.max_steps=100000000", "--set", "validation.every_steps=0",
      "--set", "training.average_last=0",      "--set", "output.checkpoint_every_steps=0"};
  EXPECT_EQ(train_until(endless, "run/log.jsonl", SIGINT), 130);
  const Json first = state("run");
  EXPECT_GT(first["step"], 0);
  std::vector<std::string> again = endless;
  again.push_back("--resume");
  EXPECT_EQ(train_until(again, "run/log.jsonl", SIGTERM), 143);
  EXPECT_GT(state("run")["step"], first["step"]);
}

// A run resumed with more steps equals a run started with that many steps.
TEST_F(Run, ResumedLongerEqualsLong) {
  ASSERT_EQ(train({"--set", "output.folder=long", "--set", "training.max_steps=60"}).exit_code, 0);
  ASSERT_EQ(train().exit_code, 0);
  const ProgramResult longer = train({"--resume", "--set", "training.max_steps=60"});
  ASSERT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_EQ(weights("long", "checkpoints/60"), weights("run", "checkpoints/60"));
  std::int64_t previous = 0;  // steps in the log do not decrease
  for (const Json& line : log("run")) {
    EXPECT_GE(line["step"], previous);
    previous = line["step"];
  }
}

TEST_F(Run, DivergenceIsExitCodeFiveAndKeepsTheGoodCheckpoint) {
  ASSERT_EQ(train({"--set", "training.max_steps=8"}).exit_code, 0);
  fs::remove_all(folder / "run");
  const ProgramResult result =
      train({"--set", "training.learning_rate=1e6", "--set", "training.clip_norm=0", "--set",
             "training.warmup_steps=0", "--set", "training.schedule=constant", "--set",
             "output.checkpoint_every_steps=1"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.err.find("training diverged"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("last checkpoint is step"), std::string::npos) << result.err;
  const auto file = formats::SafetensorsFile::open(folder / "run/latest/model.safetensors");
  for (const formats::TensorEntry& entry : file->entries()) {
    const Tensor value = file->tensor(entry.name);
    for (std::int64_t i = 0; i < value.elements(); ++i)
      ASSERT_TRUE(std::isfinite(value.f32()[i])) << entry.name;
  }
}

// A validation loss that is not finite does not become the best; it ends the run.
TEST_F(Run, ADivergedValidationIsNotTheBest) {
  const ProgramResult result = train(
      {"--set", "training.learning_rate=1e6", "--set", "training.clip_norm=0", "--set",
       "training.warmup_steps=0", "--set", "training.schedule=constant", "--set", "validation.every_steps=1",
       "--set", "validation.samples=0", "--set", "output.checkpoint_every_steps=0"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.err.find("training diverged: the validation loss of step 1"), std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder / "run/best"));
}

// With more samples than sentences to score, the score uses only max_sentences sentences.
TEST_F(Run, SamplesDoNotChangeAScore) {
  std::vector<double> scores;
  for (const char* samples : {"validation.samples=0", "validation.samples=9"}) {
    ASSERT_EQ(train({"--set", samples, "--set", "validation.metrics=[\"chrf\"]", "--set",
                     "validation.max_sentences=2", "--set", "training.max_steps=20"})
                  .exit_code,
              0);
    scores.push_back(state("run", "best")["best"]);
    fs::remove_all(folder / "run");
  }
  EXPECT_EQ(scores[0], scores[1]);
}

TEST_F(Run, DryRunWritesNothing) {
  const ProgramResult result = train({"--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
  for (const char* part :
       {"learning_rate = 0.01", "parameters: ", "memory: ", "batch 0: ", "labels: ", "training: 200 pairs",
        "  embedding: ", "memory at its peak: ", "steps: ", "estimated time: "})
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
}

// The estimate includes the activations of a long source that the timed steps do not contain, and the memory
// of a validation with such a source.
TEST_F(Run, DryRunEstimatesTheMemoryOfLongSources) {
  if (base::peak_memory_bytes() == 0) GTEST_SKIP() << "the system does not report the peak memory";
  std::string source;
  for (int i = 0; i < 200; ++i) source += "one two three ";
  for (const char* name : {"train", "valid"}) {
    const std::string text = file_content(folder / (std::string(name) + ".en"));
    regard::testing::write_file(folder.path(), std::string("long-") + name + ".en",
                                source + text.substr(text.find('\n')));
  }
  const auto peak_mib = [&](const std::string& train_source, const std::string& valid_source) {
    const ProgramResult result = train(
        {"--dry-run", "-t", "1", "--set", "data.train=[\"" + train_source + "\", \"train.de\"]", "--set",
         "data.valid=[\"" + valid_source + "\", \"valid.de\"]", "--set", "data.max_length=4000", "--set",
         "model.hidden_size=64", "--set", "validation.metrics=[\"loss\"]", "--set", "validation.samples=0"});
    const std::string name = "memory at its peak: ";
    const std::size_t at = result.out.find(name);
    return at == std::string::npos ? 0.0 : std::stod(result.out.substr(at + name.size()));
  };
  const double peak = peak_mib("train.en", "valid.en");
  EXPECT_GT(peak, 1.0);
  EXPECT_GT(peak_mib("long-train.en", "valid.en"), peak + 5);
  EXPECT_GT(peak_mib("train.en", "long-valid.en"), peak + 3);
}

TEST_F(Run, RefusesToOverwrite) {
  ASSERT_EQ(train({"--set", "training.max_steps=2"}).exit_code, 0);
  const std::string before = weights("run");
  const ProgramResult again = train({"--set", "training.max_steps=2"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("--resume"), std::string::npos) << again.err;
  EXPECT_EQ(weights("run"), before);
  const ProgramResult other = train({"--resume", "--set", "model.hidden_size=32"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("model.hidden_size"), std::string::npos) << other.err;
}

TEST_F(Run, ResumeRefusesOtherData) {
  ASSERT_EQ(train({"--set", "training.max_steps=10"}).exit_code, 0);
  testing_task::write_corpora(folder.path(), 150);
  const ProgramResult result = train({"--resume"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("the data differs from the data with which the run was started"),
            std::string::npos)
      << result.err;
}

// --resume starts a run if there is none, so that the same command works on preemptible machines. It prints a
// note.
TEST_F(Run, ResumeOfNothingBegins) {
  const ProgramResult result = train({"--resume", "--set", "training.max_steps=2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("has no run to resume"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(folder / "run/latest"));
}

// A resumed run may read its data from another folder if the content is the same.
TEST_F(Run, ResumeTakesTheSameDataFromElsewhere) {
  ASSERT_EQ(train({"--set", "training.max_steps=10"}).exit_code, 0);
  fs::create_directory(folder / "elsewhere");
  for (const char* name : {"train.en", "train.de"}) fs::rename(folder / name, folder / "elsewhere" / name);
  const ProgramResult result =
      train({"--resume", "--set", "data.train=[\"elsewhere/train.en\", \"elsewhere/train.de\"]"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Fine-tuning starts from the other model's weights and tokenizer: with learning rate 0 it has the same loss.
TEST_F(Run, StartsFromAnotherModel) {
  ASSERT_EQ(train({"--set", "training.max_steps=60", "--set", "output.folder=base"}).exit_code, 0);
  const ProgramResult result = train(
      {"--set", "model.from=base", "--set", "training.max_steps=10", "--set", "training.learning_rate=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  double base = 0, tuned = 0;
  for (const Json& line : log("base"))
    if (line.contains("validation") && line["best"]) base = line["validation"]["loss"];
  for (const Json& line : log("run"))
    if (line.contains("validation")) tuned = line["validation"]["loss"];
  EXPECT_EQ(base, tuned);
  EXPECT_EQ(file_content(folder / "base/tokenizer.json"), file_content(folder / "run/tokenizer.json"));
  const ProgramResult wrong = train({"--set", "model.from=nowhere", "--set", "output.folder=other"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_FALSE(fs::exists(folder / "other"));
}

// BART starts its decoder with the end token.
TEST_F(Run, FineTuningStartsTheDecoderAsTheFolderDoes) {
  ASSERT_EQ(train({"-q"}).exit_code, 0);
  fs::copy(folder / "run/latest/", folder / "base", fs::copy_options::recursive);
  for (const char* name : {"base/config.json", "base/generation_config.json"}) {
    Json json = read_json((folder / name).string());
    json["decoder_start_token_id"] = json.at("eos_token_id");
    regard::testing::write_file(folder.path(), name, json.dump());
  }
  const std::vector<std::string> from{"--set", "model.from=base",    "--set", "training.max_steps=4",
                                      "--set", "output.folder=tuned"};
  std::vector<std::string> dry = from, resumed = from;
  dry.push_back("--dry-run");
  const std::string report = train(dry).out;
  EXPECT_NE(report.find("  input:  </s>"), std::string::npos) << report;
  ASSERT_EQ(train(from).exit_code, 0);
  fs::remove_all(folder / "base");
  resumed.insert(resumed.end(), {"--resume", "--set", "training.max_steps=8"});
  const ProgramResult result = train(resumed);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json saved = read_json((folder / "tuned/latest/generation_config.json").string());
  EXPECT_EQ(saved.at("decoder_start_token_id"), saved.at("eos_token_id"));
}

// If the latest checkpoint is damaged, the one before is used and the run ends with the same weights.
TEST_F(Run, DamagedCheckpointFallsBack) {
  ASSERT_EQ(train({"--set", "output.folder=alone", "--set", "training.average_last=0"}).exit_code, 0);
  ASSERT_EQ(train({"--set", "training.max_steps=20", "--set", "training.average_last=0"}).exit_code, 0);
  const fs::path file = folder / "run/checkpoints/20/model.safetensors";
  std::string bytes = file_content(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  fs::remove(file);
  regard::testing::write_file(file.parent_path(), "model.safetensors", bytes);
  const ProgramResult result = train({"--resume", "--set", "training.average_last=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("resumed at step 16"), std::string::npos) << result.err;
  EXPECT_EQ(weights("alone", "checkpoints/40"), weights("run", "checkpoints/40"));
}

TEST_F(Run, PatienceEndsARun) {
  const ProgramResult result =
      train({"--set", "training.learning_rate=0", "--set", "validation.patience=2", "--set",
             "training.average_last=0", "--set", "training.max_steps=1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("ends at step 30: patience"), std::string::npos) << result.err;
}

TEST_F(Run, LanguageModelTrainsAndResumes) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "the quick brown fox jumps over the lazy dog " + std::to_string(i % 10) + "\n";
  regard::testing::write_file(folder.path(), "text.txt", text);
  regard::testing::write_file(folder.path(), "lm.toml", R"(
task = "language-model"
[data]
train = ["text.txt"]
valid_fraction = 0.1
[tokenizer]
type = "bpe"
vocab_size = 330
[model]
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
positions = "learned"
dropout = 0.0
[training]
learning_rate = 1e-2
schedule = "cosine"
batch_size = 4
context = 24
max_steps = 60
[validation]
every_steps = 20
[output]
folder = "lm"
)");
  const auto run = [this](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments{"train", "lm.toml", "--set", "output.folder=" + name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, folder.path());
  };
  for (const char* windows : {"training.windows=random", "training.windows=sequential"}) {
    const ProgramResult whole = run("lm", {"--set", windows});
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    double best = 100;
    for (const Json& line : log("lm"))
      if (line.contains("validation")) best = std::min(best, line["validation"]["loss"].get<double>());
    EXPECT_LT(best, 2.0);
    const fs::path latest = folder / "lm/checkpoints/40";
    fs::remove_all(folder / "lm/checkpoints/60");  // as if the run had stopped at step 40
    fs::remove(folder / "lm/latest");
    fs::create_directory_symlink("checkpoints/40", folder / "lm/latest");
    const ProgramResult resumed = run("lm", {"--set", windows, "--resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    ASSERT_EQ(run("alone", {"--set", windows}).exit_code, 0);
    EXPECT_EQ(weights("lm"), weights("alone")) << windows;
    fs::remove_all(folder / "lm");
    fs::remove_all(folder / "alone");
  }
}

}  // namespace
}  // namespace regard::train

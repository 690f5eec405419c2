// regard attend --checkpoints, called as by a user: train a run and show its checkpoints.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/json_schema.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kSource = "the river";

void train_translator(const fs::path& folder, const std::vector<std::string>& overrides = {}) {
  std::string rows;
  for (int i = 0; i < 8; ++i) rows += "the bank\tdie Bank\nthe river\tder Fluss\nthe money\tdas Geld\n";
  write_file(folder, "train.tsv", rows);
  write_file(folder, "run.toml", R"(task = "translation"
[data]
train = ["train.tsv"]
valid = ["train.tsv"]
columns = [1, 2]
[tokenizer]
type = "word"
vocab_size = 60
[model]
hidden_size = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feed_forward_size = 32
dropout = 0.0
[training]
learning_rate = 0.02
max_steps = 60
batch_tokens = 64
[validation]
every_steps = 60
[output]
folder = "run"
checkpoint_every_steps = 20
keep = 9
)");
  std::vector<std::string> arguments{"train", "run.toml", "-q", "-t", "1"};
  for (const std::string& one : overrides) arguments.insert(arguments.end(), {"--set", one});
  const ProgramResult result = run_program(arguments, folder);
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

json film_capture(const fs::path& folder) {
  const ProgramResult result = run_program(
      {"attend", "run", kSource, "--html", "page.html", "--json", "--full", "--checkpoints", "-q"}, folder);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  const json schema = json::parse(read_file((source_folder() / "docs/capture.schema.json").string()));
  const std::vector<std::string> violations = schema_violations(found, schema);
  EXPECT_TRUE(violations.empty()) << violations.front();
  return found;
}

const json& head_of(const json& capture, const std::string& name) {
  for (const json& head : capture["attention"])
    if (head["kind"].get<std::string>() + "." + head["layer"].dump() + "." + head["head"].dump() == name)
      return head;
  throw std::runtime_error("no head " + name);
}

// Return the path of the checkpoint that was saved at `step`.
std::string checkpoint(const fs::path& folder, const json& step) {
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints"))
    if (std::stoll(entry.path().filename().string()) == step.get<std::int64_t>())
      return entry.path().string();
  throw std::runtime_error("no checkpoint " + step.dump());
}

TEST(AttendFilm, FramesAreTheCheckpoints) {
  const TemporaryFolder folder;
  train_translator(folder.path());
  const json capture = film_capture(folder.path());
  const json &film = capture["film"], &frames = film["frames"];
  ASSERT_EQ(film["heads"].size(), 4u);
  ASSERT_EQ(frames.size(), 3u);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const json& frame = frames[i];
    EXPECT_EQ(frame["step"], 20 * (i + 1));
    const std::string place = checkpoint(folder.path(), frame["step"]);
    const ProgramResult one = run_program(
        {"attend", place, kSource, "--target", capture["translation"], "--json", "--full"}, folder.path());
    ASSERT_EQ(one.exit_code, 0) << one.err;
    const json expected = json::parse(one.out);
    double sum = 0;
    for (const json& step : expected["steps"])
      sum += step["written_logit"].get<double>() - step["log_sum_exp"].get<double>();
    EXPECT_NEAR(frame["log_probability"].get<double>(), sum / static_cast<double>(expected["steps"].size()),
                1e-5);
    for (std::size_t h = 0; h < film["heads"].size(); ++h)
      EXPECT_EQ(frame["weights"][h], head_of(expected, film["heads"][h])["weights"]);
    const ProgramResult free = run_program({"translate", place}, folder.path(), kSource + "\n");
    EXPECT_EQ(frame.value("translation", "") + "\n", free.out);
  }
  EXPECT_LT(frames[0]["log_probability"], frames[2]["log_probability"]);
  // A given target is not generated.
  const ProgramResult given = run_program({"attend", "run", kSource, "--target", capture["translation"],
                                           "--html", "page.html", "--json", "--full", "--checkpoints", "-q"},
                                          folder.path());
  ASSERT_EQ(given.exit_code, 0) << given.err;
  const json target = json::parse(given.out);
  ASSERT_EQ(target["film"]["frames"].size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const json& frame = target["film"]["frames"][i];
    EXPECT_FALSE(frame.contains("translation")) << frame["translation"];
    EXPECT_EQ(frame["log_probability"], frames[i]["log_probability"]);
  }
}

TEST(AttendFilm, EncoderAndDecoderMayHaveDifferentNumbersOfLayers) {
  const TemporaryFolder folder;
  train_translator(folder.path(), {"model.encoder_layers=3"});
  for (const char* kind : {"encoder", "cross"}) {
    const ProgramResult result = run_program(
        {"attend", "run", kSource, "--html", "page.html", "--json", "--checkpoints", "-q", "--kind", kind},
        folder.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["film"]["frames"].size(), 3u) << kind;
  }
  // The four heads with the highest scores may belong to the encoder and to the decoder.
  EXPECT_EQ(film_capture(folder.path())["film"]["heads"].size(), 4u);
}

TEST(AttendFilm, NeedsARunAndAPage) {
  const TemporaryFolder folder;
  write_text_model(folder.path() / "gpt", "gpt");
  ProgramResult refused = run_program({"attend", "gpt", "the fox", "--checkpoints"}, folder.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--checkpoints needs --html"), std::string::npos) << refused.err;
  refused = run_program({"attend", "gpt", "the fox", "--checkpoints", "--html", "p.html"}, folder.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("not a run folder"), std::string::npos) << refused.err;
  refused = run_program({"attend", "gpt", "the fox", "--checkpoints", "--html", "p.html", "--ablate", "0.0"},
                        folder.path());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("cannot be combined"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace regard::testing

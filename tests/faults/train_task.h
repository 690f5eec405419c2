// A tiny training run for the tests of faults: its task, the bits of its checkpoints, and the conditions that
// its folder must always meet.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "faults/faulty_program.h"
#include "formats/checkpoint.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"

namespace regard::testing {

namespace fs = std::filesystem;

inline const std::vector<std::string> kTrain{"train", "run.toml", "-t", "1", "--resume"};

inline void write_task(const fs::path& folder) {
  std::string source, target;
  for (int i = 0; i < 8; ++i) source += "one two\nthree\n", target += "zwei eins\ndrei\n";
  for (const char* name : {"train", "valid"}) {
    write_file(folder, std::string(name) + ".en", source);
    write_file(folder, std::string(name) + ".de", target);
  }
  write_file(folder, "run.toml", R"(task = "translation"
seed = 3
[data]
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
cache = "always"
[tokenizer]
type = "char"
[model]
encoder_layers = 1
decoder_layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
dropout = 0.1
[training]
learning_rate = 1e-2
batch_tokens = 24
max_steps = 4
average_last = 2
[validation]
every_steps = 2
metrics = ["loss"]
samples = 0
[output]
folder = "run"
checkpoint_every_steps = 1
log_every_steps = 2
keep = 1
)");
}

// Return the files of every checkpoint and the targets of the links.
inline std::map<std::string, std::string> bits_of(const fs::path& run) {
  std::map<std::string, std::string> bits;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    const std::string name = entry.path().filename().string();
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "tokenizer.json"})
      bits[name + "/" + file] = file_content(entry.path() / file);
  }
  for (const char* link : {"latest", "best"}) bits[link] = fs::read_symlink(run / link).string();
  return bits;
}

inline bool has_checkpoint(const fs::path& run) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", none))
    if (!is_leftover(entry.path())) return true;
  return false;
}

// Expect that the latest and the best checkpoint are complete, and that the latest state.json names the best
// one.
inline void expect_latest_and_best(const fs::path& run, const std::string& fault) {
  if (!has_checkpoint(run)) return;
  const auto folder = formats::RunFolder::open(run);
  const auto latest = folder.latest(), best = folder.best();
  ASSERT_TRUE(latest && best) << fault;
  EXPECT_EQ(latest->warning + best->warning, "") << fault;
  const Json state = read_json((latest->folder / "state.json").string());
  if (state["best_step"] != 0) {
    EXPECT_EQ(best->step, state["best_step"].get<std::int64_t>()) << fault;
  }
}

class TrainTask : public ::testing::Test {
 protected:
  fs::path fresh(const std::string& name) const {
    fs::create_directory(folder_ / name);
    write_task(folder_ / name);
    return folder_ / name;
  }
  TemporaryFolder folder_;
};

}  // namespace regard::testing

// Runs whose training files are shards give the same bits on any number of ranks. Each rank reads only the
// shards of its own micro-batches.
#include <gtest/gtest.h>

#include "distributed/thread_transport.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "train/run.h"
#include "train/task.h"
#include "train/tiny_task.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;
using regard::testing::file_content;
using regard::testing::write_file;

constexpr const char* kRun = R"(
task = "language-model"
seed = 5
[data]
train_list = "shards/list.txt"
sharded = true
valid = ["valid.txt"]
[tokenizer]
file = "tokenizer.json"
[model]
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
dropout = 0.1
[training]
batch_size = 3
context = 8
accumulate = 4
max_steps = 12
[validation]
every_steps = 6
samples = 0
[output]
folder = "run"
)";

class Sharded : public ::testing::Test {
 protected:
  static constexpr int kShards = 7;

  void SetUp() override {
    std::string list = "# seven shards\n", all;
    RandomStream random({4, 0, 0});
    for (int shard = 0; shard < kShards; ++shard) {
      std::string text;
      for (int i = 0; i < 40 + 30 * shard; ++i) text += "abcdefgh \n"[random.next_below(10)];
      write_file(folder.path(), name_of(shard), text);
      list += fs::path(name_of(shard)).filename().string() + "\n\n";
      all += text;
    }
    write_file(folder.path(), "all.txt", all);
    write_file(folder.path(), "valid.txt", all.substr(0, 100));
    write_file(folder.path(), "shards/list.txt", list);
    write_file(folder.path(), "run.toml", kRun);
    write_file(folder.path(), "tokenizer.toml",
               "task = \"language-model\"\n[data]\ntrain = [\"all.txt\"]\nvalid_fraction = 0.1\n"
               "[tokenizer]\ntype = \"char\"\n[output]\nfolder = \"none\"\n");
    ThreadPool pool(1);
    const RunConfig plain = read_run((folder / "tokenizer.toml").string());
    const auto files = make_task(plain)->train_tokenizers(pool).files();
    write_file(folder.path(), "tokenizer.json", files.at(0).second);
  }

  static std::string name_of(int shard) { return "shards/part-" + std::to_string(shard) + ".txt"; }

  RunConfig config(const std::string& run, std::vector<std::string> settings = {}) {
    settings.push_back("output.folder=" + (folder / run).string());
    return read_run((folder / "run.toml").string(), settings);
  }

  // Train on several ranks. `change` may change the configuration of a rank.
  void train(int ranks, const RunConfig& config, bool resume = false,
             const std::function<void(RunConfig&, int rank)>& change = {}) {
    testing::on_ranks(ranks, [&](distributed::Ranks& here) {
      RunConfig own = config;
      if (change) change(own, here.rank());
      ThreadPool pool(1);
      Listener listener;
      run_training(own, pool, listener, resume, here);
    });
  }

  std::string content(const std::string& run, const std::string& file) {
    return file_content(folder / run / "latest" / file);
  }
  void expect_equal_runs(const std::string& a, const std::string& b) {
    for (const char* file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_TRUE(content(a, file) == content(b, file)) << a << ", " << b << ": " << file;
    const Json left = Json::parse(content(a, "state.json")), right = Json::parse(content(b, "state.json"));
    for (const char* key : {"position", "best", "data"}) EXPECT_EQ(left.at(key), right.at(key)) << key;
  }
  Error error_of(const std::function<void()>& body) { return testing::error_of(body); }

  regard::testing::TemporaryFolder folder;
};

TEST_F(Sharded, AnyNumberOfRanksGivesTheSameBits) {
  for (const int ranks : {1, 2, 4}) train(ranks, config(std::to_string(ranks)));
  expect_equal_runs("1", "2");
  expect_equal_runs("1", "4");
  // The order of the shards affects the run.
  RunConfig other = config("other");
  std::swap(other.data.train[0], other.data.train[1]);
  train(1, other);
  EXPECT_NE(content("1", "model.safetensors"), content("other", "model.safetensors"));
}

// Of 4 micro-batches, rank 1 of 2 computes the micro-batches 2 and 3. They read the shards 2, 3 and 6; on
// each rank, the paths of the other shards are replaced by a path that does not exist.
TEST_F(Sharded, ARankReadsOnlyItsOwnShards) {
  train(1, config("alone"));
  train(2, config("two"), false, [&](RunConfig& own, int rank) {
    for (std::size_t shard = 0; shard < own.data.train.size(); ++shard)
      if (static_cast<int>(shard % 4) / 2 != rank) own.data.train[shard] = "/missing";
  });
  expect_equal_runs("alone", "two");
}

TEST_F(Sharded, ResumesOnAnotherNumberOfRanks) {
  train(1, config("whole"));
  for (const auto& [before, after] : std::vector<std::pair<int, int>>{{4, 2}, {1, 4}, {2, 1}}) {
    const std::string run = std::to_string(before) + "-" + std::to_string(after);
    train(before, config(run, {"training.max_steps=7"}));
    train(after, config(run), true);
    for (const char* file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_TRUE(content("whole", file) == content(run, file)) << run;
  }
}

TEST_F(Sharded, AnEpochEndsWhenEveryMicroBatchHasReadItsShards) {
  RunConfig epochs =
      config("epochs", {"training.max_steps=0", "training.max_epochs=2", "training.windows=sequential"});
  train(2, epochs);
  train(1,
        config("epochs-1", {"training.max_steps=0", "training.max_epochs=2", "training.windows=sequential"}));
  expect_equal_runs("epochs", "epochs-1");
  // The shards of micro-batch 3 have 130 characters and those of micro-batch 2 have 320, so micro-batch 3
  // reads its shards more often.
  const Json position = Json::parse(content("epochs", "state.json")).at("position").at("micro_batches");
  ASSERT_EQ(position.size(), 4u);
  double least = 1e9, most = 0;
  for (const Json& one : position) {
    least = std::min(least, one.at("epochs").get<double>());
    most = std::max(most, one.at("epochs").get<double>());
  }
  EXPECT_GE(least, 2.0);
  EXPECT_GT(most, 3.0);
}

TEST_F(Sharded, PairsOfFilesAreShards) {
  std::string list;
  for (int shard = 0; shard < 4; ++shard) {
    std::string source, target;
    for (int i = 0; i < 12; ++i) {
      source += std::string(static_cast<std::size_t>(1 + (i + shard) % 5), 'a') + "\n";
      target += std::string(static_cast<std::size_t>(1 + (i + shard) % 4), 'b') + "\n";
    }
    const std::string name = "pair-" + std::to_string(shard);
    write_file(folder.path(), name + ".a", source);
    write_file(folder.path(), name + ".b", target);
    list += name + ".a\t" + name + ".b\n";
  }
  write_file(folder.path(), "pairs.txt", list);
  std::string run = kRun;
  const auto replace = [&run](const std::string& from, const std::string& to) {
    run.replace(run.find(from), from.size(), to);
  };
  replace("language-model", "translation");
  replace("shards/list.txt", "pairs.txt");
  replace("[\"valid.txt\"]", "[\"pair-0.a\", \"pair-0.b\"]");
  replace("layers = 1", "encoder_layers = 1\ndecoder_layers = 1");
  replace("batch_size = 3\ncontext = 8", "batch_tokens = 20");
  write_file(folder.path(), "run.toml", run);
  for (const int ranks : {1, 4}) train(ranks, config(std::to_string(ranks)));
  expect_equal_runs("1", "4");
}

TEST_F(Sharded, WrongListsAreRefusedWithTheLine) {
  struct Wrong {
    const char* list;
    std::int64_t line;
    std::vector<std::string> parts;
  };
  const std::vector<Wrong> all{
      {"part-0.txt\npart-1.txt\tpart-2.txt\n", 2, {"2 paths", "1 path, as in line 1", "one tab"}},
      {"part-0.txt\n\npart-1.txt\n./part-0.txt\n", 4, {"twice", "line 1", "Remove"}},
      {"part-0.txt\t\n", 1, {"empty path", "tab"}},
      {"# nothing\n\n", -1, {"empty", "path of a file on each line"}},
  };
  for (const Wrong& wrong : all) {
    write_file(folder.path(), "shards/list.txt", wrong.list);
    const Error error = error_of([&] { config("run"); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
    EXPECT_EQ(fs::path(error.file()).filename(), "list.txt");
    EXPECT_EQ(error.place().line, wrong.line) << error.what();
    for (const std::string& part : wrong.parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  fs::remove(folder / "shards/list.txt");
  EXPECT_NE(std::string(error_of([&] { config("run"); }).what()).find("'data.train_list'"),
            std::string::npos);
}

TEST_F(Sharded, ADryRunEstimatesTheStepsOfAnEpoch) {
  ThreadPool pool(1);
  const std::string text = dry_run(config("run", {"training.max_steps=0", "training.max_epochs=2"}), pool);
  EXPECT_NE(text.find("(2.0 epochs); estimated time"), std::string::npos) << text;
}

TEST_F(Sharded, AMissingShardIsNamedWithItsLine) {
  fs::remove(folder / name_of(2));
  const Error error = error_of([&] { train(1, config("run")); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(fs::path(error.file()).filename(), "list.txt");
  EXPECT_EQ(error.place().line, 6) << error.what();  // line 1 is a comment; a blank line follows each path
  EXPECT_NE(std::string(error.what()).find("part-2.txt"), std::string::npos) << error.what();
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST_F(Sharded, KeysThatCannotBeCombinedAreRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> all{
      {{"training.accumulate=8"}, {"7 shards", "at least 8", "more files"}},
      {{"data.valid=[]", "data.valid_fraction=0.1"}, {"'data.valid_fraction'", "Set 'data.valid'"}},
      {{"tokenizer.file=\"\""}, {"'tokenizer.file'", "regard tokenizer train"}},
  };
  for (const auto& [settings, parts] : all) {
    const Error error = error_of([&] { check_run(config("run", settings)); });
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  const Error both = error_of([&] { config("run", {"data.train=[\"a.txt\"]"}); });
  EXPECT_NE(std::string(both.what()).find("cannot be combined"), std::string::npos) << both.what();
}

// The list is read once. The run folder stores the names of the files, so the run resumes without the list.
TEST_F(Sharded, TheRunFileHasTheFilesOfTheList) {
  train(1, config("run", {"training.max_steps=3"}));
  fs::remove(folder / "shards/list.txt");
  const RunConfig saved = read_run((folder / "run").string(), {"training.max_steps=5"});
  EXPECT_EQ(saved.data.train.size(), static_cast<std::size_t>(kShards));
  EXPECT_TRUE(saved.data.sharded);
  EXPECT_EQ(file_content(folder / "run/run.toml").find("train_list"), std::string::npos);
  train(2, saved, true);
  EXPECT_EQ(fs::read_symlink(folder / "run/latest").filename(), "5");
}

}  // namespace
}  // namespace regard::train

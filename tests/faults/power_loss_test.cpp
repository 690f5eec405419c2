// Power loss at every point of a tiny training run: after each recorded file call, the folder is rebuilt as
// the loss may leave it (recorded_disk.h). In every state, the latest and the best checkpoint are complete
// and no durable one is lost; the resumed run gives the same bits.
#include <unordered_set>

#include "base/random.h"
#include "faults/recorded_disk.h"
#include "faults/train_task.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using Data = RecordedDisk::Data;
using Loss = RecordedDisk::Loss;

// states from which the run is resumed; all states with REGARD_FAULTS=all (make faults)
constexpr std::size_t kResumedStates = 40;

// Return the power losses to try after a file call. `changes` is the number of changes of names that are not
// synced; `seed` determines the random losses.
std::vector<Loss> losses(std::size_t changes, std::uint64_t seed) {
  const auto all = [](bool kept) { return [kept](std::size_t) { return kept; }; };
  const auto data = [](Data kind) { return [kind](const std::string&) { return kind; }; };
  std::vector<Loss> list{{all(false), data(Data::absent)}};
  for (const Data kind : {Data::absent, Data::zero, Data::torn, Data::whole})
    list.push_back({all(true), data(kind)});
  list.push_back({[changes](std::size_t i) { return 2 * i < changes; }, data(Data::torn)});
  for (std::uint64_t draw = 0; draw < 3; ++draw) {
    const RandomKey key{seed, draw, place_of("power_loss")};
    const auto number = [key](std::uint64_t of) {
      RandomStream stream({key.seed ^ (of * 0x9E3779B97F4A7C15u), key.step, key.place});
      return stream.next_below(4);
    };
    list.push_back({[number](std::size_t i) { return number(i) < 2; },
                    [number](const std::string& name) {
                      return static_cast<Data>(number(std::hash<std::string>()(name)));
                    }});
  }
  return list;
}

// Return the step of the latest checkpoint, or 0.
std::int64_t latest_step(const fs::path& run) {
  if (!has_checkpoint(run)) return 0;
  const auto latest = formats::RunFolder::open(run).latest();
  return latest ? latest->step : 0;
}

class PowerLoss : public TrainTask {
 protected:
  // Record the calls of the run in `place`.
  std::vector<RecordedCall> record(const fs::path& place) {
    const Environment environment({{"LD_PRELOAD", fault_shim()},
                                   {"REGARD_FAULT_FOLDER", fs::canonical(place)},
                                   {"REGARD_FAULT_RECORD", folder_ / "record"}});
    const ProgramResult result = run_program(kTrain, place);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return recorded_calls(file_content(folder_ / "record"));
  }

  // Expect that the run in `place` is complete and has a checkpoint of step `durable` or later.
  void expect_whole(const fs::path& place, std::int64_t durable, const std::string& name) {
    expect_latest_and_best(place / "run", name);
    EXPECT_GE(latest_step(place / "run"), durable) << name;
  }

  void expect_resumes(const fs::path& place, const std::string& name) {
    const ProgramResult resumed = run_program(kTrain, place);
    ASSERT_EQ(resumed.exit_code, 0) << name << ": " << resumed.err;
    EXPECT_TRUE(bits_of(place / "run") == undisturbed_) << name;
    EXPECT_EQ(leftovers(place), std::vector<std::string>()) << name;
  }

  std::map<std::string, std::string> undisturbed_;
};

TEST_F(PowerLoss, EveryStateHasWholeCheckpointsAndResumesToTheSameBits) {
  const fs::path place = fresh("recorded");
  RecordedDisk disk(fs::canonical(place));
  const std::vector<RecordedCall> calls = record(place);
  ASSERT_GT(calls.size(), 200u);
  undisturbed_ = bits_of(place / "run");
  const std::vector<std::size_t> resumed = chosen_calls(calls.size(), kResumedStates);
  std::unordered_set<std::string> seen;
  std::int64_t durable = 0;
  for (std::size_t i = 0; i < calls.size() && !HasFailure(); ++i) {
    disk.apply(calls[i]);
    const std::vector<Loss> list = losses(disk.unsynced_changes(), i);
    const bool resumes = std::find(resumed.begin(), resumed.end(), i + 1) != resumed.end();
    for (std::size_t loss = 0; loss < list.size() && !HasFailure(); ++loss) {
      const bool resumes_this = resumes && loss == i % list.size();
      if (!seen.insert(disk.rebuild("", list[loss])).second && loss > 0 && !resumes_this) continue;
      const std::string name = "after call " + std::to_string(i + 1) + " (" + calls[i].words[0] + " " +
                               calls[i].words[1] + "), loss " + std::to_string(loss);
      const fs::path state = folder_ / "state";
      disk.rebuild(state, list[loss]);
      expect_whole(state, durable, name);
      if (loss == 0) durable = std::max(durable, latest_step(state / "run"));
      if (resumes_this) expect_resumes(state, name);
      if (!HasFailure()) fs::remove_all(state);
    }
  }
  EXPECT_GT(seen.size(), calls.size());
  // At the end the last checkpoint is durable. Only the removal of old checkpoints may be lost.
  const fs::path last = folder_ / "last";
  disk.rebuild(last, losses(disk.unsynced_changes(), 0)[0]);
  EXPECT_EQ(latest_step(last / "run"), 5);
}

// Control: without syncs of folders, checkpoints are lost.
TEST_F(PowerLoss, MissingSyncsAreFound) {
  const fs::path place = fresh("recorded");
  RecordedDisk disk(fs::canonical(place));
  for (const RecordedCall& call : record(place))
    if (call.words[0] != "sync") disk.apply(call);
  disk.rebuild(folder_ / "state", losses(disk.unsynced_changes(), 0)[0]);
  EXPECT_EQ(latest_step(folder_ / "state/run"), 0);
}

// The system's clock is set forward by a day and back by a year during the run. The checkpoints are
// bit-identical, the time limit does not end the run, and logged times never decrease.
TEST_F(PowerLoss, AClockThatJumpsChangesNothing) {
  const fs::path alone = fresh("alone");
  ASSERT_EQ(run_program(kTrain, alone).exit_code, 0);
  const fs::path place = fresh("jumping");
  {
    const Environment environment(
        {{"LD_PRELOAD", fault_shim()}, {"REGARD_CLOCK_JUMPS", "2:86400,8:-31536000"}});
    const ProgramResult result = run_program({"train", "run.toml", "-t", "1", "--set",
                                              "output.tensorboard=true", "--set", "training.max_minutes=600"},
                                             place);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_TRUE(bits_of(place / "run") == bits_of(alone / "run"));
  std::string before;
  double trained = 0;
  for (const std::string& text : lines_of(file_content(place / "run/log.jsonl"))) {
    const Json line = Json::parse(text);
    EXPECT_GE(line["time"].get<std::string>(), before);
    before = line["time"].get<std::string>();
    if (!line.contains("trained_seconds")) continue;
    EXPECT_GE(line["trained_seconds"].get<double>(), trained);
    trained = line["trained_seconds"].get<double>();
  }
  EXPECT_LT(trained, 1000.0);
}

}  // namespace
}  // namespace regard::testing

// Batches of a run whose training data is divided into shards (data.sharded). With n micro-batches per step,
// micro-batch i uses only the shards i, i + n, i + 2 n, … Therefore, the batches are the same for any number
// of ranks, and a rank reads only the shards of its own micro-batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "distributed/ranks.h"
#include "train/batch.h"
#include "train/run_config.h"

namespace regard::train {

class ShardedBatches : public BatchSource {
 public:
  // `own` contains one source for each micro-batch that this rank computes in a step, in order.
  // `micro_batches` is the number of micro-batches of all ranks. `ranks` must outlive the object.
  ShardedBatches(std::vector<std::unique_ptr<BatchSource>> own, std::int64_t micro_batches,
                 distributed::Ranks& ranks);

  // Replace the content of `batch` with this rank's next micro-batch. `first_index` is not used: the indices
  // of the sequences depend only on the index of the micro-batch in the step.
  void next(Batch& batch, std::uint64_t first_index) override;
  // Collective. `own` contains the micro-batches of this rank in a step. Set `all` to the BatchSizes of the
  // micro-batches of all ranks, and update epochs().
  void exchange_sizes(std::span<const Batch> own, std::span<BatchSizes> all);

  // Return the number of passes over the shards so far: the minimum over all micro-batches.
  double epochs() const override;
  Json state() const override;  // collective
  void restore(const Json& state, const std::string& file) override;
  ShardedBatches* sharded() override { return this; }

 private:
  std::size_t first() const { return static_cast<std::size_t>(ranks_.rank()) * own_.size(); }
  std::vector<std::unique_ptr<BatchSource>> own_;
  distributed::Ranks& ranks_;
  std::vector<double> epochs_;  // for each micro-batch of all ranks, passes over its shards
  std::size_t at_ = 0;          // index in own_ of the next micro-batch
  struct Drawn {
    BatchSizes sizes;
    double epochs = 0;
  };
  std::vector<Drawn> mine_, drawn_;  // buffers of exchange_sizes()
};

// Return the files of each shard of data.train. A shard is a table, a text file, or a group of line-aligned
// files.
std::vector<std::vector<std::string>> shards_of(const RunConfig& config);

// Return the configuration of micro-batch `index`, in which data.train names only the shards of this
// micro-batch. Throws io if a shard is missing; the message contains the line of data.train_list that names
// the shard.
RunConfig config_of_micro_batch(const RunConfig& config, std::int64_t index);

// Check a configuration with data.sharded. Throws usage, naming the key, if a value is invalid.
void check_sharded(const RunConfig& config);

}  // namespace regard::train

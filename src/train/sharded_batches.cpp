#include "train/sharded_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/counted.h"
#include "train/corpora.h"

namespace regard::train {
namespace {

// Number of sequence indices that are reserved for each micro-batch: the first sequence of micro-batch i has
// the index i · kSequences.
constexpr std::uint64_t kSequences = std::uint64_t{1} << 20;

}  // namespace

ShardedBatches::ShardedBatches(std::vector<std::unique_ptr<BatchSource>> own, std::int64_t micro_batches,
                               distributed::Ranks& ranks)
    : own_(std::move(own)),
      ranks_(ranks),
      epochs_(static_cast<std::size_t>(micro_batches)),
      mine_(own_.size()),
      drawn_(epochs_.size()) {}

void ShardedBatches::next(Batch& batch, std::uint64_t) {
  own_[at_]->next(batch, (first() + at_) * kSequences);
  epochs_[first() + at_] = own_[at_]->epochs();
  at_ = (at_ + 1) % own_.size();
}

void ShardedBatches::exchange_sizes(std::span<const Batch> own, std::span<BatchSizes> all) {
  for (std::size_t i = 0; i < own_.size(); ++i) mine_[i] = {BatchSizes::of(own[i]), own_[i]->epochs()};
  ranks_.gather_bytes(std::as_bytes(std::span(mine_)), std::as_writable_bytes(std::span(drawn_)));
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    all[i] = drawn_[i].sizes;
    epochs_[i] = drawn_[i].epochs;
  }
}

double ShardedBatches::epochs() const {
  return *std::min_element(epochs_.begin(), epochs_.end());
}

Json ShardedBatches::state() const {
  Json mine = Json::array();
  for (const auto& source : own_)
    mine.push_back({{"position", source->state()}, {"epochs", source->epochs()}});
  Json all = Json::array();
  for (const std::string& text : ranks_.gather(mine.dump()))
    for (Json& one : Json::parse(text)) all.push_back(std::move(one));
  return {{"micro_batches", all}};
}

void ShardedBatches::restore(const Json& state, const std::string& file) {
  const Json all = require<Json>(state, "micro_batches", file);
  if (!all.is_array() || all.size() != epochs_.size())
    throw file_error(file, "the saved number of micro-batches differs from that of the run")
        .found(fmt::format("{} micro-batches", all.size()))
        .expected(fmt::format("{} micro-batches", epochs_.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    epochs_[i] = require<double>(all[i], "epochs", file);
    if (i >= first() && i < first() + own_.size())
      own_[i - first()]->restore(require<Json>(all[i], "position", file), file);
  }
  at_ = 0;
}

std::vector<std::vector<std::string>> shards_of(const RunConfig& config) {
  if (!is_plain_text(config)) return corpora_of(config, config.data.train);
  std::vector<std::vector<std::string>> shards;
  for (const std::string& file : config.data.train) shards.push_back({file});
  return shards;
}

RunConfig config_of_micro_batch(const RunConfig& config, std::int64_t index) {
  RunConfig own = config;
  own.data.train.clear();
  own.train_places.clear();
  const auto step = static_cast<std::size_t>(config.training.accumulate);
  const std::vector<std::vector<std::string>> shards = shards_of(config);
  std::size_t file = 0;  // index of the file in data.train
  for (std::size_t shard = 0; shard < shards.size(); ++shard)
    for (const std::string& path : shards[shard]) {
      const std::size_t place = file++;
      if (shard % step != static_cast<std::size_t>(index)) continue;
      check_train_file(config, place);
      own.data.train.push_back(path);
    }
  return own;
}

void check_sharded(const RunConfig& config) {
  const auto refuse = [](const char* key, const std::string& reason) {
    return usage_error(fmt::format("'data.sharded' cannot be combined with '{}', because {}", key, reason))
        .remedy("Remove one of the two keys");
  };
  if (config.data.valid.empty())
    throw refuse("data.valid_fraction", "no process reads all data").remedy("Set 'data.valid'");
  if (!config.data.weights.empty()) throw refuse("data.weights", "each micro-batch has its own shards");
  if (config.tokenizer.file.empty() && config.model.from.empty())
    throw usage_error(
        "'data.sharded' requires 'tokenizer.file' or 'model.from', because no process reads all data")
        .remedy(
            "Train a tokenizer on some of the shards first: regard tokenizer train SHARD… -o tokenizer.json");
  const std::size_t shards = shards_of(config).size();
  if (shards < static_cast<std::size_t>(config.training.accumulate))
    throw usage_error(
        "'data.sharded' requires at least one shard for each of the 'training.accumulate' micro-batches")
        .found(counted(shards, "shard"))
        .expected(fmt::format("at least {} shards", config.training.accumulate))
        .remedy("Divide the data into more files, or reduce 'training.accumulate'");
}

}  // namespace regard::train

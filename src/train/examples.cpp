#include "train/examples.h"

#include <algorithm>

#include "base/random.h"
#include "base/shuffle.h"
#include "train/encode.h"

namespace regard::train {
namespace {

class ExampleBatches : public BatchSource {
 public:
  ExampleBatches(std::size_t examples, std::int64_t batch_size, std::uint64_t seed, AppendExample append,
                 std::vector<data::WeightedSource> sources)
      : examples_(examples),
        batch_size_(static_cast<std::size_t>(batch_size)),
        seed_(seed),
        append_(std::move(append)),
        sources_(std::move(sources)) {
    if (examples == 0)
      throw usage_error("the training data has no examples").expected("at least one example");
    require_examples(sources_);
    make_order();
  }

  void next(Batch& batch, std::uint64_t first_index) override {
    while (at_ == order_.size()) {  // with small data.weights, an epoch may have no examples
      ++epoch_;
      make_order();
      at_ = 0;
    }
    batch.clear();
    const std::size_t end = at_ + std::min(batch_size_, order_.size() - at_);
    for (; at_ < end; ++at_) append_(batch, order_[at_], epoch_, first_index++);
  }

  double epochs() const override { return epochs_at(epoch_, at_, order_.size()); }
  Json state() const override { return {{"epoch", epoch_}, {"example", at_}}; }
  void restore(const Json& state, const std::string& file) override {
    epoch_ = require<std::uint64_t>(state, "epoch", file);
    make_order();
    at_ = require_in<std::size_t>(state, "example", file, 0, order_.size());
  }

 private:
  void make_order() {
    RandomStream random({seed_, epoch_, place_of("data.order")});
    const data::Copies copies(sources_, seed_, epoch_);
    order_.clear();
    for (std::size_t i = 0; i < examples_; ++i) order_.insert(order_.end(), copies.of(i), i);
    shuffle(order_, random);
  }

  std::size_t examples_;
  std::vector<std::size_t> order_;  // order of the examples in this epoch
  std::size_t batch_size_;
  std::uint64_t seed_;
  AppendExample append_;
  std::vector<data::WeightedSource> sources_;
  std::uint64_t epoch_ = 0;
  std::size_t at_ = 0;  // index of the next example in order_
};

}  // namespace

Examples encode_examples(const text::Tokenizer& tokenizer, std::span<const std::string> first,
                         std::span<const std::string> second, std::int64_t most, ThreadPool& pool) {
  text::EncodeOptions options{.add_special = true, .match_special = false, .as_file = false};
  options.truncation = text::Truncation{.max_length = static_cast<std::size_t>(most)};
  Examples examples;
  data::TokenStore types;
  bool typed = false;
  std::vector<text::TextPair> texts;
  for (std::size_t begin = 0; begin < first.size(); begin += kTextsAtOnce) {
    const std::size_t end = std::min(begin + kTextsAtOnce, first.size());
    texts.clear();
    for (std::size_t i = begin; i < end; ++i) {
      texts.push_back({first[i], std::nullopt});
      if (!second.empty()) texts.back().second = second[i];
    }
    for (const text::Encoding& encoding : tokenizer.encode_batch(texts, options, &pool)) {
      examples.ids.add(encoding.ids);
      types.add(encoding.type_ids);
      typed = typed || std::any_of(encoding.type_ids.begin(), encoding.type_ids.end(),
                                   [](std::int32_t type) { return type != 0; });
      if (!encoding.overflowing.empty()) ++examples.truncated;
    }
  }
  if (typed) examples.types = std::move(types);
  return examples;
}

std::unique_ptr<BatchSource> example_batches(std::size_t examples, std::int64_t batch_size,
                                             std::uint64_t seed, AppendExample append,
                                             std::vector<data::WeightedSource> sources) {
  return std::make_unique<ExampleBatches>(examples, batch_size, seed, std::move(append), std::move(sources));
}

void in_groups(const data::TokenStore& ids, std::int64_t tokens,
               const std::function<void(std::size_t begin, std::size_t end)>& visit) {
  for (std::size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    std::int64_t sum = static_cast<std::int64_t>(ids.length(end++));
    while (end < ids.size() && sum + static_cast<std::int64_t>(ids.length(end)) <= tokens)
      sum += static_cast<std::int64_t>(ids.length(end++));
    visit(begin, end);
  }
}

}  // namespace regard::train

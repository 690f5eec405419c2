#include "infer/greedy.h"

#include <algorithm>

#include "ops/ragged.h"
#include "tensor/arena.h"

namespace regard {
namespace {

using Ids = std::vector<std::int32_t>;

// One batch being decoded: slot s of the cache is sequence s.
class GreedyBatch {
 public:
  GreedyBatch(Model& model, ThreadPool& pool, std::span<const Ids> sources, const GreedyOptions& options)
      : model_(model),
        tape_(pool, arena_),
        sources_(sources),
        options_(options),
        written_(sources.size()),
        cache_(model.cache_shape(), static_cast<std::int64_t>(sources.size()), most_tokens() + 1) {}

  std::vector<Ids> run() {
    for (std::size_t s = 0; s < sources_.size(); ++s) active_.push_back(static_cast<std::int32_t>(s));
    while (!active_.empty()) step();
    return std::move(written_);
  }

 private:
  std::int64_t limit(std::size_t s) const {
    return options_.max_new > 0 ? options_.max_new : 2 * static_cast<std::int64_t>(sources_[s].size()) + 20;
  }
  std::int64_t most_tokens() const {
    std::int64_t most = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) most = std::max(most, limit(s));
    return most;
  }

  Memory encode() {
    Ids ids;
    memory_shape_.clear();
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      ids.insert(ids.end(), sources_[s].begin(), sources_[s].end());
      memory_shape_.add(static_cast<std::int64_t>(sources_[s].size()), s);
    }
    Memory memory;
    memory.shape = memory_shape_.view();
    memory.hidden = model_.encode(tape_, {ids, memory.shape});
    return memory;
  }

  // Every active sequence reads its last token and writes one more.
  void step() {
    tape_.begin({});
    const bool first = cache_.length(active_[0]) == 0;
    const Memory memory = first ? encode() : Memory{};
    Ids ids;
    shape_.clear();
    for (const std::int32_t s : active_) {
      const Ids& written = written_[static_cast<std::size_t>(s)];
      ids.push_back(written.empty() ? options_.start_id : written.back());
      shape_.add(1, static_cast<std::uint64_t>(s), static_cast<std::int32_t>(written.size()));
    }
    cache_.select(active_);
    const Tensor logits =
        model_.logits(tape_, model_.decode(tape_, {ids, shape_.view()}, first ? &memory : nullptr, &cache_))
            ->value;
    std::vector<std::int32_t> going;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const float* row = logits.row(static_cast<std::int64_t>(i));
      const auto token = static_cast<std::int32_t>(std::max_element(row, row + logits.columns()) - row);
      const auto s = static_cast<std::size_t>(active_[i]);
      written_[s].push_back(token);
      if (token != options_.end_id && static_cast<std::int64_t>(written_[s].size()) < limit(s))
        going.push_back(active_[i]);
    }
    active_ = std::move(going);
  }

  Model& model_;
  Arena arena_;
  Tape tape_;
  std::span<const Ids> sources_;
  GreedyOptions options_;
  std::vector<Ids> written_;
  Cache cache_;
  RaggedBuffer memory_shape_, shape_;
  std::vector<std::int32_t> active_;
};

}  // namespace

std::vector<Ids> greedy_translations(Model& model, ThreadPool& pool, std::span<const Ids> sources,
                                     const GreedyOptions& options) {
  if (sources.empty()) return {};
  return GreedyBatch(model, pool, sources, options).run();
}

}  // namespace regard

#include "train/evaluation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "train/objective.h"

namespace regard::train {
namespace {

// approximate maximum number of tokens per forward pass; does not affect the loss of any sentence
constexpr std::int64_t kBatchTokens = 4096;

distributed::Ranks& ranks_of(distributed::Ranks* ranks) {
  return ranks == nullptr ? distributed::Ranks::one() : *ranks;
}

// Sums the loss of batches: the caller fills batch() and calls flush() repeatedly, then calls finish(). Rank
// r of R computes the batches r, r + R, …; finish() exchanges the losses and sums them in order.
class LossPass {
 public:
  LossPass(Network& model, const PassResources& resources)
      : model_(model),
        stop_(resources.stop),
        ranks_(ranks_of(resources.ranks)),
        tape_(resources.pool, resources.arena) {
    tape_.probe = resources.probe;
    model.prepare_for_inference(resources.pool);
  }
  Batch& batch() { return batch_; }
  void flush() {
    if (batch_.labels.empty()) return;
    const bool here =
        static_cast<int>(losses_.size() % static_cast<std::size_t>(ranks_.size())) == ranks_.rank();
    losses_.push_back(here && !stopped_ ? loss() : 0.0);
    tokens_ += batch_.target_tokens();
    batch_.clear();
    stopped_ = stopped_ || (stop_ && stop_());
    if (stopped_ && ranks_.alone()) throw Stopped{};
  }
  LossSum finish() {
    flush();
    if (ranks_.any(stopped_)) throw Stopped{};
    const auto ranks = static_cast<std::size_t>(ranks_.size());
    std::vector<double> all(losses_.size() * ranks);
    ranks_.gather_bytes(std::as_bytes(std::span(losses_)), std::as_writable_bytes(std::span(all)));
    LossSum sum{.total = 0.0, .tokens = tokens_};
    for (std::size_t i = 0; i < losses_.size(); ++i) sum.total += all[i % ranks * losses_.size() + i];
    return sum;
  }

 private:
  double loss() {
    tape_.begin({});
    return static_cast<double>(next_token_loss(model_, tape_, batch_, {})->value.f32()[0]);
  }

  Network& model_;
  infer::Stop stop_;
  distributed::Ranks& ranks_;
  Tape tape_;
  Batch batch_;
  std::vector<double> losses_;  // loss of each batch; 0 for a batch of another rank
  std::int64_t tokens_ = 0;
  bool stopped_ = false;
};

// Convert texts, given as ids, to bytes: for each text its length and then its ids, as 32-bit integers.
std::string packed(const std::vector<std::vector<std::int32_t>>& texts) {
  std::vector<std::int32_t> numbers;
  for (const auto& ids : texts) {
    numbers.push_back(static_cast<std::int32_t>(ids.size()));
    numbers.insert(numbers.end(), ids.begin(), ids.end());
  }
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int32_t)};
}

std::vector<std::vector<std::int32_t>> unpacked(const std::string& bytes) {
  std::vector<std::int32_t> numbers(bytes.size() / sizeof(std::int32_t));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::int32_t));
  std::vector<std::vector<std::int32_t>> texts;
  for (std::size_t at = 0; at < numbers.size();) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    texts.emplace_back(begin, begin + numbers[at]);
    at += texts.back().size() + 1;
  }
  return texts;
}

// Return the token ids of the best output for each source. Rank r of R decodes the sources r, r + R, …
std::vector<std::vector<std::int32_t>> best_texts(Network& model, ThreadPool& pool,
                                                  std::span<const ModelInput> sources,
                                                  const infer::SearchOptions& search,
                                                  const TranslationOptions& options) {
  distributed::Ranks& ranks = ranks_of(options.ranks);
  const auto step = static_cast<std::size_t>(ranks.size());
  std::vector<ModelInput> mine;
  std::vector<std::vector<std::int32_t>> found;
  for (auto i = static_cast<std::size_t>(ranks.rank()); i < sources.size(); i += step)
    mine.push_back(sources[i]);
  if (!mine.empty())
    for (const auto& hypotheses : infer::decode(model, pool, mine, search, options.stop))
      found.push_back(hypotheses.at(0).tokens);
  if (ranks.any(found.size() != mine.size())) throw Stopped{};
  std::vector<std::vector<std::int32_t>> all(sources.size());
  const std::vector<std::string> parts = ranks.gather(packed(found));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    std::vector<std::vector<std::int32_t>> texts = unpacked(parts[rank]);
    for (std::size_t i = 0; i < texts.size(); ++i) all[rank + i * step] = std::move(texts[i]);
  }
  return all;
}

}  // namespace

LossSum pair_loss(Network& model, const PassResources& resources, const data::PairStore& pairs,
                  std::int32_t start) {
  LossPass pass(model, resources);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto source = static_cast<std::int64_t>(pairs.source.length(i));
    const auto target = static_cast<std::int64_t>(pairs.target.length(i));
    if (target == 0) continue;
    const Batch& batch = pass.batch();
    if (batch.target_tokens() + target > kBatchTokens || batch.source.view().tokens() + source > kBatchTokens)
      pass.flush();
    pass.batch().add_pair(pairs.source[i], pairs.target[i], start, i);
  }
  return pass.finish();
}

LossSum example_loss(Network& model, const PassResources& resources, std::size_t examples,
                     const std::function<void(Batch& batch, std::size_t example)>& append) {
  LossPass pass(model, resources);
  for (std::size_t i = 0; i < examples; ++i) {
    append(pass.batch(), i);
    const Batch& batch = pass.batch();
    if (batch.tokens() + batch.source.view().tokens() >= kBatchTokens) pass.flush();
  }
  return pass.finish();
}

LossSum stream_loss(Network& model, const PassResources& resources, std::span<const std::int32_t> stream,
                    std::int64_t context) {
  LossPass pass(model, resources);
  const auto step = static_cast<std::size_t>(context);
  for (std::size_t begin = 0; begin + 1 < stream.size(); begin += step) {
    const std::size_t length = std::min(step + 1, stream.size() - begin);
    if (pass.batch().target_tokens() + context > kBatchTokens) pass.flush();
    pass.batch().add_window(stream.subspan(begin, length), begin);
  }
  return pass.finish();
}

std::vector<std::string> translate_sources(Network& model, ThreadPool& pool, const data::TokenStore& sources,
                                           const text::Tokenizer& target, const TranslationOptions& options) {
  const std::size_t count = options.count == 0 ? sources.size() : std::min(options.count, sources.size());
  std::vector<ModelInput> inputs;
  for (std::size_t i = 0; i < count; ++i)
    inputs.emplace_back(std::vector<std::int32_t>(sources[i].begin(), sources[i].end()));
  return decode_sources(model, pool, inputs, target, options);
}

std::vector<std::string> decode_sources(Network& model, ThreadPool& pool, std::span<const ModelInput> sources,
                                        const text::Tokenizer& target, const TranslationOptions& options) {
  const SpecialIds special = options.special != nullptr ? *options.special : special_ids(target);
  infer::SearchOptions search;
  search.beam = options.beam;
  search.length_penalty = options.length_penalty;
  search.start_token = special.decoder_start;
  if (special.end >= 0) search.end_tokens = {special.end};
  model.prepare_for_inference(pool);
  std::vector<std::string> texts;
  for (const auto& tokens : best_texts(model, pool, sources, search, options))
    texts.push_back(target.decode(tokens));
  return texts;
}

}  // namespace regard::train

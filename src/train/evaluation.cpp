#include "train/evaluation.h"

#include <algorithm>

#include "train/objective.h"

namespace regard::train {
namespace {

constexpr std::int64_t kBatchTokens = 4096;  // tokens per pass; does not affect any sentence's loss

// Sums the loss of batches: fill batch(), call flush(), and finish() at the end.
class LossPass {
 public:
  LossPass(Network& model, const PassResources& resources)
      : model_(model), stop_(resources.stop), tape_(resources.pool, resources.arena) {
    model.prepare_for_inference(resources.pool);
  }
  Batch& batch() { return batch_; }
  void flush() {
    if (batch_.labels.empty()) return;
    tape_.begin({});
    sum_.total += static_cast<double>(next_token_loss(model_, tape_, batch_, {})->value.f32()[0]);
    sum_.tokens += batch_.target_tokens();
    batch_.clear();
    if (stop_ && stop_()) throw Stopped{};
  }
  LossSum finish() {
    flush();
    return sum_;
  }

 private:
  Network& model_;
  infer::Stop stop_;
  Tape tape_;
  Batch batch_;
  LossSum sum_;
};

}  // namespace

LossSum pair_loss(Network& model, const PassResources& resources, const data::PairStore& pairs,
                  std::int32_t start) {
  LossPass pass(model, resources);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto more = static_cast<std::int64_t>(pairs.target.length(i));
    if (pass.batch().target_tokens() + more > kBatchTokens) pass.flush();
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
  const auto results = infer::decode(model, pool, sources, search, options.stop);
  if (results.size() != sources.size()) throw Stopped{};
  for (const auto& hypotheses : results) texts.push_back(target.decode(hypotheses.at(0).tokens));
  return texts;
}

}  // namespace regard::train

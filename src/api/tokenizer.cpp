#include "regard/tokenizer.h"

#include <mutex>
#include <utility>

#include "api/check.h"
#include "api/model_state.h"
#include "api/pool.h"
#include "text/tokenizer.h"
#include "text/train_tokenizer.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

text::EncodeOptions inner(const EncodeOptions& options) {
  text::EncodeOptions to{
      .add_special = options.add_special, .match_special = options.match_special, .as_file = options.as_file};
  if (options.max_length < 0 || options.stride < 0)
    throw usage_error("encode: max_length or stride is negative")
        .found("max_length " + std::to_string(options.max_length) + ", stride " +
               std::to_string(options.stride))
        .expected("0 or more");
  if (options.max_length == 0) return to;
  using Strategy = text::Truncation::Strategy;
  text::Truncation truncation{.max_length = static_cast<std::size_t>(options.max_length),
                              .stride = static_cast<std::size_t>(options.stride)};
  if (options.strategy == TruncationStrategy::only_first) truncation.strategy = Strategy::only_first;
  if (options.strategy == TruncationStrategy::only_second) truncation.strategy = Strategy::only_second;
  to.truncation = truncation;
  return to;
}

std::vector<TextOffsets> outer(const std::vector<text::Offsets>& offsets) {
  std::vector<TextOffsets> all;
  all.reserve(offsets.size());
  for (const text::Offsets& one : offsets) all.push_back({one.begin, one.end});
  return all;
}

Encoding outer(text::Encoding&& encoding) {
  Encoding result;
  result.ids = std::move(encoding.ids), result.tokens = std::move(encoding.tokens);
  result.offsets = outer(encoding.byte_offsets), result.character_offsets = outer(encoding.offsets);
  result.types = std::move(encoding.type_ids), result.special = std::move(encoding.special_mask);
  result.attention_mask = std::move(encoding.attention_mask), result.words = std::move(encoding.words);
  for (text::Encoding& part : encoding.overflowing) result.overflowing.push_back(outer(std::move(part)));
  return result;
}

text::TokenizerTraining inner(const TokenizerTraining& options) {
  if (options.vocabulary_size < 0 || options.min_frequency.value_or(0) < 0)
    throw usage_error("train: vocabulary_size or min_frequency is negative")
        .found("vocabulary_size " + std::to_string(options.vocabulary_size) + ", min_frequency " +
               std::to_string(options.min_frequency.value_or(0)))
        .expected("0 or more");
  for (const std::string& token : options.special_tokens) api::check_text(token);
  text::TokenizerTraining to;
  to.type = options.type, to.vocabulary_size = static_cast<std::size_t>(options.vocabulary_size);
  to.min_frequency = options.min_frequency, to.words = options.words;
  to.normalize = options.normalize, to.lower_case = options.lower_case;
  to.end_token = options.end_token, to.byte_fallback = options.byte_fallback;
  to.special_tokens = options.special_tokens;
  if (options.progress)
    to.progress = [progress = options.progress](double share, const std::string& part) {
      if (!progress(share, part)) throw cancelled_error("training of the tokenizer was cancelled");
    };
  return to;
}

}  // namespace

struct REGARD_HIDDEN Tokenizer::State {
  std::shared_ptr<const text::Tokenizer> tokenizer;

  void check_id(std::int32_t id) const {
    if (id < 0 || id >= tokenizer->vocabulary_size())
      throw input_error("an id is not in the vocabulary")
          .found(std::to_string(id))
          .expected("ids from 0 to " + std::to_string(tokenizer->vocabulary_size() - 1));
  }
};

Tokenizer::Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Tokenizer::Tokenizer(const std::filesystem::path& path, TextSide side)
    : state_(std::make_shared<State>(text::Tokenizer::load(
          path, side == TextSide::source ? text::Language::source : text::Language::target))) {}

Tokenizer::Tokenizer(const Model& model, TextSide side) {
  const infer::LoadedModel& loaded = api::ModelAccess::state(model)->loaded;
  state_ = std::make_shared<State>(side == TextSide::source ? loaded.source_tokenizer()
                                                            : loaded.target_tokenizer());
}

const Tokenizer::State& Tokenizer::state() const {
  return api::state_of(state_, "Tokenizer");
}

Tokenizer Tokenizer::train(std::span<const std::filesystem::path> files, const TokenizerTraining& options) {
  if (files.empty()) throw usage_error("expected at least one file to train a tokenizer on");
  const text::TokenizerTraining how = inner(options);
  if (how.progress) how.progress(0.0, "reading");
  text::SkippedLines skipped;
  const auto pool = api::pool();
  const auto lines =
      text::lines_of_files({files.begin(), files.end()}, false, options.skip_bad_utf8 ? &skipped : nullptr);
  auto trained = std::make_shared<State>(text::train_tokenizer(lines, how, pool.get()));
  if (how.progress) how.progress(1.0, "trained");
  return Tokenizer(std::move(trained));
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const State& state = this->state();
  api::check_text(text);
  return outer(state.tokenizer->encode(text, inner(options)));
}

Encoding Tokenizer::encode(std::string_view first, std::string_view second,
                           const EncodeOptions& options) const {
  const State& state = this->state();
  api::check_text(first), api::check_text(second);
  return outer(state.tokenizer->encode_pair(first, second, inner(options)));
}

std::vector<Encoding> Tokenizer::encode(std::span<const TextPair> texts, const EncodeOptions& options) const {
  const State& state = this->state();
  std::vector<text::TextPair> pairs;
  pairs.reserve(texts.size());
  for (const TextPair& pair : texts) {
    api::check_text(pair.first);
    if (pair.second) api::check_text(*pair.second);
    pairs.push_back({pair.first, pair.second});
  }
  const auto pool = api::pool();
  std::vector<Encoding> all;
  all.reserve(texts.size());
  for (text::Encoding& one : state.tokenizer->encode_batch(pairs, inner(options), pool.get()))
    all.push_back(outer(std::move(one)));
  return all;
}

std::vector<std::int32_t> Tokenizer::ids(std::string_view text, const EncodeOptions& options) const {
  const State& state = this->state();
  api::check_text(text);
  return state.tokenizer->encode_ids(text, inner(options));
}

std::vector<Segmentation> Tokenizer::best(std::string_view text, std::int64_t count) const {
  const State& state = this->state();
  api::check_text(text);
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  std::vector<Segmentation> all;
  for (auto& one : state.tokenizer->encode_nbest(text, most)) all.push_back({one.score, std::move(one.ids)});
  return all;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  const State& state = this->state();
  for (const std::int32_t id : ids) state.check_id(id);
  return state.tokenizer->decode(ids, skip_special);
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view token) const {
  return state().tokenizer->id_of(token);
}

std::string Tokenizer::token_of(std::int32_t id) const {
  return state().tokenizer->token_of(id);
}

bool Tokenizer::is_special(std::int32_t id) const {
  return state().tokenizer->is_special(id);
}

std::int64_t Tokenizer::vocabulary_size() const {
  return state().tokenizer->vocabulary_size();
}

std::string Tokenizer::type() const {
  return state().tokenizer->model_type();
}

std::string Tokenizer::json() const {
  return state().tokenizer->to_json().dump();
}

void Tokenizer::save(const std::filesystem::path& file) const {
  state().tokenizer->save(file);
}

struct REGARD_HIDDEN TokenStream::State {
  State(std::shared_ptr<const Tokenizer::State> of, bool skips)
      : tokenizer(std::move(of)), skip_special(skips), decoder(tokenizer->tokenizer, skips) {}
  std::shared_ptr<const Tokenizer::State> tokenizer;
  bool skip_special;
  text::StreamDecoder decoder;
  std::mutex calls;
};

TokenStream::TokenStream(const Tokenizer& tokenizer, bool skip_special) {
  static_cast<void>(tokenizer.state());  // throws usage for a moved-from tokenizer
  state_ = std::make_unique<State>(tokenizer.state_, skip_special);
}

TokenStream::~TokenStream() = default;
TokenStream::TokenStream(TokenStream&&) noexcept = default;
TokenStream& TokenStream::operator=(TokenStream&&) noexcept = default;

TokenStream::State& TokenStream::state() const {
  return api::state_of(state_, "TokenStream");
}

std::string TokenStream::push(std::int32_t id) {
  State& state = this->state();
  state.tokenizer->check_id(id);
  const std::lock_guard lock(state.calls);
  return state.decoder.push(id);
}

std::string TokenStream::finish() {
  State& state = this->state();
  const std::lock_guard lock(state.calls);
  std::string rest = state.decoder.finish();
  state.decoder = text::StreamDecoder(state.tokenizer->tokenizer, state.skip_special);
  return rest;
}

}  // namespace regard

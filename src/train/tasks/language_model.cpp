#include "train/tasks/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/counted.h"
#include "base/hash.h"
#include "data/duplicates.h"
#include "models/sequence_config.h"
#include "train/batch_preview.h"
#include "train/corpora_tokens.h"
#include "train/encode.h"
#include "train/new_families.h"
#include "train/tasks/conversation_model.h"

namespace regard::train {
namespace {

// Return the lines of a text. They include their line ends, because line ends are tokens too.
text::LineSource lines_of_text(const std::string& whole) {
  return [&whole, begin = std::size_t{0}](std::string& line) mutable {
    if (begin == whole.size()) return false;
    const std::size_t end = std::min(whole.find('\n', begin), whole.size() - 1) + 1;
    line.assign(whole, begin, end - begin);
    begin = end;
    return true;
  };
}

// Indices of the token stores in the encoded corpora.
enum StreamStores : std::size_t { kTrain, kValid, kStreamStores };

// Read records and append the end token to each. If data.valid is empty, a hash of the record determines
// whether it is for training or validation.
data::CorpusReport encode_records(const RunConfig& config, const Tokenizers& tokenizers,
                                  EncodedCorpora& corpora, data::SourceCounter& sources,
                                  data::SplitDuplicates& duplicates) {
  constexpr text::EncodeOptions kPlain{.add_special = false, .match_special = false};
  const text::Tokenizer& tokenizer = *tokenizers.target;
  const std::int32_t end = special_ids(tokenizers).end;
  std::size_t tokens = 0;  // number of training tokens
  const auto add = [&](std::size_t store, const std::string& text) {
    std::vector<std::int32_t> ids = tokenizer.encode_ids(text, kPlain);
    end_with(ids, end);
    corpora.add(store, ids);
    if (store == kTrain) tokens += ids.size();
  };
  data::CorpusReport read_valid;
  if (!config.data.valid.empty()) {
    RecordReader records(config, config.data.valid);
    while (records.next()) {
      add(kValid, records.texts()[0]);
      duplicates.add_validation(records.texts(), records.place());
    }
    read_valid = records.report();
  }
  RecordReader records(config, config.data.train);
  while (records.next()) {
    add(records.held_out() ? kValid : kTrain, records.texts()[0]);
    sources.set(records.corpus(), tokens);
    duplicates.check_training(records.texts(), records.place());
  }
  data::CorpusReport report = records.report();
  report.add(read_valid);
  return report;
}

// Encode each training file separately, so that no token contains characters of two files. Store the number
// of tokens up to the end of each file in `sources`.
void encode_files(const RunConfig& config, const text::Tokenizer& tokenizer, ThreadPool& pool,
                  EncodedCorpora& corpora, data::SourceCounter& sources, PlainText& text) {
  std::size_t tokens = 0;
  for (std::size_t file = 0; file < config.data.train.size(); ++file) {
    StreamEncoder encoder(tokenizer, pool, [&](std::span<const std::int32_t> ids) {
      corpora.add(kTrain, ids);
      tokens += ids.size();
    });
    text.read_file(file, [&encoder](std::string_view piece) { encoder.add(piece); });
    encoder.finish();
    sources.set(file, tokens);
  }
}

// Read and encode running text in chunks, because the files may be larger than the memory.
data::CorpusReport encode_text(const RunConfig& config, const text::Tokenizer& tokenizer, ThreadPool& pool,
                               EncodedCorpora& corpora, data::SourceCounter& sources) {
  PlainText text(config);
  const bool weighted = !config.data.weights.empty();
  if (weighted) encode_files(config, tokenizer, pool, corpora, sources, text);
  for (const auto part : {PlainText::Part::train, PlainText::Part::valid}) {
    if (weighted && part == PlainText::Part::train) continue;
    StreamEncoder encoder(tokenizer, pool, [&](std::span<const std::int32_t> ids) {
      corpora.add(part == PlainText::Part::train ? kTrain : kValid, ids);
    });
    text.read(part, [&encoder](std::string_view piece) { encoder.add(piece); });
    encoder.finish();
  }
  return text.report();
}

class LanguageModel : public Task {
 public:
  using Task::Task;

  const TaskTraits& traits() const override { return language_model_traits(); }
  void check() const override {
    const TrainingConfig& training = config_.training;
    check_text_column(config_);
    // maximum number of tokens in a batch, because offsets are 32-bit integers
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (training.batch_size > kMost / training.context)
      throw usage_error("'training.batch_size' × 'training.context' is too large")
          .found(fmt::format("{} × {} tokens", training.batch_size, training.context))
          .expected(fmt::format("at most {} tokens", kMost));
    if (!config_.data.weights.empty() && config_.data.valid.empty() && is_plain_text(config_))
      throw usage_error("'data.weights' needs 'data.valid' if the files are running text")
          .remedy("Put the validation text into a file of its own, and name it in 'data.valid'");
  }
  SequenceLimit longest_sequence() const override {
    return {"training.context", config_.training.context, ""};
  }

  Tokenizers train_tokenizers(ThreadPool& pool) const override {
    std::shared_ptr<const text::Tokenizer> trained;
    if (is_plain_text(config_)) {
      const std::string whole = read_plain_text(config_).train;
      trained = train_tokenizer(config_, lines_of_text(whole), Marks::none, pool);
    } else {
      trained = train_on_records(config_, 0, 1, Marks::none, pool);
    }
    return {trained, trained};
  }
  Json model_config(const Tokenizers& tokenizers) const override {
    if (is_sequence_family(config_.model.family)) {
      Json json =
          sequence_model_json(config_, tokenizers.target->vocabulary_size(), special_ids(*tokenizers.target));
      json["architectures"] = {sequence_class("regard-" + config_.model.family) + "ForCausalLM"};
      return json;
    }
    if (const NewFamily* family = find_new_family(config_.model.family))
      return family->config({config_.model.transformer, tokenizers.target->vocabulary_size(),
                             special_ids(*tokenizers.target), config_.training.context});
    TransformerConfig model = transformer_config(config_, *tokenizers.target, "decoder");
    if (model.positions == "learned" && model.max_positions == 0)
      model.max_positions = config_.training.context;
    model.check();
    return model.to_json();
  }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override {
    generation_ = generation_of_folder(folder);
    return Task::load_model(folder);
  }
  void check_model(Network& model, const Tokenizers&) const override {
    if (model.kind() != ModelKind::decoder) throw unfit_model(config_, "a decoder");
  }

  void load(const Tokenizers& tokenizers, ThreadPool& pool) override {
    tokenizer_ = tokenizers.target;
    special_ = special_ids(tokenizers);
    data_ = load_streams(config_, tokenizers, pool);
    notes_.insert(notes_.end(), data_.notes.begin(), data_.notes.end());
    fingerprint_ = data_.fingerprint;
  }
  std::unique_ptr<BatchSource> batches() const override {
    return window_batches(data_.train.ids(),
                          {.batch_size = config_.training.batch_size,
                           .context = config_.training.context,
                           .random = config_.training.windows == "random",
                           .seed = static_cast<std::uint64_t>(config_.seed),
                           .sources = data::weighted_sources(data_.ends, config_.data.weights)});
  }
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return next_token_loss(model, tape, batch, options);
  }

  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override {
    set_loss(stream_loss(model, resources, data_.valid.ids(), config_.training.context).mean(), report);
    report.metrics.push_back({kPerplexity, std::exp(report.loss)});
    continue_text(model, resources, report);
  }

  Json generation_config() const override {
    return generation_.is_null() ? special_json(special_) : generation_;
  }
  std::string example_text(const Batch& batch) const override { return next_token_text(*tokenizer_, batch); }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return next_token_preview({*tokenizer_}, batch, sequence);
  }

 private:
  // Generate continuations of parts of the validation text, and add them to the report as samples.
  void continue_text(Network& model, const PassResources& resources, ValidationReport& report) const {
    constexpr std::int64_t kNewTokens = 100;
    constexpr double kTemperature = 0.8;
    const std::span<const std::int32_t> stream = data_.valid.ids();
    const auto length = std::min(
        stream.size(), static_cast<std::size_t>(std::max<std::int64_t>(config_.training.context / 4, 1)));
    const auto samples = static_cast<std::size_t>(config_.validation.samples);
    if (samples == 0) return;
    std::vector<std::vector<std::int32_t>> prompts;
    for (std::size_t i = 0; i < samples; ++i) {
      const auto begin = stream.begin() + static_cast<std::ptrdiff_t>((stream.size() - length) * i / samples);
      prompts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
    infer::SearchOptions search;
    search.sample = true;
    search.temperature = kTemperature;
    search.max_new = kNewTokens;
    search.seed = static_cast<std::uint64_t>(config_.seed);
    search.end_tokens = end_tokens_of(generation_config());
    model.prepare_for_inference(resources.pool);
    const auto results = infer::generate(model, resources.pool, prompts, search, resources.stop);
    if (results.size() != prompts.size()) throw Stopped{};
    for (std::size_t i = 0; i < samples; ++i)
      report.samples.push_back(
          {tokenizer_->decode(prompts[i]), "", tokenizer_->decode(results[i].at(0).tokens)});
  }

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  SpecialIds special_;
  StreamData data_;
  Json generation_;  // generation_config.json of model.from; null for a new model
};

}  // namespace

Json generation_of_folder(const formats::ModelFolder& folder) {
  if (folder.generation_config) return *folder.generation_config;
  Json ids = Json::object();
  for (const char* key : {"pad_token_id", "bos_token_id", "eos_token_id"})
    if (const auto found = folder.config.find(key); found != folder.config.end() && !found->is_null())
      ids[key] = *found;
  return ids.empty() ? Json(nullptr) : ids;
}

std::vector<std::int32_t> end_tokens_of(const Json& generation) {
  const Json end = generation.is_object() ? generation.value("eos_token_id", Json()) : Json();
  std::vector<std::int32_t> ids;
  for (const Json& id : end.is_array() ? end : Json::array({end}))
    if (id.is_number_integer()) ids.push_back(id.get<std::int32_t>());
  return ids;
}

StreamData load_streams(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool) {
  EncodedCorpora corpora(config, tokenizers, kStreamStores);
  if (!corpora.found()) {
    const text::Tokenizer& tokenizer = *tokenizers.target;
    data::SplitDuplicates duplicates;
    data::SourceCounter sources;
    const data::CorpusReport report = is_plain_text(config)
                                          ? encode_text(config, tokenizer, pool, corpora, sources)
                                          : encode_records(config, tokenizers, corpora, sources, duplicates);
    corpora.finish({{"read", report.text()}, {"duplicates", duplicates.text()}, {"ends", sources.ends()}});
  }
  StreamData data{std::move(corpora.store(kTrain)), std::move(corpora.store(kValid)), {}, {}, 0};
  if (!config.data.weights.empty()) data.ends = corpora.about().at("ends").get<std::vector<std::size_t>>();
  data.notes.push_back(
      fmt::format("training: {}; validation: {}; read {}", counted(data.train.tokens(), "token"),
                  counted(data.valid.tokens(), "token"), corpora.about().at("read").get<std::string>()));
  if (const auto& found = corpora.about().at("duplicates").get_ref<const std::string&>(); !found.empty())
    data.notes.push_back(found);
  data.notes.insert(data.notes.end(), corpora.notes().begin(), corpora.notes().end());
  data.fingerprint = xxh3(std::as_bytes(data.train.ids())) * 3 + xxh3(std::as_bytes(data.valid.ids()));
  if (data.train.tokens() == 0) throw nothing_left(config, "train");
  if (data.valid.tokens() < 2) throw nothing_left(config, "validate");
  return data;
}

const TaskTraits& language_model_traits() {
  static const TaskTraits traits{
      .name = "language-model",
      .meaning = "predict the next token of a text",
      .keys = {"model.layers", "training.batch_size", "training.context", "training.windows", "data.cache",
               "data.sharded", "data.weights", "data.conversations", "data.chat_template"},
      .metrics = {kLoss},
      .corpus = {.plain = data::CorpusFormat::text, .aligned = false},
      .families = {"transformer", "gpt2", "llama", "mistral", "qwen2", "rnn", "lstm", "gru"},
      .example = {"data.train=[\"train.txt\"]", "data.valid=[\"valid.txt\"]", "tokenizer.type=byte-bpe",
                  "model.layers=4", "model.positions=rotary", "training.batch_size=12",
                  "training.context=128"},
      .verb = "generate",
      .make = [](const RunConfig& config) {
        return config.data.conversations ? make_conversation_model(config) : new_task<LanguageModel>(config);
      }};
  return traits;
}

}  // namespace regard::train

#include "train/tasks/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "data/duplicates.h"
#include "infer/folder_options.h"
#include "infer/loaded_model.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "train/batch_preview.h"
#include "train/corpora_tokens.h"
#include "train/encode.h"
#include "train/new_families.h"

namespace regard::train {
namespace {

constexpr text::EncodeOptions kWithEnd{.add_special = true, .match_special = false};
constexpr MetricKind kBleu{"bleu", "BLEU", 2, true};
constexpr MetricKind kChrf{"chrf", "chrF", 2, true};

// Indices of the token stores in the encoded corpora.
enum PairStores : std::size_t { kTrainSource, kTrainTarget, kValidSource, kValidTarget, kPairStores };

// Tokenizes pairs of texts into two token stores. Pairs with a text of more than max_length tokens, or with a
// text without tokens, are counted and dropped.
class PairTokenizer {
 public:
  // Destination of the pairs: the sources go to the store `source_store`, the targets to the next store. With
  // `keep_text`, the texts are stored as well.
  struct Target {
    EncodedCorpora& corpora;
    std::size_t source_store = kTrainSource;
    bool keep_text = false;
  };
  PairTokenizer(const Tokenizers& tokenizers, std::int64_t max_length, ThreadPool& pool, const Target& target)
      : tokenizers_(tokenizers),
        max_length_(static_cast<std::size_t>(max_length)),
        pool_(pool),
        target_(target),
        source_end_(special_ids(*tokenizers.source).end),
        target_end_(special_ids(*tokenizers.target).end) {}

  void add(const std::string& source, const std::string& target) {
    sources_.push_back(source);
    targets_.push_back(target);
    if (sources_.size() == kTextsAtOnce) flush();
  }
  void flush() {
    auto source = encode_all(*tokenizers_.source, sources_, kWithEnd, pool_);
    auto target = encode_all(*tokenizers_.target, targets_, kWithEnd, pool_);
    for (std::size_t i = 0; i < source.size(); ++i) {
      end_with(source[i], source_end_);
      end_with(target[i], target_end_);
      // A text may have no tokens if the vocabulary has neither an unknown token nor an end token.
      if (source[i].empty() || target[i].empty()) {
        ++without_tokens_;
        continue;
      }
      if (std::max(source[i].size(), target[i].size()) > max_length_) {
        ++too_long_;
        continue;
      }
      ++pairs_;
      target_.corpora.add(target_.source_store, source[i]);
      target_.corpora.add(target_.source_store + 1, target[i]);
      if (target_.keep_text) target_.corpora.add_text({sources_[i], targets_[i]});
    }
    sources_.clear();
    targets_.clear();
  }
  // The following functions are valid after flush().
  std::size_t pairs() const { return pairs_; }
  std::int64_t too_long() const { return too_long_; }
  std::int64_t without_tokens() const { return without_tokens_; }

 private:
  const Tokenizers& tokenizers_;
  std::size_t max_length_;
  ThreadPool& pool_;
  Target target_;
  std::int32_t source_end_, target_end_;
  std::vector<std::string> sources_, targets_;
  std::size_t pairs_ = 0;
  std::int64_t too_long_ = 0, without_tokens_ = 0;
};

std::string pair_note(const char* what, EncodedCorpora& corpora, std::size_t source_store,
                      std::int64_t max_length) {
  const data::TokenStore& source = corpora.store(source_store);
  const Json& about = corpora.about().at(what);
  std::string note = fmt::format(
      "{}: {}, {} source and {} target tokens; read {}", what, counted(source.size(), "pair"),
      source.tokens(), corpora.store(source_store + 1).tokens(), about.at("read").get<std::string>());
  const auto too_long = about.at("too_long").get<std::int64_t>();
  // "empty" is missing in the caches of earlier versions.
  const auto empty = about.value("empty", std::int64_t{0});
  if (empty > 0) note += fmt::format("; {} without tokens skipped", empty);
  if (too_long > 0)
    note += fmt::format("; {} longer than {} skipped", too_long, counted(max_length, "token"));
  return note;
}

// Read and encode the pairs of a run.
void encode_pairs(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool,
                  EncodedCorpora& corpora) {
  const std::int64_t max_length = config.data.max_length;
  PairTokenizer train(tokenizers, max_length, pool, {corpora, kTrainSource}),
      valid(tokenizers, max_length, pool, {corpora, kValidSource, true});
  data::SplitDuplicates duplicates;
  data::CorpusReport read_valid;
  if (!config.data.valid.empty()) {
    RecordReader records(config, config.data.valid);
    while (records.next()) {
      valid.add(records.texts()[0], records.texts()[1]);
      duplicates.add_validation(records.texts(), records.place());
    }
    read_valid = records.report();
  }
  RecordReader records(config, config.data.train);
  std::vector<std::size_t> ends;  // number of training pairs up to the end of each corpus
  while (records.next()) {
    while (ends.size() < records.corpus()) {
      train.flush();
      ends.push_back(train.pairs());
    }
    (records.held_out() ? valid : train).add(records.texts()[0], records.texts()[1]);
    duplicates.check_training(records.texts(), records.place());
  }
  train.flush();
  valid.flush();
  ends.resize(records.corpora(), train.pairs());
  if (config.data.valid.empty()) read_valid = records.report();
  corpora.finish(
      {{"training",
        {{"read", records.report().text()},
         {"too_long", train.too_long()},
         {"empty", train.without_tokens()}}},
       {"validation",
        {{"read", read_valid.text()}, {"too_long", valid.too_long()}, {"empty", valid.without_tokens()}}},
       {"ends", ends},
       {"duplicates", duplicates.text()}});
}

class Translation : public Task {
 public:
  using Task::Task;

  const TaskTraits& traits() const override { return translation_traits(); }
  void check() const override {
    check_files();
    if (config_.model.from.empty() && !config_.tokenizer.joint &&
        find_new_family(config_.model.family) != nullptr)
      throw usage_error("'model.family' \"" + config_.model.family +
                        "\" requires one vocabulary for source and target")
          .remedy("Set 'tokenizer.joint' to true");
    if (config_.model.from.empty() && !config_.tokenizer.joint &&
        config_.model.transformer.tie_embeddings == "all")
      throw usage_error("'model.tie_embeddings' cannot be \"all\" with two vocabularies")
          .remedy("Set 'model.tie_embeddings' to \"decoder\", or 'tokenizer.joint' to true");
  }
  SequenceLimit longest_sequence() const override {
    return {"data.max_length", config_.data.max_length, ": longer pairs are skipped and counted"};
  }

  // Read the start token of the decoder from the folder of model.from. It may differ from the tokenizer's
  // begin token, as in BART.
  void read() override {
    if (config_.model.from.empty()) return;
    const std::filesystem::path path =
        checkpoint_.empty() ? std::filesystem::path(config_.model.from) : checkpoint_;
    folder_start_ = infer::search_options_of(formats::ModelFolder::open(path)).start_token;
  }
  Tokenizers train_tokenizers(ThreadPool& pool) const override {
    if (config_.tokenizer.joint) {
      const auto trained = train_on_records(config_, 0, 2, Marks::sentence, pool);
      return {trained, trained};
    }
    return {train_on_records(config_, 0, 1, Marks::sentence, pool),
            train_on_records(config_, 1, 2, Marks::sentence, pool)};
  }
  Json model_config(const Tokenizers& tokenizers) const override {
    if (is_sequence_family(config_.model.family)) return search_config(tokenizers);
    if (const NewFamily* family = find_new_family(config_.model.family))
      return family->config({config_.model.transformer, tokenizers.target->vocabulary_size(),
                             special_ids(*tokenizers.target), config_.data.max_length, &config_.images});
    TransformerConfig model = transformer_config(config_, *tokenizers.target, "encoder-decoder");
    if (!tokenizers.joint()) model.source_vocabulary = tokenizers.source->vocabulary_size();
    if (model.positions == "learned" && model.max_positions == 0)
      model.max_positions = config_.data.max_length;
    model.decoder_start_token_id = special_ids(*tokenizers.target).decoder_start;
    model.check();
    return model.to_json();
  }
  void check_model(Network& model, const Tokenizers& tokenizers) const override {
    if (model.kind() != ModelKind::encoder_decoder) throw unfit_model(config_, "an encoder-decoder");
    if (model.source_vocabulary() < tokenizers.source->vocabulary_size())
      throw usage_error("the source tokenizer has more tokens than the model in " + config_.model.from)
          .found(std::to_string(tokenizers.source->vocabulary_size()))
          .expected("at most " + std::to_string(model.source_vocabulary()))
          .remedy("Use the tokenizers that the model was trained with");
  }

  void load(const Tokenizers& tokenizers, ThreadPool& pool) override {
    tokenizers_ = tokenizers;
    special_ = special_ids(*tokenizers.target);
    if (folder_start_ >= 0) special_.decoder_start = folder_start_;
    data_ = load_pairs(config_, tokenizers, pool);
    notes_.insert(notes_.end(), data_.notes.begin(), data_.notes.end());
    fingerprint_ = data_.fingerprint;
    if (special_.decoder_start < 0)
      throw usage_error("the tokenizer has no start token for translations")
          .expected("one of the tokens <s>, <pad> and </s>");
  }
  std::unique_ptr<BatchSource> batches() const override {
    data::EpochPlan::Options options{.batch_tokens = config_.training.batch_tokens,
                                     .by_length = config_.training.bucketing == "length",
                                     .seed = static_cast<std::uint64_t>(config_.seed)};
    options.sources = data::weighted_sources(data_.ends, config_.data.weights);
    return pair_batches(data_.train, options, special_.decoder_start);
  }
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return next_token_loss(model, tape, batch, options);
  }

  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override {
    set_loss(pair_loss(model, resources, data_.valid, special_.decoder_start).mean(), report);
    report.metrics.push_back({kPerplexity, std::exp(report.loss)});
    translate(model, resources, report);
  }

  Json generation_config() const override {
    Json json = special_json(special_);
    if (special_.decoder_start >= 0) json["decoder_start_token_id"] = special_.decoder_start;
    json["num_beams"] = config_.validation.beam;
    json["length_penalty"] = config_.validation.length_penalty;
    json[infer::kNormalizeWhitespace] = config_.data.normalize_whitespace;
    return json;
  }
  std::string example_text(const Batch& batch) const override {
    const auto source = static_cast<std::size_t>(batch.source.view().offsets[1]);
    return fmt::format("  source: {}\n",
                       tokens_text(*tokenizers_.source, std::span(batch.source_ids).first(source))) +
           next_token_text(*tokenizers_.target, batch);
  }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return next_token_preview({*tokenizers_.target, tokenizers_.source.get()}, batch, sequence);
  }

 private:
  // Return the config.json of the family rnn-search.
  Json search_config(const Tokenizers& tokenizers) const {
    const SpecialIds special = special_ids(*tokenizers.target);
    Json json = sequence_model_json(config_, tokenizers.target->vocabulary_size(), special);
    json["architectures"] = {"RnnSearchForConditionalGeneration"};
    json["shared_vocabulary"] = tokenizers.joint() && config_.model.transformer.tie_embeddings == "all";
    json["source_vocabulary"] = tokenizers.source->vocabulary_size();
    json["decoder_start_token_id"] = special.decoder_start;
    return json;
  }
  void check_files() const {
    for (const auto* files : {&config_.data.train, &config_.data.valid}) {
      if (files->empty()) continue;
      const char* name = files == &config_.data.train ? "train" : "valid";
      const bool tabular = data::has_columns(corpus_format(config_, files->front()));
      if (!tabular && files->size() % 2 != 0)
        throw usage_error(fmt::format("wrong number of files in 'data.{}' for translation", name))
            .found(counted(files->size(), "file"))
            .expected("pairs of line-aligned files (source, target), or TSV, CSV or JSONL files");
      const std::size_t columns = corpus_columns(config_, files->front()).size();
      if (tabular && columns != 2)
        throw usage_error(fmt::format("'{}' must name two columns of 'data.{}': the source and the target",
                                      corpus_columns_key(config_, files->front()), name))
            .found(counted(columns, "column"))
            .expected("two, such as columns = [1, 2] for TSV or [\"en\", \"de\"] for JSONL");
    }
  }

  // Translate validation pairs for metrics and samples.
  void translate(Network& model, const PassResources& resources, ValidationReport& report) const {
    const ValidationConfig& wanted = config_.validation;
    const bool scored = config_.wants("bleu") || config_.wants("chrf");
    const auto samples = static_cast<std::size_t>(wanted.samples);
    const std::size_t most = static_cast<std::size_t>(wanted.max_sentences);
    const std::size_t all = data_.valid.size();
    const std::size_t scores = !scored ? 0 : most == 0 ? all : std::min(most, all);
    const std::size_t count = std::min(std::max(scores, samples), all);
    if (count == 0) return;
    std::vector<std::string> outputs =
        translate_sources(model, resources.pool, data_.valid.source, *tokenizers_.target,
                          {.beam = wanted.beam,
                           .length_penalty = wanted.length_penalty,
                           .count = count,
                           .stop = resources.stop,
                           .ranks = resources.ranks});
    for (std::size_t i = 0; i < std::min(samples, outputs.size()); ++i)
      report.samples.push_back({data_.valid_sources[i], data_.valid_targets[i], outputs[i]});
    outputs.resize(scores);  // keep the translations that are scored, without those that are only samples
    if (scored) score(outputs, report);
  }

  void score(const std::vector<std::string>& outputs, ValidationReport& report) const {
    const std::vector<std::vector<std::string>> references{
        {data_.valid_targets.begin(),
         data_.valid_targets.begin() + static_cast<std::ptrdiff_t>(outputs.size())}};
    if (config_.wants("bleu")) {
      metrics::BleuOptions options;
      options.lowercase = config_.validation.lower_case;
      report.metrics.push_back({kBleu, metrics::corpus_bleu(outputs, references, options).score});
      report.details.emplace_back("bleu_signature", metrics::bleu_signature(options, 1));
    }
    if (config_.wants("chrf")) {
      metrics::ChrfOptions options;
      options.lowercase = config_.validation.lower_case;
      report.metrics.push_back({kChrf, metrics::corpus_chrf(outputs, references, options)});
    }
  }

  Tokenizers tokenizers_;
  std::int32_t folder_start_ = -1;  // start token of the decoder in model.from; −1 if there is none
  SpecialIds special_;
  PairData data_;
};

}  // namespace

PairData load_pairs(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool) {
  EncodedCorpora corpora(config, tokenizers, kPairStores);
  if (!corpora.found()) encode_pairs(config, tokenizers, pool, corpora);
  PairData data;
  data.notes.push_back(pair_note("training", corpora, kTrainSource, config.data.max_length));
  data.notes.push_back(pair_note("validation", corpora, kValidSource, config.data.max_length));
  if (const auto& found = corpora.about().at("duplicates").get_ref<const std::string&>(); !found.empty())
    data.notes.push_back(found);
  data.notes.insert(data.notes.end(), corpora.notes().begin(), corpora.notes().end());
  data.ends = corpora.about().at("ends").get<std::vector<std::size_t>>();
  for (const std::vector<std::string>& pair : corpora.texts()) {
    data.valid_sources.push_back(pair.at(0));
    data.valid_targets.push_back(pair.at(1));
  }
  for (std::size_t i = 0; i < kPairStores; ++i)
    data.fingerprint = data.fingerprint * 3 + corpora.store(i).fingerprint();
  data.train = {std::move(corpora.store(kTrainSource)), std::move(corpora.store(kTrainTarget))};
  data.valid = {std::move(corpora.store(kValidSource)), std::move(corpora.store(kValidTarget))};
  if (data.train.size() == 0) throw nothing_left(config, "train");
  if (data.valid.size() == 0) throw nothing_left(config, "validate");
  return data;
}

const TaskTraits& translation_traits() {
  static const TaskTraits traits{
      .name = "translation",
      .meaning = "translate a text",
      .keys = {"data.max_length", "tokenizer.joint", "model.encoder_layers", "model.decoder_layers",
               "training.batch_tokens", "training.bucketing", "data.weights", "data.cache", "data.sharded",
               "validation.beam", "validation.length_penalty", "training.r_drop"},
      .metrics = {kBleu, kChrf, kLoss},
      .corpus = {.plain = data::CorpusFormat::lines,
                 .aligned = true,
                 .normalizes_whitespace = true,
                 .limits_length = true,
                 .files_of_lines = 2},
      .families = {"transformer", "t5", "rnn-search"},
      .example = {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]", "data.columns=[1, 2]",
                  "tokenizer.type=bpe", "model.encoder_layers=3", "model.decoder_layers=3",
                  "training.batch_tokens=2048", "training.label_smoothing=0.1", "training.betas=[0.9, 0.98]",
                  "validation.metrics=[\"loss\", \"bleu\", \"chrf\"]"},
      .verb = "translate",
      .make = new_task<Translation>};
  return traits;
}

}  // namespace regard::train

#include "train/dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "data/corpus.h"
#include "train/corpora.h"

namespace regard::train {
namespace {

constexpr std::size_t kTextsAtOnce = 4096;  // texts tokenized per batch

constexpr text::EncodeOptions kWithEnd{.add_special = true, .match_special = false};
constexpr text::EncodeOptions kPlain{.add_special = false, .match_special = false};

// Encode many texts in parallel.
std::vector<std::vector<std::int32_t>> encode_all(const text::Tokenizer& tokenizer,
                                                  const std::vector<std::string>& texts,
                                                  const text::EncodeOptions& options, ThreadPool& pool) {
  std::vector<std::vector<std::int32_t>> ids(texts.size());
  pool.parallel_for(static_cast<std::int64_t>(texts.size()), [&](std::int64_t i, int) {
    const auto index = static_cast<std::size_t>(i);
    ids[index] = tokenizer.encode_ids(texts[index], options);
  });
  return ids;
}

void end_with(std::vector<std::int32_t>& ids, std::int32_t end) {
  if (end >= 0 && (ids.empty() || ids.back() != end)) ids.push_back(end);
}

// Tokenizes pairs of texts. Pairs longer than max_length tokens are counted and dropped.
class PairTokenizer {
 public:
  PairTokenizer(const Tokenizers& tokenizers, std::int64_t max_length, ThreadPool& pool)
      : tokenizers_(tokenizers),
        max_length_(static_cast<std::size_t>(max_length)),
        pool_(pool),
        source_end_(special_ids(*tokenizers.source).end),
        target_end_(special_ids(*tokenizers.target).end) {}

  // sources and targets: the texts of the pairs, if keep_text.
  struct Result {
    data::PairStore pairs;
    std::vector<std::string> sources, targets;
    std::int64_t too_long = 0;
  };

  void add(const std::string& source, const std::string& target) {
    sources_.push_back(source);
    targets_.push_back(target);
    if (sources_.size() == kTextsAtOnce) flush();
  }
  Result finish() {
    flush();
    return std::move(result_);
  }
  bool keep_text = false;

 private:
  void flush() {
    auto source = encode_all(*tokenizers_.source, sources_, kWithEnd, pool_);
    auto target = encode_all(*tokenizers_.target, targets_, kWithEnd, pool_);
    for (std::size_t i = 0; i < source.size(); ++i) {
      end_with(source[i], source_end_);
      end_with(target[i], target_end_);
      if (std::max(source[i].size(), target[i].size()) > max_length_) {
        ++result_.too_long;
        continue;
      }
      result_.pairs.source.add(source[i]);
      result_.pairs.target.add(target[i]);
      if (!keep_text) continue;
      result_.sources.push_back(sources_[i]);
      result_.targets.push_back(targets_[i]);
    }
    sources_.clear();
    targets_.clear();
  }

  const Tokenizers& tokenizers_;
  std::size_t max_length_;
  ThreadPool& pool_;
  std::int32_t source_end_, target_end_;
  std::vector<std::string> sources_, targets_;
  Result result_;
};

std::string pair_note(const char* what, const data::CorpusReport& report, const PairTokenizer::Result& result,
                      std::int64_t max_length) {
  std::string note =
      fmt::format("{}: {} pairs, {} source and {} target tokens; read {}", what, result.pairs.size(),
                  result.pairs.source.tokens(), result.pairs.target.tokens(), report.text());
  if (result.too_long > 0)
    note += fmt::format("; {} longer than {} tokens left out", result.too_long, max_length);
  return note;
}

void load_pairs(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool, Dataset& dataset) {
  const std::int64_t max_length = config.data.max_length;
  PairTokenizer train(tokenizers, max_length, pool), valid(tokenizers, max_length, pool);
  valid.keep_text = true;
  RecordReader records(config, config.data.train);
  while (records.next()) (records.held_out() ? valid : train).add(records.texts()[0], records.texts()[1]);
  data::CorpusReport read_valid = records.report();
  if (!config.data.valid.empty()) {
    RecordReader more(config, config.data.valid);
    while (more.next()) valid.add(more.texts()[0], more.texts()[1]);
    read_valid = more.report();
  }
  PairTokenizer::Result kept = train.finish();
  dataset.notes.push_back(pair_note("training", records.report(), kept, max_length));
  dataset.train = std::move(kept.pairs);
  kept = valid.finish();
  dataset.notes.push_back(pair_note("validation", read_valid, kept, max_length));
  dataset.valid = std::move(kept.pairs);
  dataset.valid_sources = std::move(kept.sources);
  dataset.valid_targets = std::move(kept.targets);
  for (const data::TokenStore* store :
       {&dataset.train.source, &dataset.train.target, &dataset.valid.source, &dataset.valid.target})
    dataset.fingerprint = dataset.fingerprint * 3 + store->fingerprint();
}

void load_streams(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool, Dataset& dataset) {
  const text::Tokenizer& tokenizer = *tokenizers.target;
  data::CorpusReport report;
  if (is_plain_text(config)) {
    const TextSplit text = read_plain_text(config);
    report = text.report;
    dataset.train_stream = encode_stream(tokenizer, text.train, pool);
    dataset.valid_stream = encode_stream(tokenizer, text.valid, pool);
  } else {
    const std::int32_t end = special_ids(tokenizer).end;
    const auto add = [&](std::vector<std::int32_t>& stream, const std::string& text) {
      std::vector<std::int32_t> ids = tokenizer.encode_ids(text, kPlain);
      end_with(ids, end);
      stream.insert(stream.end(), ids.begin(), ids.end());
    };
    RecordReader records(config, config.data.train);
    while (records.next())
      add(records.held_out() ? dataset.valid_stream : dataset.train_stream, records.texts()[0]);
    report = records.report();
    if (!config.data.valid.empty()) {
      RecordReader more(config, config.data.valid);
      while (more.next()) add(dataset.valid_stream, more.texts()[0]);
      report.add(more.report());
    }
  }
  dataset.notes.push_back(fmt::format("training: {} tokens; validation: {} tokens; read {}",
                                      dataset.train_stream.size(), dataset.valid_stream.size(),
                                      report.text()));
  dataset.fingerprint = xxh3(std::as_bytes(std::span(dataset.train_stream))) * 3 +
                        xxh3(std::as_bytes(std::span(dataset.valid_stream)));
}

}  // namespace

std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool) {
  constexpr std::size_t kPart = 1 << 16;  // bytes
  const auto parts = tokenizer.parts_of(whole, kPart, kPlain.match_special);
  const text::IdRows rows = tokenizer.encode_rows(parts, kPlain, &pool);
  return {rows.ids().begin(), rows.ids().end()};
}

SpecialIds special_ids(const text::Tokenizer& tokenizer) {
  const auto first_of = [&tokenizer](std::initializer_list<const char*> names) -> std::int32_t {
    for (const char* name : names)
      if (const auto id = tokenizer.id_of(name)) return *id;
    return -1;
  };
  SpecialIds ids;
  ids.pad = first_of({"<pad>", "[PAD]"});
  ids.begin = first_of({"<s>", "<bos>", "[CLS]", "<|startoftext|>"});
  ids.end = first_of({"</s>", "<eos>", "[SEP]", "<|endoftext|>"});
  ids.decoder_start = ids.begin >= 0 ? ids.begin : ids.pad >= 0 ? ids.pad : ids.end;
  return ids;
}

Dataset load_dataset(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool) {
  Dataset dataset;
  if (config.translation()) {
    load_pairs(config, tokenizers, pool, dataset);
  } else {
    load_streams(config, tokenizers, pool, dataset);
  }
  const auto nothing = [&config](const char* what) {
    return file_error(config.data.train[0], fmt::format("nothing is left to {} on", what))
        .remedy("See what was left out: data.max_length, data.empty_lines, data.valid_fraction");
  };
  if (dataset.train.size() == 0 && dataset.train_stream.empty()) throw nothing("train");
  if (dataset.valid.size() == 0 && dataset.valid_stream.size() < 2) throw nothing("validate");
  return dataset;
}

}  // namespace regard::train

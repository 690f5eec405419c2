// Training, loading and saving the tokenizers of a run.
#include <fmt/format.h>

#include "formats/model_folder.h"
#include "text/tokenizer_pair.h"
#include "text/train_tokenizer.h"
#include "train/corpora.h"
#include "train/dataset.h"

namespace regard::train {
namespace {

std::shared_ptr<const text::Tokenizer> train_one(const RunConfig& config, const text::LineSource& lines,
                                                 ThreadPool& pool) {
  const TokenizerConfig& wanted = config.tokenizer;
  text::TokenizerTraining how;
  how.type = wanted.type;
  how.vocabulary_size = static_cast<std::size_t>(wanted.vocab_size);
  if (wanted.min_frequency > 0) how.min_frequency = wanted.min_frequency;
  how.alphabet.max_characters = static_cast<std::size_t>(wanted.limit_alphabet);
  how.alphabet.coverage = wanted.character_coverage;
  how.max_piece_length = static_cast<std::size_t>(wanted.max_piece_length);
  how.prefix_space = how.end_token = config.translation();
  how.lower_case = wanted.lower_case;
  how.words = wanted.words == "auto" ? "" : wanted.words;
  return text::train_tokenizer(lines, how, &pool);
}

// The lines of a text, including line ends, which are tokens too.
text::LineSource lines_of_text(const std::string& whole) {
  return [&whole, begin = std::size_t{0}](std::string& line) mutable {
    if (begin == whole.size()) return false;
    const std::size_t end = std::min(whole.find('\n', begin), whole.size() - 1) + 1;
    line.assign(whole, begin, end - begin);
    begin = end;
    return true;
  };
}

// Texts [first, last) of each training record, in order. Skips records held out for validation.
text::LineSource lines_of_records(RecordReader& records, std::size_t first, std::size_t last) {
  return [&records, first, last, at = last](std::string& line) mutable {
    if (at >= last) {
      do {
        if (!records.next()) return false;
      } while (records.held_out());
      at = first;
    }
    line = records.texts()[at++];
    return true;
  };
}

}  // namespace

Tokenizers obtain_tokenizers(const RunConfig& config, ThreadPool& pool) {
  if (!config.tokenizer.file.empty()) {
    const auto loaded = text::Tokenizer::load(config.tokenizer.file);
    return {loaded, loaded};
  }
  if (!config.model.from.empty())
    return Tokenizers::load(formats::ModelFolder::open(config.model.from).tokenizer);
  if (!config.translation() && is_plain_text(config)) {
    const std::string whole = read_plain_text(config).train;
    const auto trained = train_one(config, lines_of_text(whole), pool);
    return {trained, trained};
  }
  const auto train_on = [&](std::size_t first, std::size_t last) {
    RecordReader records(config, config.data.train);
    return train_one(config, lines_of_records(records, first, last), pool);
  };
  if (!config.translation() || config.tokenizer.joint) {
    const auto trained = train_on(0, config.translation() ? 2 : 1);
    return {trained, trained};
  }
  return {train_on(0, 1), train_on(1, 2)};
}

Tokenizers Tokenizers::load(const std::filesystem::path& folder) {
  text::TokenizerPair pair = text::load_tokenizer_pair(folder);
  return {std::move(pair.source), std::move(pair.target)};
}

std::vector<std::pair<std::string, std::string>> Tokenizers::files() const {
  std::vector<std::pair<std::string, std::string>> files{
      {text::kTokenizerFile, target->to_json().dump() + "\n"}};
  if (!joint()) files.emplace_back(text::kSourceTokenizerFile, source->to_json().dump() + "\n");
  return files;
}

}  // namespace regard::train

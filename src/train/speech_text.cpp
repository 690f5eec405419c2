#include "train/speech_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "tasks/ctc_labels.h"
#include "tasks/ctc_search.h"
#include "text/train_tokenizer.h"

namespace regard::train {
namespace {

constexpr const char* kBlank = "<pad>";
constexpr const char* kUnknown = "<unk>";
constexpr const char* kSpace = "|";
constexpr double kTimeStep = 0.02;  // seconds between two timestamp tokens

std::string lower(const std::string& text) {
  return utf8::encode(utf8::lower(utf8::code_points(text)));
}

// Return an entry of "added_tokens" of a tokenizer.json.
Json added_token(std::int64_t id, const std::string& text, bool special) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

std::int32_t token_id(const text::Tokenizer& tokenizer, const char* token, const std::string& file) {
  if (const auto id = tokenizer.id_of(token)) return *id;
  throw file_error(file, fmt::format("the tokenizer has no token {}, which Whisper requires", token))
      .remedy("Use the tokenizer of a Whisper model");
}

}  // namespace

CtcCharacters::CtcCharacters(std::span<const std::string> texts)
    : tokens_{kBlank, "<s>", "</s>", kUnknown, kSpace}, space_(4), unknown_(3) {
  std::set<char32_t> characters;
  for (const std::string& text : texts)
    for (const char32_t point : utf8::code_points(text))
      if (!utf8::is_space(point) && point != U'|') characters.insert(point);
  for (const char32_t point : characters) tokens_.push_back(utf8::encode(std::u32string_view(&point, 1)));
  index_tokens();
  Json vocabulary = Json::object();
  for (std::size_t i = 0; i < tokens_.size(); ++i) vocabulary[tokens_[i]] = i;
  const Json settings{{"tokenizer_class", "Wav2Vec2CTCTokenizer"},
                      {"pad_token", kBlank},
                      {"bos_token", "<s>"},
                      {"eos_token", "</s>"},
                      {"unk_token", kUnknown},
                      {"word_delimiter_token", kSpace},
                      {"do_lower_case", false}};
  files_ = {{"vocab.json", vocabulary.dump(1) + "\n"}, {"tokenizer_config.json", settings.dump(1) + "\n"}};
}

CtcCharacters::CtcCharacters(const formats::ModelFolder& folder, const std::string& language) {
  for (const char* name : {"vocab.json", "tokenizer_config.json"})
    if (const auto path = folder.path / name; std::filesystem::exists(path))
      files_.emplace_back(name, read_file(path));
  blank_ = require_in<std::int32_t>(folder.config, "pad_token_id", folder.config_file, 0, 1 << 20);
  tasks::CtcLabels labels = tasks::read_ctc_labels(
      folder.path, require_in<std::int64_t>(folder.config, "vocab_size", folder.config_file, 1, 1 << 20),
      language);
  tokens_ = std::move(labels.tokens), specials_ = std::move(labels.specials);
  space_ = labels.space, lower_ = labels.lower;
  const auto unknown = std::find(tokens_.begin(), tokens_.end(), labels.unknown);
  unknown_ = unknown == tokens_.end() ? -1 : static_cast<std::int32_t>(unknown - tokens_.begin());
  index_tokens();
}

// If several tokens have the same text in lower case, ids_ contains the last one.
void CtcCharacters::index_tokens() {
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    ids_[lower_ ? lower(tokens_[i]) : tokens_[i]] = static_cast<std::int32_t>(i);
}

SpecialIds CtcCharacters::special() const {
  return {.pad = blank_, .begin = -1, .end = -1, .decoder_start = -1};
}

std::vector<std::int32_t> CtcCharacters::encode(const std::string& text) const {
  std::vector<std::int32_t> labels;
  bool space = false;  // true if a space must be inserted before the next character
  for (const char32_t point : utf8::code_points(lower_ ? lower(text) : text)) {
    if (utf8::is_space(point) || point == U'|') {
      space = !labels.empty();
      continue;
    }
    const auto found = ids_.find(utf8::encode(std::u32string_view(&point, 1)));
    const std::int32_t label = found == ids_.end() ? unknown_ : found->second;
    // skip the blank, because in some models it is a printable character such as "-"
    if (label < 0 || label == blank_) continue;
    if (space && space_ >= 0) labels.push_back(space_);
    space = false;
    labels.push_back(label);
  }
  return labels;
}

std::string CtcCharacters::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string& token = tokens_[static_cast<std::size_t>(id)];
    text += id == space_ ? " " : specials_.contains(token) ? "" : lower_ ? lower(token) : token;
  }
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::string CtcCharacters::best_path(const Tensor& logits) const {
  std::vector<std::int32_t> ids;
  for (const tasks::CtcLabel& label : tasks::ctc_best_path(logits, blank_)) ids.push_back(label.label);
  return decode(ids);
}

WhisperText::WhisperText(std::span<const std::string> texts, std::int64_t vocabulary, std::int64_t seconds,
                         ThreadPool& pool) {
  text::TokenizerTraining how;
  how.type = "byte-bpe";
  how.vocabulary_size = static_cast<std::size_t>(std::max<std::int64_t>(vocabulary, 256));
  how.words = "gpt2";
  how.special_tokens = {};
  std::size_t at = 0;
  const auto trained = text::train_tokenizer(
      [&](std::string& line) {
        if (at == texts.size()) return false;
        line = " " + texts[at++];
        return true;
      },
      how, &pool);
  Json json = trained->to_json();
  std::int64_t id = trained->vocabulary_size();
  const auto add = [&](const std::string& text, bool special) {
    json["added_tokens"].push_back(added_token(id++, text, special));
  };
  for (const char* token :
       {"<|endoftext|>", "<|startoftranscript|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"})
    add(token, true);
  times_ = std::llround(static_cast<double>(seconds) / kTimeStep) + 1;
  for (std::int64_t i = 0; i < times_; ++i)
    add(fmt::format("<|{:.2f}|>", static_cast<double>(i) * kTimeStep), false);
  tokenizer_ = text::Tokenizer::from_json(json, "the trained tokenizer");
  end_ = *tokenizer_->id_of("<|endoftext|>"), start_ = *tokenizer_->id_of("<|startoftranscript|>");
  no_times_ = *tokenizer_->id_of("<|notimestamps|>");
  beginning_ = {start_, no_times_};
  generation_ = {{"pad_token_id", end_},
                 {"bos_token_id", end_},
                 {"eos_token_id", end_},
                 {"decoder_start_token_id", start_},
                 {"no_timestamps_token_id", no_times_},
                 {"prev_sot_token_id", *tokenizer_->id_of("<|startofprev|>")},
                 {"is_multilingual", false},
                 {"max_initial_timestamp_index", 50},
                 {"return_timestamps", false}};
}

WhisperText::WhisperText(const formats::ModelFolder& folder)
    : tokenizer_(text::Tokenizer::load(folder.tokenizer)),
      generation_(folder.generation_config.value_or(Json::object())) {
  const std::string file = folder.tokenizer.string();
  const std::string settings = (folder.path / "generation_config.json").string();
  end_ = token_id(*tokenizer_, "<|endoftext|>", file);
  start_ = token_id(*tokenizer_, "<|startoftranscript|>", file);
  no_times_ = token_id(*tokenizer_, "<|notimestamps|>", file);
  times_ = tokenizer_->vocabulary_size() - no_times_ - 1;
  beginning_ = {start_};
  const auto add = [&](const char* key, const char* wanted) {
    const auto found = generation_.find(key);
    if (found == generation_.end() || !found->is_object() || found->empty()) return;
    const auto one = found->contains(wanted) ? found->find(wanted) : found->begin();
    beginning_.push_back(json_as<std::int32_t>(*one, key, settings));
    if (beginning_.back() < 0 || beginning_.back() >= tokenizer_->vocabulary_size())
      throw file_error(settings, fmt::format("an id of \"{}\" is outside the vocabulary", key))
          .found(std::to_string(beginning_.back()))
          .expected(fmt::format("ids from 0 to {}", tokenizer_->vocabulary_size() - 1));
  };
  add("lang_to_id", "<|en|>");
  add("task_to_id", "transcribe");
  beginning_.push_back(no_times_);
}

std::vector<std::int32_t> WhisperText::target(const std::string& text, double seconds) const {
  std::vector<std::int32_t> ids(beginning_.begin() + 1, beginning_.end());
  const std::vector<std::int32_t> words = encode(text);
  if (seconds < 0.0 || times_ < 1) {  // older tokenizers have no timestamp tokens
    ids.insert(ids.end(), words.begin(), words.end());
    return ids;
  }
  ids.back() = no_times_ + 1;  // the token of timestamp 0.00
  ids.insert(ids.end(), words.begin(), words.end());
  const std::int64_t last = std::clamp<std::int64_t>(std::llround(seconds / kTimeStep), 0, times_ - 1);
  ids.push_back(no_times_ + 1 + static_cast<std::int32_t>(last));
  return ids;
}

SpecialIds WhisperText::special() const {
  return {.pad = end_, .begin = end_, .end = end_, .decoder_start = start_};
}

std::vector<std::int32_t> WhisperText::encode(const std::string& text) const {
  return tokenizer_->encode_ids(" " + text, {.add_special = false, .match_special = false});
}

std::string WhisperText::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::int32_t> words;
  for (const std::int32_t id : ids)
    if (id < end_) words.push_back(id);
  const std::string text = tokenizer_->decode(words);
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::pair<std::string, std::string>> WhisperText::files() const {
  return {{"tokenizer.json", tokenizer_->to_json().dump() + "\n"}};
}

}  // namespace regard::train

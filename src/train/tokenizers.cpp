#include "train/tokenizers.h"

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "formats/model_folder.h"
#include "infer/training_words.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_pair.h"
#include "train/corpora.h"
#include "train/task.h"

namespace regard::train {
namespace {

// Return the tokenizer with a post-processor that produces "[CLS] $A [SEP]". For a pair, "$B [SEP]" with
// token type 1 follows.
std::shared_ptr<const text::Tokenizer> with_bert_template(const text::Tokenizer& tokenizer) {
  const auto mark = [](const char* token, int type) {
    return Json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto text = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  Json tokens = Json::object();
  for (const char* token : {"[CLS]", "[SEP]"})
    tokens[token] = {{"id", token}, {"ids", {tokenizer.id_of(token).value()}}, {"tokens", {token}}};
  Json json = tokenizer.to_json();
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0)}},
      {"pair", {mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0), text("B", 1), mark("[SEP]", 1)}},
      {"special_tokens", tokens}};
  return text::Tokenizer::from_json(json, "the trained tokenizer");
}

}  // namespace

std::shared_ptr<const text::Tokenizer> train_tokenizer(const RunConfig& config, const text::LineSource& lines,
                                                       Marks marks, ThreadPool& pool) {
  const TokenizerConfig& wanted = config.tokenizer;
  text::TokenizerTraining how;
  how.type = wanted.type;
  how.vocabulary_size = static_cast<std::size_t>(wanted.vocab_size);
  if (wanted.min_frequency > 0) how.min_frequency = wanted.min_frequency;
  how.alphabet.max_characters = static_cast<std::size_t>(wanted.limit_alphabet);
  how.alphabet.coverage = wanted.character_coverage;
  how.max_piece_length = static_cast<std::size_t>(wanted.max_piece_length);
  how.prefix_space = how.end_token = marks == Marks::sentence;
  if (marks == Marks::bert) how.special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  how.lower_case = wanted.lower_case;
  how.words = wanted.words == "auto" ? "" : wanted.words;
  const auto trained = text::train_tokenizer(lines, how, &pool);
  return marks == Marks::bert ? with_bert_template(*trained) : trained;
}

namespace {

// Return the texts [first, last) of each training record, in order. Records held out for validation are
// skipped.
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

SpecialIds special_ids(const Tokenizers& tokenizers) {
  SpecialIds ids = special_ids(*tokenizers.target);
  const auto named = text::tokenizer_config_of(tokenizers.settings).special_ids(*tokenizers.target);
  if (const auto end = named.find("eos_token"); end != named.end()) ids.end = end->second;
  return ids;
}

std::shared_ptr<const text::Tokenizer> train_on_records(const RunConfig& config, std::size_t first,
                                                        std::size_t last, Marks marks, ThreadPool& pool) {
  RecordReader records(config, config.data.train);
  return train_tokenizer(config, lines_of_records(records, first, last), marks, pool);
}

std::string source_words(const RunConfig& config, ThreadPool& pool) {
  if (config.task != "translation" || !config.model.from.empty() || config.data.sharded) return "";
  const std::vector<std::string>& files = config.data.train;
  if (std::find(files.begin(), files.end(), kStandardInput) != files.end()) return "";
  RecordReader records(config, config.data.train);
  return infer::training_words_text(lines_of_records(records, 0, 1), &pool);
}

Tokenizers obtain_tokenizers(const RunConfig& config, const Task& task, ThreadPool& pool) {
  if (!task.traits().has_text) return {};
  if (!config.tokenizer.file.empty()) {
    const auto loaded = text::Tokenizer::load(config.tokenizer.file);
    return {loaded, loaded};
  }
  if (!config.model.from.empty())
    return Tokenizers::load(formats::ModelFolder::open(config.model.from).tokenizer);
  return task.train_tokenizers(pool);
}

namespace {

constexpr const char* kSettings = "tokenizer_config.json";

// Read the files of Tokenizers::settings. If the folder has one vocabulary but no tokenizer.json, remove the
// keys of tokenizer_config.json that name the tokenizer's class and files, because checkpoints contain
// tokenizer.json instead of these files.
std::vector<std::pair<std::string, std::string>> read_settings(const std::filesystem::path& folder,
                                                               bool joint) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string name : text::kSettingsFiles) {
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::exists(path)) continue;
    files.emplace_back(name, read_regular_file(path, std::uint64_t{1} << 24));
    if (name != kSettings || !joint || std::filesystem::exists(folder / text::kTokenizerFile)) continue;
    Json json = parse_json(files.back().second, path.string());
    if (!json.is_object()) throw file_error(path.string(), "expected a JSON object").found(describe(json));
    for (const char* key : {"tokenizer_class", "auto_map", "tokenizer_file", "vocab_file", "merges_file"})
      json.erase(key);
    files.back().second = json.dump(2) + "\n";
  }
  return files;
}

}  // namespace

Tokenizers Tokenizers::load(const std::filesystem::path& folder) {
  text::TokenizerPair pair = text::load_tokenizer_pair(folder);
  const bool joint = pair.source == pair.target;
  return {std::move(pair.source), std::move(pair.target), read_settings(folder, joint)};
}

std::vector<std::pair<std::string, std::string>> Tokenizers::files() const {
  if (target == nullptr) return {};
  std::vector<std::pair<std::string, std::string>> files{
      {text::kTokenizerFile, target->to_json().dump() + "\n"}};
  if (!joint()) files.emplace_back(text::kSourceTokenizerFile, source->to_json().dump() + "\n");
  return files;
}

std::vector<std::pair<std::string, std::string>> Tokenizers::settings_of(const Network& model) const {
  std::vector<std::pair<std::string, std::string>> all = settings;
  const Json config = model.config();
  const bool known = !config.value("model_type", "").starts_with("regard");
  if (target == nullptr || !joint() || !known) return all;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const auto& file) { return file.first == kSettings; });
  const Json kept = found == all.end() ? Json::object() : parse_json(found->second, kSettings);
  if (kept.is_object() && kept.contains("tokenizer_class")) return all;
  const auto types = config.find("type_vocab_size");
  const text::TokenizerUse use{
      .max_length = model.max_positions(),
      .token_types = types != config.end() && types->is_number_integer() && types->get<std::int64_t>() > 1,
      .pads_left = model.kind() == ModelKind::decoder};
  Json json = text::fast_tokenizer_config(*target, use, text::spelled_roles(*target));
  json.update(kept);
  const std::string text = json.dump(2) + "\n";
  if (found != all.end())
    found->second = text;
  else
    all.emplace_back(kSettings, text);
  return all;
}

}  // namespace regard::train

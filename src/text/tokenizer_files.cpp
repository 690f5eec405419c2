#include "text/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/parse_number.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/tiktoken.h"
#include "text/tokenizer_config.h"
#include "text/word_models.h"

namespace regard::text {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of_file(const fs::path& file) {
  const std::string content = read_regular_file(file, std::uint64_t{1} << 28);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const bool windows = end > begin && content[end - 1] == '\r';
    lines.push_back(content.substr(begin, end - begin - (windows ? 1 : 0)));
    begin = end + 1;
  }
  return lines;
}

Json config_of(const fs::path& folder) {
  const fs::path file = folder / "tokenizer_config.json";
  return fs::exists(file) ? read_json(file.string()) : Json(nullptr);
}

bool flag(const Json& config, const char* key, bool otherwise) {
  return config.is_object() && config.contains(key) && config.at(key).is_boolean()
             ? config.at(key).get<bool>()
             : otherwise;
}

Json pipeline_json(Json added, Json normalizer, Json pre_tokenizer, Json post_processor, Json decoder) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", std::move(post_processor)},
          {"decoder", std::move(decoder)}};
}

Json special_tokens_in(const Vocabulary& vocabulary, std::initializer_list<const char*> tokens) {
  Json added = Json::array();
  for (const char* token : tokens)
    if (const auto id = vocabulary.find(token)) added.push_back(special_token_json(token, *id));
  std::sort(added.begin(), added.end(), [](const Json& a, const Json& b) { return a.at("id") < b.at("id"); });
  return added;
}

// Return the tokens that are listed beside a vocabulary, as entries of "added_tokens": added_tokens_decoder
// of tokenizer_config.json or, if it is missing, added_tokens.json.
Json listed_tokens(const fs::path& folder, const Json& config) {
  Json list = Json::array();
  if (config.is_object() && config.contains("added_tokens_decoder")) {
    const Json& listed = config.at("added_tokens_decoder");
    for (const auto& [key, entry] : listed.items()) {
      const auto id = parse_number<std::int32_t>(key);
      if (!listed.is_object() || !entry.is_object() || !id)
        throw file_error((folder / "tokenizer_config.json").string(), "malformed added_tokens_decoder")
            .found(describe(listed.is_object() ? entry : listed) + " for the key " + key)
            .expected("an object that maps ids to tokens");
      Json token = entry;
      token["id"] = *id;
      list.push_back(std::move(token));
    }
  } else if (const fs::path path = folder / "added_tokens.json"; fs::exists(path)) {
    const std::string file = path.string();
    const Json listed = read_json(file);
    if (!listed.is_object())
      throw file_error(file, "expected an object that maps tokens to ids").found(describe(listed));
    const TokenizerConfig roles = read_tokenizer_config(folder);
    const auto special = [&](const std::string& text) {
      const auto& more = roles.additional_special_tokens;
      return std::find(more.begin(), more.end(), text) != more.end() ||
             std::any_of(roles.special_tokens.begin(), roles.special_tokens.end(),
                         [&](const auto& role) { return role.second == text; });
    };
    for (const auto& [content, id] : listed.items()) {
      Json token = special_token_json(content, json_as<std::int32_t>(id, content, file));
      token["special"] = special(content);
      token["normalized"] = !special(content);
      list.push_back(std::move(token));
    }
  }
  return list;
}

// Return the tokens of `known` and `listed`, in the order of ids. If both have a token, that of `listed` is
// used.
Json joined_tokens(const Json& known, const Json& listed, const std::string& file) {
  std::vector<AddedToken> tokens = read_added_tokens(listed, file);
  std::set<std::string> contents;
  for (const AddedToken& token : tokens) contents.insert(token.content);
  for (const AddedToken& token : read_added_tokens(known, file))
    if (contents.count(token.content) == 0) tokens.push_back(token);
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return write_added_tokens(tokens);
}

TokenizerFile open_tokenizer_json(const std::string& file) {
  return read_tokenizer_json(read_regular_file(file, JsonLimits{}.bytes), file);
}

using Reader = std::function<TokenizerFile()>;

// Return a function that reads the tokenizer of the folder, or an empty function if the folder has no
// tokenizer.
Reader reader_of(const fs::path& folder, Language language) {
  const auto has = [&](const char* name) { return fs::exists(folder / name); };
  if (has("tokenizer.json")) return [=] { return open_tokenizer_json((folder / "tokenizer.json").string()); };
  if (has("source.spm") && has("target.spm") && has("vocab.json"))
    return [=] { return read_marian(folder, language); };
  if (has("vocab.json") && has("merges.txt"))
    return [=] {
      return read_vocab_and_merges(folder / "vocab.json", folder / "merges.txt", config_of(folder));
    };
  if (has("encoder.json") && has("vocab.bpe"))
    return [=] {
      return read_vocab_and_merges(folder / "encoder.json", folder / "vocab.bpe", config_of(folder));
    };
  if (has("vocab.txt")) return [=] { return read_vocab_txt(folder / "vocab.txt", config_of(folder)); };
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "sp.model"})
    if (has(name)) return [=] { return read_sentencepiece(folder / name); };
  return {};
}

TokenizerFile open_folder(const fs::path& folder, Language language) {
  if (const Reader reader = reader_of(folder, language)) return reader();
  throw file_error(folder.string(), "no tokenizer in the folder")
      .expected(
          "tokenizer.json, vocab.txt, vocab.json with merges.txt, source.spm with target.spm and vocab.json, "
          "or "
          "tokenizer.model");
}

}  // namespace

bool has_tokenizer(const fs::path& folder) {
  return reader_of(folder, Language::source) != nullptr;
}

Json special_token_json(const std::string& content, std::int32_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

TokenizerFile read_vocab_txt(const fs::path& file, const Json& config) {
  Vocabulary vocabulary;
  const std::vector<std::string> lines = lines_of_file(file);
  vocabulary.reserve(lines.size());
  for (std::size_t id = 0; id < lines.size(); ++id) vocabulary.add(lines[id], static_cast<std::int32_t>(id));
  const auto id_of = [&](const char* token) {
    if (const auto id = vocabulary.find(token)) return *id;
    throw file_error(file.string(), "a required token is missing from the BERT vocabulary").expected(token);
  };
  const bool lower = flag(config, "do_lower_case", true);
  const Json strip =
      config.is_object() && config.contains("strip_accents") ? config.at("strip_accents") : Json(nullptr);
  Json pipeline = pipeline_json(
      joined_tokens(special_tokens_in(vocabulary, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}),
                    listed_tokens(file.parent_path(), config), file.string()),
      {{"type", "BertNormalizer"},
       {"clean_text", true},
       {"handle_chinese_chars", flag(config, "tokenize_chinese_chars", true)},
       {"strip_accents", strip},
       {"lowercase", lower}},
      {{"type", "BertPreTokenizer"}},
      {{"type", "BertProcessing"}, {"sep", {"[SEP]", id_of("[SEP]")}}, {"cls", {"[CLS]", id_of("[CLS]")}}},
      {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}});
  id_of("[UNK]");
  return {file.string(), std::move(pipeline),
          std::make_unique<WordPiece>(std::move(vocabulary), WordPiece::Options{})};
}

TokenizerFile read_vocab_and_merges(const fs::path& vocabulary_file, const fs::path& merges_file,
                                    const Json& config) {
  const std::string name = vocabulary_file.string();
  Vocabulary vocabulary = read_vocabulary({{"vocab", read_json(name)}}, name);
  const std::vector<std::string> lines = lines_of_file(merges_file);
  std::vector<MergeView> merges;
  merges.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.empty() || (i == 0 && line.starts_with("#version"))) continue;
    const auto merge = split_merge(line);
    if (!merge)
      throw Error(ErrorKind::bad_file, "expected two tokens that are separated by one space")
          .at({merges_file.string(), static_cast<std::int64_t>(i) + 1})
          .found(line.substr(0, 60));
    merges.push_back(*merge);
  }
  const bool prefix = flag(config, "add_prefix_space", false);
  const auto byte_level = [&](bool trim) {
    return Json{
        {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trim}, {"use_regex", true}};
  };
  // RoBERTa's vocabulary contains <s> and </s>; GPT-2's does not.
  const auto start = vocabulary.find("<s>"), end = vocabulary.find("</s>");
  // offsets include the leading space, as in GPT-2's tokenizer in transformers
  Json processor = byte_level(false);
  if (start && end)
    processor = {{"type", "RobertaProcessing"},
                 {"sep", {"</s>", *end}},
                 {"cls", {"<s>", *start}},
                 {"trim_offsets", true},
                 {"add_prefix_space", prefix}};
  Json added = special_tokens_in(vocabulary, {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"});
  for (Json& token : added)
    if (token.at("content") == "<mask>") token["lstrip"] = true;
  added = joined_tokens(added, listed_tokens(vocabulary_file.parent_path(), config), name);
  Json pipeline =
      pipeline_json(std::move(added), nullptr, byte_level(true), std::move(processor), byte_level(true));
  return {name, std::move(pipeline),
          std::make_unique<Bpe>(std::move(vocabulary), merges, BpeOptions{}, name)};
}

TokenizerFile open_tokenizer(const fs::path& path, Language language) {
  if (fs::is_directory(path)) {
    return open_folder(path, language);
  }
  const std::string file = path.string(), extension = path.extension().string();
  if (extension == ".tiktoken") {
    TiktokenFile opened = read_tiktoken(file);
    return {file, std::move(opened.pipeline), std::move(opened.model)};
  }
  if (extension == ".model" || extension == ".spm") return read_sentencepiece(path);
  if (extension == ".txt") return read_vocab_txt(path, config_of(path.parent_path()));
  return open_tokenizer_json(file);
}

}  // namespace regard::text

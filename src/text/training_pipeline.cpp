#include "text/training_pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "regard/error.h"
#include "text/scanners.h"

namespace regard::text {
namespace {

// Return the post-processor for the templates "$A </s>" (one text) and "$A </s> $B </s>" (pair).
Json end_token_json(const std::vector<std::string>& special) {
  const auto end = std::find(special.begin(), special.end(), "</s>");
  if (end == special.end())
    throw usage_error("an end token is requested, but </s> is not a special token")
        .remedy("Add </s> to the special tokens");
  const auto text = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  const auto mark = [](int type) { return Json{{"SpecialToken", {{"id", "</s>"}, {"type_id", type}}}}; };
  const auto id = end - special.begin();
  return {{"type", "TemplateProcessing"},
          {"single", {text("A", 0), mark(0)}},
          {"pair", {text("A", 0), mark(0), text("B", 1), mark(1)}},
          {"special_tokens", {{"</s>", {{"id", "</s>"}, {"ids", {id}}, {"tokens", {"</s>"}}}}}}};
}

Json added_tokens_json(const std::vector<std::string>& special) {
  Json list = Json::array();
  for (std::size_t id = 0; id < special.size(); ++id)
    list.push_back({{"id", id},
                    {"content", special[id]},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  return list;
}

const Json kMetaspace = {
    {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}, {"split", true}};

}  // namespace

const std::string kTrainedSource = "the tokenizer being trained";

Json sequence_json(const char* key, std::vector<Json> parts) {
  if (parts.empty()) return nullptr;
  if (parts.size() == 1) return parts[0];
  return {{"type", "Sequence"}, {key, parts}};
}

Json normalizer_json(bool normalize, bool lower_case, bool prefix_space) {
  std::vector<Json> parts;
  if (normalize) parts.push_back({{"type", "NFC"}});
  if (lower_case) parts.push_back({{"type", "Lowercase"}});
  if (prefix_space) parts.push_back({{"type", "Prepend"}, {"prepend", " "}});
  return sequence_json("normalizers", parts);
}

Json word_rule_json(WordRule words, bool bytes) {
  const auto byte_level = [](bool regex) {
    return Json{
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", regex}};
  };
  std::vector<Json> parts;
  switch (words) {
    case WordRule::gpt2:
    case WordRule::words: {
      if (words == WordRule::gpt2 && bytes) return byte_level(true);
      const std::string_view pattern = words == WordRule::gpt2 ? kGpt2Pattern : kWordsPattern;
      parts.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
      break;
    }
    case WordRule::spaces:
      parts.push_back({{"type", "WhitespaceSplit"}});
      break;
    case WordRule::signs:
      parts.push_back({{"type", "Whitespace"}});
      break;
    case WordRule::bert:
      parts.push_back({{"type", "BertPreTokenizer"}});
      break;
    case WordRule::metaspace:
      parts.push_back(kMetaspace);
      break;
  }
  if (bytes) parts.push_back(byte_level(false));
  return sequence_json("pretokenizers", parts);
}

Json character_decoder_json(bool bytes, bool prefix_space, bool metaspace) {
  std::vector<Json> parts;
  if (bytes) parts.push_back({{"type", "ByteFallback"}});
  if (metaspace) parts.push_back(kMetaspace);
  parts.push_back({{"type", "Fuse"}});
  if (prefix_space) parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return sequence_json("decoders", parts);
}

Json pipeline_json(const std::vector<std::string>& special, bool end_token, Json normalizer,
                   Json pre_tokenizer, Json decoder) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens_json(special)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", end_token ? end_token_json(special) : Json(nullptr)},
          {"decoder", std::move(decoder)}};
}

std::vector<WordCount> count_words_of(const LineSource& lines, const Json& pipeline, bool bytes,
                                      ThreadPool* pool) {
  std::unique_ptr<Normalizer> normalizer;
  if (!pipeline.at("normalizer").is_null())
    normalizer = read_normalizer(pipeline.at("normalizer"), kTrainedSource);
  const PreTokenizerParts cutting = read_pre_tokenizer(pipeline.at("pre_tokenizer"), kTrainedSource, bytes);
  return count_words(lines, normalizer.get(), cutting.pre_tokenizer.get(), pool);
}

std::vector<std::string> with_unknown(std::vector<std::string> special, const std::string& unknown) {
  if (std::find(special.begin(), special.end(), unknown) == special.end())
    special.insert(special.begin(), unknown);
  return special;
}

void require_room(std::size_t vocabulary_size, std::size_t needed) {
  if (needed <= vocabulary_size) return;
  throw usage_error("the vocabulary is too small")
      .found(counted(vocabulary_size, "token"))
      .expected(fmt::format("at least {} (special tokens and alphabet)", needed))
      .remedy("Choose a larger vocabulary or a smaller alphabet");
}

Json vocabulary_json(const std::vector<std::string>& tokens) {
  // construct the object without look-ups of keys, which would take quadratic time
  Json::object_t vocabulary;
  for (std::size_t id = 0; id < tokens.size(); ++id)
    static_cast<Json::object_t::Container&>(vocabulary).emplace_back(tokens[id], id);
  return vocabulary;
}

}  // namespace regard::text

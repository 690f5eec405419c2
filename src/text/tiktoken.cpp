#include "text/tiktoken.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/file.h"
#include "base/parse_number.h"
#include "text/base64.h"
#include "text/byte_letters.h"
#include "text/merge.h"
#include "text/scanners.h"

namespace regard::text {
namespace {

struct Published {
  std::string_view name, pattern;
  std::vector<std::pair<std::string, std::int32_t>> special;
};

const std::vector<Published>& published() {
  static const std::vector<Published> all = {
      {"gpt2", kGpt2Pattern, {{"<|endoftext|>", 50256}}},
      {"r50k_base", kGpt2Pattern, {{"<|endoftext|>", 50256}}},
      {"p50k_base", kGpt2Pattern, {{"<|endoftext|>", 50256}}},
      {"cl100k_base",
       kTiktokenCl100kPattern,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base", kTiktokenO200kPattern, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
  };
  return all;
}

Vocabulary read_ranks(const std::string& file) {
  const std::string content = read_regular_file(file, std::uint64_t{1} << 28);
  Vocabulary tokens;
  tokens.reserve(static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')) + 1);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    std::string_view line = std::string_view(content).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    const bool ranked = space != std::string_view::npos;
    const std::int32_t rank = ranked ? parse_number<std::int32_t>(line.substr(space + 1)).value_or(-1) : -1;
    const auto bytes = decode_base64(line.substr(0, space));
    if (!bytes || bytes->empty() || rank < 0 || rank > Vocabulary::kMaxId)
      throw Error(ErrorKind::bad_file, "expected a base64 token and its rank")
          .at({file, number})
          .found(std::string(line.substr(0, 60)));
    tokens.add(*bytes, rank);
  }
  return tokens;
}

Json pipeline_for(const Published& known) {
  Json added = Json::array();
  for (const auto& [content, id] : known.special)
    added.push_back({{"id", id},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", known.pattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}}},
          {"post_processor", nullptr},
          {"decoder", byte_level}};
}

}  // namespace

RankedBpe::RankedBpe(Vocabulary tokens, const std::string& file) : tokens_(std::move(tokens)) {
  for (int byte = 0; byte < 256; ++byte) {
    const char value = static_cast<char>(byte);
    const auto id = tokens_.find({&value, 1});
    if (!id)
      throw file_error(file, fmt::format("the byte 0x{:02X} has no token", byte))
          .expected("a token for each of the 256 bytes");
    byte_ids_[byte] = *id;
  }
  pair_ids_.resize(1 << 16);
  for (std::size_t pair = 0; pair < pair_ids_.size(); ++pair) {
    const char bytes[2] = {static_cast<char>(pair >> 8), static_cast<char>(pair & 0xFFu)};
    pair_ids_[pair] = tokens_.find_id({bytes, 2});
  }
}

void RankedBpe::tokenize(std::string_view word, std::vector<Token>& tokens) const {
  if (const std::int32_t whole = tokens_.find_id(word); whole >= 0) {
    tokens.push_back({whole, 0, static_cast<std::uint32_t>(word.size())});
    return;
  }
  const std::size_t first = tokens.size();
  std::uint32_t place = 0;
  for (const char byte : word) {
    tokens.push_back({byte_ids_[static_cast<std::uint8_t>(byte)], place, place + 1});
    ++place;
  }
  const auto find = [&](const Token& left, const Token& right) {
    const std::string_view joined(word.data() + left.begin, right.end - left.begin);
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(joined[i]));
    };
    const auto as_merge = [](std::int32_t id) { return Merge{id, id}; };
    if (joined.size() == 2) return as_merge(pair_ids_[byte(0) << 8 | byte(1)]);
    return as_merge(tokens_.find_id(joined));
  };
  merge_symbols(find, tokens, first);
}

void RankedBpe::tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const {
  if (word.size() > kShortBytes || end_id() > PairMemo::kMostIds)
    return Model::tokenize_ids(word, scratch, ids);
  if (const std::int32_t whole = tokens_.find_id(word); whole >= 0) return ids.push(whole);
  PairMemo& memo = PairMemo::of(owner_);
  merge_bytes(
      word, byte_ids_,
      [&](std::uint8_t first, std::uint8_t second) {
        return pair_ids_[static_cast<std::size_t>(first) << 8 | second];
      },
      [&](std::int32_t left, std::int32_t right, std::string_view both) {
        return memo.find(left, right, [&] { return tokens_.find_id(both); });
      },
      [](std::uint32_t rank) { return static_cast<std::int32_t>(rank); }, ids);
}

std::optional<std::int32_t> RankedBpe::id_of(std::string_view token) const {
  const auto bytes = bytes_of_letters(token);
  return bytes ? tokens_.find(*bytes) : std::nullopt;
}

std::optional<std::string> RankedBpe::token_of(std::int32_t id) const {
  const auto bytes = tokens_.token(id);
  if (!bytes) return std::nullopt;
  return letters_of_bytes(*bytes);
}

// Return a BPE model in Hugging Face's format. Its merges are all pairs of tokens that form a token, ordered
// by the rank of that token, as in Hugging Face's conversion.
Json RankedBpe::to_json() const {
  Json merges = Json::array();
  Json::object_t vocabulary;
  for (std::int32_t id = 0; id < end_id(); ++id) {
    const auto token = tokens_.token(id);
    if (!token) continue;
    static_cast<Json::object_t::Container&>(vocabulary).emplace_back(letters_of_bytes(*token), id);
    std::vector<std::pair<std::int32_t, std::int32_t>> halves;
    for (std::size_t cut = 1; cut < token->size(); ++cut) {
      const auto left = tokens_.find(token->substr(0, cut)), right = tokens_.find(token->substr(cut));
      if (left && right) halves.emplace_back(*left, *right);
    }
    std::sort(halves.begin(), halves.end());
    for (const auto& [left, right] : halves) merges.push_back({*token_of(left), *token_of(right)});
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", true},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

TiktokenFile read_tiktoken(const std::string& file) {
  const std::string name = std::filesystem::path(file).stem().string();
  const auto& all = published();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const Published& entry) { return entry.name == name; });
  if (known == all.end())
    throw file_error(file, "unknown tiktoken encoding: the split pattern is chosen by the file name")
        .found(name)
        .expected("gpt2, r50k_base, p50k_base, cl100k_base or o200k_base")
        .remedy("Rename the file after its encoding, or use a tokenizer.json");
  return {pipeline_for(*known), std::make_unique<RankedBpe>(read_ranks(file), file)};
}

}  // namespace regard::text

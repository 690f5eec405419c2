// Byte-pair encoding (Sennrich, Haddow and Birch 2016): merge the adjacent pair of lowest rank until no
// adjacent pair has a merge. Symbols are code points, or bytes if the vocabulary is written in GPT-2's
// letters (byte_letters.h).
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/merge.h"
#include "text/merge_bytes.h"
#include "text/model.h"
#include "text/vocabulary.h"

namespace regard::text {

struct BpeOptions {
  // token for symbols outside the vocabulary; if nullopt, they are omitted
  std::optional<std::string> unknown;
  std::string continuing_prefix;   // prefix of every symbol of a word except the first
  std::string end_of_word_suffix;  // suffix of a word's last symbol
  bool fuse_unknown = false;       // if true, adjacent unknown symbols become one token
  bool byte_fallback = false;      // if true, unknown code points become byte tokens <0x00> to <0xFF>
  bool ignore_merges = false;      // if true, a word that is itself in the vocabulary becomes one token
};

// Hash table with open addressing. It maps pairs of ids to merges.
class MergeTable {
 public:
  void reserve(std::size_t merges);
  void add(std::int32_t left, std::int32_t right,
           Merge merge);  // add a merge; it replaces an earlier merge of the same pair
  Merge find(std::int32_t left, std::int32_t right) const noexcept {
    if (slots_.empty()) return {};
    return slots_[place_of(key_of(left, right))].merge;
  }
  // Prefetch the slot that add() will write.
  void prefetch(std::int32_t left, std::int32_t right) const noexcept {
    __builtin_prefetch(&slots_[first_place(key_of(left, right))], 1);
  }
  std::size_t size() const noexcept { return used_; }

 private:
  struct Slot {
    std::uint64_t key = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) noexcept {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t first_place(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }
  std::size_t place_of(std::uint64_t key) const noexcept {
    std::size_t place = first_place(key);
    while (slots_[place].key != kFree && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
    return place;
  }
  void grow(std::size_t slots);
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  int shift_ = 0;  // shift that selects the top bits of the hash product
};

class Bpe final : public VocabularyModel {
 public:
  // Throws bad_file with `file` if a merge refers to a token outside the vocabulary. As in Hugging Face's
  // library, the unknown token may be missing from the vocabulary; tokenize() throws bad_file if it needs it.
  Bpe(Vocabulary vocabulary, std::span<const MergeView> merges, BpeOptions options, const std::string& file);

  // Return true if the vocabulary contains the letter of each of the 256 bytes (byte_letters.h), and if no
  // continuing prefix, end-of-word suffix or byte fallback is set.
  bool can_take_bytes() const override { return can_take_bytes_; }
  void take_bytes() override;

  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const override;
  Json to_json() const override;
  const char* type() const override { return "BPE"; }
  // Return true if there are no merges and no options that combine symbols.
  bool divides_anywhere() const override { return characters_alone_; }

 private:
  void spell(std::string_view word, std::vector<Token>& symbols) const;
  void spell_bytes(std::string_view word, std::vector<Token>& symbols) const;
  bool spell_fallback(std::string_view symbol, std::uint32_t& place, std::vector<Token>& symbols) const;

  MergeTable merges_;
  BpeOptions options_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merge_list_;  // in rank order
  std::array<std::int32_t, 256> byte_ids_{};                       // id of each byte's letter
  std::uint64_t owner_ = PairMemo::new_owner();
  std::vector<std::int32_t> joined_ids_;  // id of the merged token of each rank
  std::vector<std::int32_t> byte_ranks_;  // rank of each pair of bytes, at index 256 · first + second
  std::array<std::int32_t, 256> fallback_ids_{};  // id of the token <0x..> of each byte
  std::int32_t unknown_id_ = -1;
  bool can_take_bytes_ = false, bytes_ = false;
  bool characters_alone_ = false;
  bool in_memo_ = false;  // true if ids and ranks are within PairMemo's limits
};

std::unique_ptr<Bpe> read_bpe(const ModelSource& source);

}  // namespace regard::text

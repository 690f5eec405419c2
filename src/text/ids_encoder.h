// Fast path from text to ids, for pipelines in which the ids of a text are the concatenated ids of its words.
// A scanner splits the text, and only words that are not in a cache pass through the pipeline.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/model.h"
#include "text/normalizers.h"
#include "text/pre_tokenizers.h"
#include "text/word_cache.h"

namespace regard::text {

class IdsEncoder {
 public:
  struct Pipeline {
    const AddedTokens* added = nullptr;
    const Normalizer* normalizer = nullptr;       // may be null
    const PreTokenizer* pre_tokenizer = nullptr;  // may be null
    const Model* model = nullptr;
  };
  static constexpr std::size_t kMostIdle = 32;
  // At most `most_idle` (1 to kMostIdle) workspaces are kept while no thread uses them. Each keeps its
  // caches, which may have grown to tens of MiB.
  explicit IdsEncoder(const Pipeline& pipeline, std::size_t most_idle = usual_most_idle());
  ~IdsEncoder();

  // Return the default of `most_idle`: the number of processors, but at least 2 and at most kMostIdle. If
  // more threads encode at the same time, the surplus workspaces are freed after use.
  static std::size_t usual_most_idle() noexcept;
  std::size_t idle() const noexcept;  // number of workspaces that no thread uses

  // State of one encoding thread, kept between calls so that the caches stay filled.
  struct Workspace {
    WordCache chunks;  // maps parts of the original text, as split by the scanner, to ids or items
    // maps words, as split by the pre-tokenizer, to ids; used for text that is not in `chunks`
    WordCache words{WordCache::kMostSets / 8};
    IdBuffer ids;
    std::vector<Token> tokens;
    std::unique_ptr<char[]> padded;
    std::string normalized;
    IdBuffer items;  // buffer for the items of a text part (running_model.h), if the model is a RunningModel
  };
  class Lease {
   public:
    explicit Lease(const IdsEncoder& encoder) : encoder_(encoder), workspace_(encoder.take()) {}
    ~Lease() { encoder_.give_back(std::move(workspace_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Workspace& operator*() const noexcept { return *workspace_; }
    Workspace* operator->() const noexcept { return workspace_.get(); }

   private:
    const IdsEncoder& encoder_;
    std::unique_ptr<Workspace> workspace_;
  };

  // Append the ids of `text`, without the post-processor's tokens, to work.ids.
  void encode(std::string_view text, bool match_special, Workspace& work) const;

  // Split `text` into consecutive parts of about `bytes` bytes or more, so that the concatenated ids of the
  // parts are the ids of the text. Returns one part if no safe split point is known.
  std::vector<std::string_view> parts_of(std::string_view text, std::size_t bytes, bool match_special) const;

 private:
  // type of the text parts that the scanner returns: chunks must be normalised and pre-tokenized, words are
  // passed to the model
  enum class Parts { chunks, words };

  bool needs_cutting(std::string_view text, bool match_special) const;
  void encode_whole(std::string_view text, bool match_special, Workspace& work) const;
  void encode_plain(std::string_view text, bool match_special, Workspace& work) const;
  template <auto kScan, class Use>
  void for_parts(std::string_view text, Workspace& work, const Use& use) const;
  template <auto kScan>
  void encode_parts(std::string_view text, Workspace& work) const;
  void encode_new(std::string_view part, bool at_start, Workspace& work) const;
  void encode_pieces(std::string_view text, bool at_start, Workspace& work) const;
  void encode_running(std::string_view text, Workspace& work) const;
  void cut_part(std::string_view part, Workspace& work) const;
  void cut_long(std::string_view part, float& so_far, Workspace& work) const;
  void take_items(std::span<const std::int32_t> items, float& so_far, IdBuffer& ids) const;
  std::string_view normalized(std::string_view part, Workspace& work) const;
  void encode_words(Pieces& pieces, Workspace& work) const;

  std::unique_ptr<Workspace> take() const;
  void give_back(std::unique_ptr<Workspace> workspace) const noexcept;

  Pipeline pipeline_;
  WordScan scan_ = WordScan::none;
  Parts parts_ = Parts::chunks;
  // the model if it must process the parts of a text in order, otherwise null
  const RunningModel* running_ = nullptr;
  RunningModel::Tables running_tables_;
  bool divides_ = false;  // true if there is no pre-tokenizer and the model allows a split at any character
  bool only_special_ = true;              // true if all added tokens are special
  std::array<bool, 256> begins_added_{};  // true for the first byte of an added token
  std::vector<unsigned char> first_bytes_;
  std::size_t most_idle_;
  // only the first most_idle_ elements are used
  mutable std::array<std::atomic<Workspace*>, kMostIdle> idle_{};
};

}  // namespace regard::text

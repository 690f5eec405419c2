#include "text/ids_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "text/pieces.h"
#include "text/scanners_inline.h"

namespace regard::text {
namespace {

// maximum capacity, in elements, of a buffer that is kept between calls
constexpr std::size_t kKept = std::size_t{1} << 20;
constexpr std::size_t kLongPart = std::size_t{1} << 16;
// maximum size in bytes of a text that is copied and padded with zeros
constexpr std::size_t kPadded = std::size_t{1} << 14;

std::size_t own_place() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads++;
  return mine;
}

// Free the buffers that a large text has enlarged beyond kKept elements, except those of ids.
void free_large(IdsEncoder::Workspace& work) noexcept {
  if (work.normalized.capacity() > kKept) std::string().swap(work.normalized);
  if (work.tokens.capacity() > kKept) work.tokens = std::vector<Token>();
}

}  // namespace

IdsEncoder::IdsEncoder(const Pipeline& pipeline, std::size_t most_idle)
    : pipeline_(pipeline), most_idle_(std::clamp<std::size_t>(most_idle, 1, kMostIdle)) {
  for (const AddedToken& token : pipeline_.added->list()) {
    only_special_ = only_special_ && token.special;
    const std::string& sought = *pipeline_.added->spelling(token.id);
    for (const std::string* text : {&token.content, &sought})
      if (!text->empty()) begins_added_[static_cast<unsigned char>(text->front())] = true;
  }
  for (std::size_t byte = 0; byte < 256; ++byte)
    if (begins_added_[byte]) first_bytes_.push_back(static_cast<unsigned char>(byte));
  const Normalizer* const normalizer = pipeline_.normalizer;
  if (normalizer != nullptr && pipeline_.added->seeks_normalized()) return;
  const PreTokenizer* const pre_tokenizer = pipeline_.pre_tokenizer;
  if (normalizer != nullptr && pre_tokenizer != nullptr && !pre_tokenizer->cuts_at(normalizer->space_mark()))
    return;
  divides_ = pre_tokenizer == nullptr && pipeline_.model->divides_anywhere();
  const Cutting cutting = pre_tokenizer != nullptr ? pre_tokenizer->cutting() : pipeline_.model->cutting();
  const Locality local = normalizer != nullptr ? normalizer->locality() : Locality::at_signs;
  if (cutting == Cutting::at_signs && local == Locality::at_signs) {
    scan_ = WordScan::bert;
  } else if ((cutting == Cutting::at_signs || cutting == Cutting::at_spaces) && local != Locality::none) {
    scan_ = WordScan::spaces;
    if (pre_tokenizer == nullptr) running_ = pipeline_.model->running();
    if (running_ != nullptr) running_tables_ = running_->tables();
  } else if (cutting == Cutting::scanner) {
    scan_ = pre_tokenizer->scan();
    parts_ = Parts::words;
  }
}

IdsEncoder::~IdsEncoder() {
  for (auto& place : idle_) delete place.load();
}

std::size_t IdsEncoder::usual_most_idle() noexcept {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, kMostIdle);
}

std::size_t IdsEncoder::idle() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(idle_, [](const auto& place) { return place.load() != nullptr; }));
}

std::unique_ptr<IdsEncoder::Workspace> IdsEncoder::take() const {
  for (std::size_t i = 0; i < most_idle_; ++i)
    if (Workspace* const found = idle_[(own_place() + i) % most_idle_].exchange(nullptr))
      return std::unique_ptr<Workspace>(found);
  return std::make_unique<Workspace>();
}

void IdsEncoder::give_back(std::unique_ptr<Workspace> workspace) const noexcept {
  workspace->ids.clear();
  for (IdBuffer* const buffer : {&workspace->ids, &workspace->items})
    if (buffer->capacity() > kKept) *buffer = IdBuffer();
  free_large(*workspace);
  for (std::size_t i = 0; i < most_idle_; ++i) {
    Workspace* nobody = nullptr;
    if (idle_[(own_place() + i) % most_idle_].compare_exchange_strong(nobody, workspace.get())) {
      static_cast<void>(workspace.release());
      return;
    }
  }
}

// Return true if `text` may contain an added token to match, or if it is not valid UTF-8.
bool IdsEncoder::needs_cutting(std::string_view text, bool match_special) const {
  if (!match_special && only_special_) return !utf8::valid(text);
  const auto held_at = [&](std::size_t place) { return pipeline_.added->begins(text.substr(place)); };
  if (first_bytes_.size() <= 2) {
    for (const unsigned char first : first_bytes_)
      for (std::size_t place = 0;
           (place = text.find(static_cast<char>(first), place)) != std::string_view::npos; ++place)
        if (held_at(place)) return true;
  } else {
    for (std::size_t place = 0; place < text.size(); ++place)
      if (begins_added_[static_cast<unsigned char>(text[place])] && held_at(place)) return true;
  }
  return !utf8::valid(text);
}

void IdsEncoder::encode(std::string_view text, bool match_special, Workspace& work) const {
  if (scan_ == WordScan::none || needs_cutting(text, match_special)) {
    encode_whole(text, match_special, work);
  } else {
    encode_plain(text, match_special, work);
  }
  free_large(work);
}

// General path for every pipeline: the steps of Tokenizer::encode, with a cache of words.
void IdsEncoder::encode_whole(std::string_view text, bool match_special, Workspace& work) const {
  Pieces pieces(text, false);
  pipeline_.added->extract(pieces, false, match_special);
  if (pipeline_.normalizer != nullptr) pieces.normalize(*pipeline_.normalizer);
  pipeline_.added->extract(pieces, true, match_special);
  if (pipeline_.pre_tokenizer != nullptr) pipeline_.pre_tokenizer->apply(pieces);
  encode_words(pieces, work);
}

void IdsEncoder::encode_words(Pieces& pieces, Workspace& work) const {
  for (const Piece& piece : pieces.list()) {
    if (piece.token >= 0) {
      work.ids.push(piece.token);
      continue;
    }
    const std::string_view word = pieces.text_of(piece);
    if (work.words.find(word, work.ids)) continue;
    const std::size_t before = work.ids.ids().size();
    pipeline_.model->tokenize_ids(word, work.tokens, work.ids);
    work.words.keep(word, work.ids.ids().subspan(before));
  }
}

// Split only before spaces that scan_spaces() finds. Such a split is safe for every scanner and for every
// normalizer whose locality() is not `none`.
std::vector<std::string_view> IdsEncoder::parts_of(std::string_view text, std::size_t bytes,
                                                   bool match_special) const {
  const Normalizer* const normalizer = pipeline_.normalizer;
  const bool local = (divides_ || (scan_ != WordScan::none && running_ == nullptr)) &&
                     (normalizer == nullptr || normalizer->locality() != Locality::none);
  if (!local || text.size() <= bytes || needs_cutting(text, match_special)) return {text};
  std::vector<std::string_view> parts;
  const scanning::ScanText scanned(text);
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.size();
    if (end - begin > bytes) {
      end = begin + bytes;
      while ((static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
      end = scanning::scan_spaces(scanned, end);
    }
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

void IdsEncoder::encode_plain(std::string_view text, bool match_special, Workspace& work) const {
  if (parts_ == Parts::words && pipeline_.normalizer != nullptr &&
      !pipeline_.normalizer->surely_unchanged(text))
    return encode_whole(text, match_special, work);
  if (running_ != nullptr) return encode_running(text, work);
  with_scan(
      scan_, [&](auto scan) { encode_parts<decltype(scan)::value>(text, work); }, [] {});
}

// Call use(part, offset, find) for all parts in order. find(ids) appends the cached ids of the part, if
// there are any.
template <auto kScan, class Use>
void IdsEncoder::for_parts(std::string_view text, Workspace& work, const Use& use) const {
  using scanning::ScanText;
  ScanText scanned(text);
  // Copy a short text and append zeros, so that words at its end can also be read in whole blocks.
  if (text.size() <= kPadded) {
    if (!work.padded) work.padded = std::make_unique<char[]>(kPadded + scanning::kBlock);
    std::memcpy(work.padded.get(), text.data(), text.size());
    std::memset(work.padded.get() + text.size(), 0, scanning::kBlock);
    scanned = ScanText(work.padded.get(), text.size(), text.size() + scanning::kBlock);
  }
  // Scan a group of parts, then look up all of them, then use all of them, so that prefetches complete
  // between these steps.
  constexpr std::size_t kTogether = 16;
  struct Part {
    std::size_t begin, size;
    WordCache::Key key;
    std::uint64_t hash;
    WordCache::Kept kept;
  };
  const auto look_up = [&](const Part& part) {
    return part.size <= WordCache::kShort ? work.chunks.look_up(part.key, part.hash)
                                          : work.chunks.look_up_long(part.size, part.hash);
  };
  std::array<Part, kTogether> parts;
  for (std::size_t begin = 0; begin < scanned.length;) {
    std::size_t count = 0;
    for (; count < kTogether && begin < scanned.length; ++count) {
      Part& part = parts[count];
      const std::size_t end = kScan(scanned, begin);
      const char* const bytes = scanned.data + begin;
      part.begin = begin;
      part.size = end - begin;
      if (part.size <= WordCache::kShort) {
        part.key = begin + WordCache::kShort < scanned.readable ? WordCache::key_at(bytes, part.size)
                                                                : WordCache::key_of({bytes, part.size});
        part.hash = WordCache::hash_of(part.key);
        work.chunks.prefetch(part.hash);
      } else {
        part.hash = WordCache::hash_of_long({bytes, part.size});
        work.chunks.prefetch_long(part.hash);
      }
      begin = end;
    }
    const std::uint64_t changes = work.chunks.changes();
    for (std::size_t i = 0; i < count; ++i) parts[i].kept = look_up(parts[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const Part& part = parts[i];
      const std::string_view text_of_part(scanned.data + part.begin, part.size);
      use(text_of_part, part.begin, [&](IdBuffer& ids) {
        return WordCache::take(work.chunks.changes() == changes ? part.kept : look_up(part), text_of_part,
                               ids);
      });
    }
  }
}

template <auto kScan>
void IdsEncoder::encode_parts(std::string_view text, Workspace& work) const {
  for_parts<kScan>(text, work, [&](std::string_view part, std::size_t begin, const auto& find) {
    if (!find(work.ids)) encode_new(part, begin == 0, work);
  });
}

// Process the parts in order, because the best segmentation of a part can depend on the sum of the preceding
// scores. cut_part() describes the cached values.
void IdsEncoder::encode_running(std::string_view text, Workspace& work) const {
  float so_far = 0;
  for_parts<scanning::scan_spaces>(text, work, [&](std::string_view part, std::size_t, const auto& find) {
    if (part.size() > WordCache::kLongest) return cut_long(part, so_far, work);
    work.items.clear();
    if (!find(work.items)) cut_part(part, work);
    const auto safe_up_to = std::bit_cast<float>(work.items.ids()[0]);
    if (so_far == 0 || std::abs(so_far) < safe_up_to) {
      take_items(work.items.ids().subspan(1), so_far, work.ids);
    } else {
      cut_long(part, so_far, work);
    }
  });
}

void IdsEncoder::take_items(std::span<const std::int32_t> items, float& so_far, IdBuffer& ids) const {
  const RunningModel::Tables tables = running_tables_;
  float sum = so_far;
  std::int32_t* const to = ids.reserve(items.size());
  std::size_t count = 0;
  const auto give = [&](std::int32_t id) {
    to[count++] = tables.outside != nullptr ? tables.outside[id] : id;
  };
  for (const std::int32_t item : items) {
    if (item >= 0) {
      sum += tables.scores[item];
      give(item);
    } else if (RunningModel::is_unknown_scores(item)) {
      // Add the scores one by one, to round like the reference implementation.
      for (std::int32_t left = RunningModel::unknown_scores(0) - item; left > 0; --left)
        sum += tables.unknown_score;
    } else {
      give(RunningModel::silent(item));
    }
  }
  ids.advance(count);
  so_far = sum;
}

std::string_view IdsEncoder::normalized(std::string_view part, Workspace& work) const {
  if (pipeline_.normalizer == nullptr || pipeline_.normalizer->surely_unchanged(part)) return part;
  pipeline_.normalizer->rewrite(part, work.normalized);
  return work.normalized;
}

// Segment the part as if the sum of the preceding scores were 0, and cache the result. The first element of
// work.items contains the bits of a float: the segmentation is valid for sums whose absolute value is below
// it. The items follow.
void IdsEncoder::cut_part(std::string_view part, Workspace& work) const {
  const std::string_view text = normalized(part, work);
  work.items.clear();
  work.items.push(0);
  const float margin = running_->cut(text, 0, work.items, {});
  work.items.first() = std::bit_cast<std::int32_t>(running_->safe_up_to(margin, text.size()));
  work.chunks.keep(part, work.items.ids());
}

// Segment the part; `so_far` is the sum of the preceding scores. The result is not cached.
void IdsEncoder::cut_long(std::string_view part, float& so_far, Workspace& work) const {
  const std::string_view text = normalized(part, work);
  work.items.clear();
  const auto settled = [&] {
    take_items(work.items.ids(), so_far, work.ids);
    work.items.clear();
  };
  running_->cut(text, so_far, work.items, settled);
  settled();
}

void IdsEncoder::encode_pieces(std::string_view text, bool at_start, Workspace& work) const {
  Pieces pieces(text, false, at_start);
  if (pipeline_.pre_tokenizer != nullptr) pipeline_.pre_tokenizer->apply(pieces);
  const auto& list = pieces.list();
  // If the part is a single word, do not cache the word, because the part itself is cached.
  if (list.size() == 1 && list.front().token < 0) {
    pipeline_.model->tokenize_ids(pieces.text_of(list.front()), work.tokens, work.ids);
  } else {
    encode_words(pieces, work);
  }
}

void IdsEncoder::encode_new(std::string_view part, bool at_start, Workspace& work) const {
  const std::size_t before = work.ids.ids().size();
  if (parts_ == Parts::words) {
    pipeline_.model->tokenize_ids(part, work.tokens, work.ids);
  } else {
    std::string_view text = part;
    if (pipeline_.normalizer != nullptr && !pipeline_.normalizer->surely_unchanged(part)) {
      at_start = pipeline_.normalizer->rewrite(part, work.normalized) && at_start;
      text = work.normalized;
    }
    // Split the normalised text again to bound memory, because normalisation can make it very long.
    const scanning::ScanText scanned(text);
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = text.size();
      if (scan_ == WordScan::spaces && end - begin > kLongPart)
        for (end = begin; end < text.size() && end - begin < kLongPart;)
          end = scanning::scan_spaces(scanned, end);
      encode_pieces(text.substr(begin, end - begin), at_start && begin == 0, work);
      begin = end;
    }
  }
  work.chunks.keep(part, work.ids.ids().subspan(before));
}

}  // namespace regard::text

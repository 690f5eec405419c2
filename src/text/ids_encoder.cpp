#include "text/ids_encoder.h"

#include <algorithm>
#include <cstring>

#include "text/pieces.h"
#include "text/scanners_inline.h"

namespace regard::text {
namespace {

constexpr std::size_t kPadded = std::size_t{1} << 14;  // bytes of text that are copied before zeros

std::size_t own_place() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads++;
  return mine;
}

}  // namespace

IdsEncoder::IdsEncoder(const Pipeline& pipeline) : pipeline_(pipeline) {
  for (const AddedToken& token : pipeline_.added->list()) {
    const std::string& sought = *pipeline_.added->spelling(token.id);
    for (const std::string* text : {&token.content, &sought})
      if (!text->empty()) begins_added_[static_cast<unsigned char>(text->front())] = true;
  }
  for (std::size_t byte = 0; byte < 256; ++byte)
    if (begins_added_[byte]) first_bytes_.push_back(static_cast<unsigned char>(byte));
  const Normalizer* const normalizer = pipeline_.normalizer;
  if (normalizer != nullptr && pipeline_.added->seeks_normalized()) return;
  const PreTokenizer* const pre_tokenizer = pipeline_.pre_tokenizer;
  const Cutting cutting = pre_tokenizer != nullptr ? pre_tokenizer->cutting() : pipeline_.model->cutting();
  const Locality local = normalizer != nullptr ? normalizer->locality() : Locality::at_signs;
  if (cutting == Cutting::at_signs && local == Locality::at_signs) {
    scan_ = WordScan::bert;
  } else if ((cutting == Cutting::at_signs || cutting == Cutting::at_spaces) && local != Locality::none) {
    scan_ = WordScan::spaces;
  } else if (cutting == Cutting::scanner) {
    scan_ = pre_tokenizer->scan();
    parts_ = Parts::words;
  }
}

IdsEncoder::~IdsEncoder() {
  for (auto& place : idle_) delete place.load();
}

std::unique_ptr<IdsEncoder::Workspace> IdsEncoder::take() const {
  for (std::size_t i = 0; i < idle_.size(); ++i)
    if (Workspace* const found = idle_[(own_place() + i) % idle_.size()].exchange(nullptr))
      return std::unique_ptr<Workspace>(found);
  return std::make_unique<Workspace>();
}

void IdsEncoder::give_back(std::unique_ptr<Workspace> workspace) const noexcept {
  workspace->ids.clear();
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    Workspace* nobody = nullptr;
    if (idle_[(own_place() + i) % idle_.size()].compare_exchange_strong(nobody, workspace.get())) {
      static_cast<void>(workspace.release());
      return;
    }
  }
}

// Whether `text` may hold an added token, or is not valid UTF-8.
bool IdsEncoder::needs_cutting(std::string_view text) const {
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
  if (scan_ == WordScan::none || needs_cutting(text)) {
    encode_whole(text, match_special, work);
  } else {
    encode_plain(text, work);
  }
}

// Any pipeline, as Tokenizer::encode does it, with words looked up.
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
    const bool is_short = word.size() <= WordCache::kShort;
    if (is_short && work.words.find_short(WordCache::key_of(word), word.size(), work.ids)) continue;
    if (work.words.find_long(word, work.ids)) continue;
    work.tokens.clear();
    pipeline_.model->tokenize(word, work.tokens);
    const std::size_t before = work.ids.ids().size();
    std::int32_t* ids = work.ids.room(work.tokens.size());
    for (const Token& token : work.tokens) *ids++ = token.id;
    work.ids.advance(work.tokens.size());
    work.words.keep(word, work.ids.ids().subspan(before));
  }
}

void IdsEncoder::encode_plain(std::string_view text, Workspace& work) const {
  if (parts_ == Parts::words && pipeline_.normalizer != nullptr &&
      !pipeline_.normalizer->surely_unchanged(text))
    return encode_whole(text, true, work);
  with_scan(
      scan_, [&](auto scan) { encode_parts<decltype(scan)::value>(text, work); }, [] {});
}

template <auto kScan>
void IdsEncoder::encode_parts(std::string_view text, Workspace& work) const {
  using scanning::ScanText;
  ScanText scanned(text);
  if (text.size() <= kPadded) {  // then every word may be read in blocks
    if (!work.padded) work.padded = std::make_unique<char[]>(kPadded + scanning::kBlock);
    std::memcpy(work.padded.get(), text.data(), text.size());
    std::memset(work.padded.get() + text.size(), 0, scanning::kBlock);
    scanned = ScanText(work.padded.get(), text.size(), text.size() + scanning::kBlock);
  }
  const std::string_view readable(scanned.data, scanned.length);
  for (std::size_t begin = 0; begin < scanned.length;) {
    const std::size_t end = kScan(scanned, begin), size = end - begin;
    const std::string_view part = readable.substr(begin, size);
    if (size <= WordCache::kShort) {
      const WordCache::Key key = begin + WordCache::kShort <= scanned.readable
                                     ? WordCache::key_at(part.data(), size)
                                     : WordCache::key_of(part);
      if (!work.chunks.find_short(key, size, work.ids) && !work.chunks.find_long(part, work.ids))
        encode_new(part, begin == 0, work);
    } else if (!work.chunks.find_long(part, work.ids)) {
      encode_new(part, begin == 0, work);
    }
    begin = end;
  }
}

void IdsEncoder::encode_new(std::string_view part, bool at_start, Workspace& work) const {
  const std::size_t before = work.ids.ids().size();
  if (parts_ == Parts::words) {
    work.tokens.clear();
    pipeline_.model->tokenize(part, work.tokens);
    std::int32_t* ids = work.ids.room(work.tokens.size());
    for (const Token& token : work.tokens) *ids++ = token.id;
    work.ids.advance(work.tokens.size());
  } else {
    std::string_view text = part;
    if (pipeline_.normalizer != nullptr && !pipeline_.normalizer->surely_unchanged(part)) {
      at_start = pipeline_.normalizer->rewrite(part, work.normalized) && at_start;
      text = work.normalized;
    }
    Pieces pieces(text, false, at_start);
    if (pipeline_.pre_tokenizer != nullptr) pipeline_.pre_tokenizer->apply(pieces);
    encode_words(pieces, work);
  }
  work.chunks.keep(part, work.ids.ids().subspan(before));
}

}  // namespace regard::text

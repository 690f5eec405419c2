// sentencepiece's normalisation: applies the longest matching rule at each position. Options then collapse
// sequences of spaces, add a space at the start or end, and write spaces as U+2581.
#include <algorithm>

#include "base/utf8.h"
#include "text/base64.h"
#include "text/sentencepiece.h"

namespace regard::text {
namespace {

class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(const Json& json, const std::string& file)
      : dummy_prefix_(require<bool>(json, "add_dummy_prefix", file)),
        remove_extra_(require<bool>(json, "remove_extra_whitespaces", file)),
        suffix_(require<bool>(json, "treat_whitespace_as_suffix", file)),
        space_(require<bool>(json, "escape_whitespaces", file) ? kSpaceSymbol : std::string_view(" ")) {
    const auto blob = decode_base64(require<std::string>(json, "precompiled_charsmap", file));
    if (!blob) throw file_error(file, "precompiled_charsmap is not valid base64");
    map_ = CharsMap(*blob, file);
    kept_strings_ = require<std::vector<std::string>>(json, "user_defined_symbols", file);
    std::vector<TokenView> strings;
    for (const std::string& kept : kept_strings_) strings.push_back({kept, 0});
    kept_ = ByteTrie(strings);
    // local_ is true if a text may be split before spaces and its parts normalised separately. This requires
    // that each part starts with the same space symbol as in the normalised whole text.
    local_ = dummy_prefix_ && remove_extra_ && !suffix_ && space_ == kSpaceSymbol &&
             !map_.reaches_over_spaces() &&
             std::none_of(kept_strings_.begin(), kept_strings_.end(), [](const std::string& kept) {
               return kept.find(' ') != std::string::npos || kept.find(kSpaceSymbol) != std::string::npos;
             });
  }

  Locality locality() const override { return local_ ? Locality::at_spaces : Locality::none; }
  bool rewrite(std::string_view text, std::string& out) const override {
    PlainOutput plain{out};
    out.clear();
    run(text, plain);
    return true;
  }

  void apply(AlignedText& aligned) const override {
    if (!aligned.tracked()) {
      std::string text;
      rewrite(aligned.text(), text);
      return aligned.assign(std::move(text), {});
    }
    Output out;
    run(aligned.text(), out);
    aligned.assign(std::move(out.text), out.places);
  }

 private:
  struct Output {
    std::string text;
    // the input offset of each byte of `text`, followed by the input offset of the end of `text`
    std::vector<std::size_t> places;
    void add(std::string_view bytes, std::size_t place) {
      text.append(bytes);
      places.insert(places.end(), bytes.size(), place);
    }
    void end(std::size_t place) { places.push_back(place); }
    std::size_t drop(std::size_t length, std::size_t) {
      const std::size_t place = places[length];
      text.resize(length);
      places.resize(length);
      return place;
    }
  };

  // Output of normalisation that does not record offsets.
  struct PlainOutput {
    std::string& text;
    void add(std::string_view bytes, std::size_t) { text.append(bytes); }
    void end(std::size_t) {}
    std::size_t drop(std::size_t length, std::size_t consumed) {
      text.resize(length);
      return consumed;
    }
  };

  // Apply the rule that matches at the start of `input`. Return the replacement, and the number of input
  // bytes that it replaces.
  std::pair<std::string_view, std::size_t> rule_at(std::string_view input) const {
    if (const std::size_t kept = kept_.longest(input).first; kept > 0) return {input.substr(0, kept), kept};
    if (const auto rule = map_.longest(input)) return {rule->replacement, rule->size};
    const utf8::Decoded symbol = utf8::decode(input, 0);
    if (!symbol.valid) return {"\uFFFD", 1};
    return {input.substr(0, static_cast<std::size_t>(symbol.size)), static_cast<std::size_t>(symbol.size)};
  }

  template <class Out>
  void run(std::string_view input, Out& out) const {
    std::size_t consumed = 0;
    while (remove_extra_ && consumed < input.size()) {
      const auto [text, size] = rule_at(input.substr(consumed));
      if (text != " ") break;
      consumed += size;
    }
    if (consumed == input.size()) {
      out.end(consumed);
      return;
    }
    if (dummy_prefix_ && !suffix_) out.add(space_, consumed);
    bool after_space = remove_extra_;
    while (consumed < input.size()) {
      auto [text, size] = rule_at(input.substr(consumed));
      while (after_space && text.starts_with(' ')) text.remove_prefix(1);
      for (const char byte : text) out.add(byte == ' ' ? space_ : std::string_view(&byte, 1), consumed);
      if (!text.empty()) after_space = text.ends_with(' ');
      if (!remove_extra_) after_space = false;
      consumed += size;
    }
    while (remove_extra_ && std::string_view(out.text).ends_with(space_)) {
      consumed = out.drop(out.text.size() - space_.size(), consumed);
    }
    if (dummy_prefix_ && suffix_) out.add(space_, consumed);
    out.end(consumed);
  }

  CharsMap map_;
  std::vector<std::string> kept_strings_;  // user-defined pieces, which normalisation does not change
  ByteTrie kept_;
  bool dummy_prefix_, remove_extra_, suffix_;
  std::string_view space_;
  bool local_ = false;
};

}  // namespace

Json sentencepiece_normalizer_json(const SentencePieceFile& file) {
  Json kept = Json::array();
  for (const SentencePiece& piece : file.pieces)
    if (piece.type == PieceType::user_defined) kept.push_back(piece.piece);
  return {{"type", "SentencePiece"},
          {"precompiled_charsmap", encode_base64(file.charsmap)},
          {"add_dummy_prefix", file.options.dummy_prefix},
          {"remove_extra_whitespaces", file.options.remove_extra_whitespace},
          {"escape_whitespaces", file.options.escape_whitespace},
          {"treat_whitespace_as_suffix", file.options.whitespace_as_suffix},
          {"user_defined_symbols", std::move(kept)}};
}

std::unique_ptr<Normalizer> sentencepiece_normalizer(const Json& json, const std::string& file) {
  return std::make_unique<SentencePieceNormalizer>(json, file);
}

}  // namespace regard::text

// The normalizer "Precompiled" of tokenizer.json: sentencepiece's rules, applied to each grapheme as in
// Hugging Face's library. The result can differ from sentencepiece's result.
#include <algorithm>

#include "base/utf8.h"
#include "text/base64.h"
#include "text/charsmap.h"
#include "text/normalizers.h"

namespace regard::text {
namespace {

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(CharsMap map) : map_(std::move(map)) {}
  // scan_spaces() splits only before a space that starts a grapheme.
  Locality locality() const override { return Locality::at_spaces; }

  // A rule can apply to a whole grapheme of several code points only if the grapheme is shorter than six
  // bytes. In a text without such graphemes, each code point is processed separately.
  bool rewrite(std::string_view text, std::string& out) const override {
    std::size_t shortest = 4;
    bool clusters = false;
    for (std::size_t i = 0; i < text.size();) {
      const utf8::Decoded symbol = utf8::decode(text, i);
      i += static_cast<std::size_t>(symbol.size);
      shortest = std::min(shortest, static_cast<std::size_t>(symbol.size));
      clusters = clusters || !(symbol.value < 0x80 ? symbol.value >= ' '
                                                   : unicode::has(symbol.value, unicode::kStandsAlone));
    }
    if (clusters && shortest < 3) return Normalizer::rewrite(text, out);
    out.clear();
    for (std::size_t i = 0; i < text.size();) {
      const auto size = static_cast<std::size_t>(utf8::decode(text, i).size);
      const auto rule = map_.shortest(text.substr(i, size));
      out.append(rule ? rule->replacement : text.substr(i, size));
      i += size;
    }
    return true;
  }

  void apply(AlignedText& text) const override {
    std::vector<unicode::Change> changes;
    changes.reserve(text.text().size());
    bool modified = false;
    const auto replace = [&](std::string_view part) {
      const auto rule = map_.shortest(part);
      if (!rule) return false;
      modified = true;
      add(changes, utf8::count(part), rule->replacement);
      return true;
    };
    for (const std::string_view grapheme : utf8::graphemes(text.text())) {
      if (grapheme.size() < 6 && replace(grapheme)) continue;
      for (std::size_t i = 0; i < grapheme.size();) {
        const utf8::Decoded symbol = utf8::decode(grapheme, i);
        const auto size = static_cast<std::size_t>(symbol.size);
        if (!replace(grapheme.substr(i, size))) changes.push_back({symbol.value, 0});
        i += size;
      }
    }
    if (modified) text.transform(changes);
  }

 private:
  // Append the changes that replace `old_count` code points with `replacement`. If `replacement` is longer,
  // its remaining code points are inserted; if it is shorter, the last change removes the remaining old code
  // points.
  static void add(std::vector<unicode::Change>& changes, std::size_t old_count,
                  std::string_view replacement) {
    const std::u32string fresh = utf8::code_points(replacement);
    for (std::size_t i = 0; i < fresh.size(); ++i) changes.push_back({fresh[i], i < old_count ? 0 : 1});
    if (fresh.size() < old_count && !changes.empty())
      changes.back().change -= static_cast<int>(old_count - fresh.size());
  }

  CharsMap map_;
};

}  // namespace

std::unique_ptr<Normalizer> precompiled_normalizer(const Json& json, const std::string& file) {
  const auto blob = decode_base64(require<std::string>(json, "precompiled_charsmap", file));
  if (!blob) throw file_error(file, "precompiled_charsmap is not valid base64");
  return std::make_unique<Precompiled>(CharsMap(*blob, file));
}

}  // namespace regard::text

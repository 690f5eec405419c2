// sentencepiece's nmt rules without a normalisation form: removes control characters, and maps unusual spaces
// to the space character.
#include "text/normalizers.h"

namespace regard::text {
namespace {

bool removed(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
         c == 0x9F;
}

bool becomes_space(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
         c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

class NmtNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    text.filter([](char32_t c) { return !removed(c); });
    text.map([](char32_t c) { return becomes_space(c) ? U' ' : c; });
  }
};

}  // namespace

std::unique_ptr<Normalizer> nmt_normalizer() {
  return std::make_unique<NmtNormalizer>();
}

}  // namespace regard::text

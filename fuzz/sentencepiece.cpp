// Read a sentencepiece .model, and tokenize a text with it.
#include "text/sentencepiece.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  fuzz::must_return_or_blame_the_file([&] {
    text::SentencePieceFile file = text::parse_sentencepiece(fuzz::text_of(data, size), "sp.model");
    const auto normalizer =
        text::sentencepiece_normalizer(text::sentencepiece_normalizer_json(file), "sp.model");
    const text::SentencePieceModel model(std::move(file.pieces), std::move(file.options), "sp.model");
    text::AlignedText aligned("Hello  w\u00F6rld \u0915\u0947", {}, 0, false);
    normalizer->apply(aligned);
    std::vector<text::Token> tokens;
    if (!aligned.text().empty()) model.tokenize(aligned.text(), tokens);
    std::vector<std::int32_t> ids;
    for (const text::Token& token : tokens) ids.push_back(token.id);
    static_cast<void>(model.decode(ids));
  });
  return 0;
}

// Encode any bytes with the tokenizer that the first byte selects. Run in the root folder of the repository.
// encode_ids() must return the ids of encode(), each pair of offsets must be a range inside the text, and
// decoded text must be UTF-8.
#include <memory>
#include <vector>

#include "base/utf8.h"
#include "target.h"
#include "text/tokenizer.h"

namespace {

using regard::text::Tokenizer;

const std::vector<std::shared_ptr<const Tokenizer>>& tokenizers() {
  static const auto* const all = [] {
    auto* loaded = new std::vector<std::shared_ptr<const Tokenizer>>;
    const std::filesystem::path data = "tests/data";
    for (const char* name :
         {"bpe-gpt2", "bpe-cl100k-pattern", "bpe-llama-old", "bpe-metaspace-always", "unigram-t5-style",
          "unigram-nfkc-metaspace", "wordpiece-uncased", "wordpiece-nfkd-seq"})
      loaded->push_back(Tokenizer::load(data / "tokenizer-json" / name));
    for (const char* name : {"sp-bpe-identity", "sp-unigram-nmtnfkc-bytefallback"})
      loaded->push_back(Tokenizer::load(data / "sentencepiece" / name / "sp.model"));
    return loaded;
  }();
  return *all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  if (size == 0) return 0;
  const Tokenizer& tokenizer = *tokenizers()[data[0] % tokenizers().size()];
  const std::string_view text = fuzz::text_of(data, size).substr(1);
  const text::Encoding encoding = tokenizer.encode(text);
  if (tokenizer.encode_ids(text) != encoding.ids) std::abort();
  for (const text::Offsets& place : encoding.byte_offsets)
    if (place.begin > place.end || place.end > text.size()) std::abort();
  if (!utf8::valid(tokenizer.decode(encoding.ids))) std::abort();
  return 0;
}

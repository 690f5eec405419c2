// A tokenizer.json: read, used on a text, saved and read again.
#include "base/json.h"
#include "target.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  fuzz::must_return_or_blame_the_file([&] {
    const Json json = parse_json(fuzz::text_of(data, size), "tokenizer.json");
    const auto tokenizer = text::Tokenizer::from_json(json, "tokenizer.json");
    const std::string text = "Hello, w\u00F6rld! \u0915\u0947 123 <s>ab\xFF";
    fuzz::must_return_or_blame_the_file([&] {
      const text::Encoding encoding = tokenizer->encode(text);
      static_cast<void>(tokenizer->decode(encoding.ids));
      if (!tokenizer->truncation() && !tokenizer->padding() && tokenizer->encode_ids(text) != encoding.ids)
        std::abort();
    });
    static_cast<void>(tokenizer->to_json());
  });
  return 0;
}

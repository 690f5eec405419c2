// Read a tokenizer.json with from_text() and from_json(), compare the results, tokenize a text, and convert
// the tokenizer to JSON.
#include "base/json.h"
#include "target.h"
#include "text/tokenizer.h"

namespace {

// Return the tokenizer as JSON, or the error message.
template <class Read>
std::string outcome(const Read& read) {
  try {
    return read()->to_json().dump(-1, ' ', false, regard::base::Json::error_handler_t::replace);
  } catch (const regard::Error& error) {
    return error.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  const std::string_view given = fuzz::text_of(data, size);
  const auto by_tree = [&] {
    return text::Tokenizer::from_json(parse_json(given, "tokenizer.json"), "tokenizer.json");
  };
  const auto by_text = [&] { return text::Tokenizer::from_text(std::string(given), "tokenizer.json"); };
  if (outcome(by_text) != outcome(by_tree)) std::abort();
  fuzz::must_return_or_blame_the_file([&] {
    const auto tokenizer = by_text();
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

// Read tokenizer files of the formats that are older than tokenizer.json. The first byte selects the format
// of the remaining bytes.
#include "target.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of(data, size).substr(1);
  const std::filesystem::path folder = fuzz::folder();
  std::filesystem::path path;
  switch (data[0] % 3) {
    case 0:
      path = folder / "vocab.txt";
      fuzz::put(path, rest);
      break;
    case 1:
      path = folder / "gpt2.tiktoken";
      fuzz::put(path, rest);
      break;
    default: {
      const std::size_t half = std::min(rest.find('\x1E'), rest.size());
      path = folder / "pair";
      std::filesystem::create_directory(path);
      fuzz::put(path / "vocab.json", rest.substr(0, half));
      fuzz::put(path / "merges.txt", rest.substr(std::min(rest.size(), half + 1)));
      break;
    }
  }
  fuzz::must_return_or_blame_the_file([&] {
    const auto tokenizer = text::Tokenizer::load(path);
    fuzz::must_return_or_blame_the_file([&] {
      const std::string text = "the caf\u00E9 \u0915 12!";
      const text::Encoding encoding = tokenizer->encode(text);
      if (tokenizer->encode_ids(text) != encoding.ids) std::abort();
      static_cast<void>(tokenizer->decode(encoding.ids));
    });
  });
  return 0;
}

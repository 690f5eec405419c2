// Read the three tokenizer files of a Marian model. The input holds the models source.spm and target.spm,
// each preceded by its length in two bytes, then vocab.json.
#include <string>

#include "target.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  const std::filesystem::path path = fuzz::folder() / "marian";
  std::filesystem::create_directory(path);
  std::string_view rest = fuzz::text_of(data, size);
  const auto next = [&] {
    if (rest.size() < 2) return std::string_view();
    const std::size_t length = static_cast<std::uint8_t>(rest[0]) + 256u * static_cast<std::uint8_t>(rest[1]);
    rest.remove_prefix(2);
    const std::string_view part = rest.substr(0, length);
    rest.remove_prefix(part.size());
    return part;
  };
  fuzz::put(path / "source.spm", next());
  fuzz::put(path / "target.spm", next());
  fuzz::put(path / "vocab.json", rest);
  for (const text::Language side : {text::Language::source, text::Language::target})
    fuzz::must_return_or_blame_the_file([&] {
      const auto tokenizer = text::Tokenizer::load(path, side);
      const text::Encoding encoding = tokenizer->encode(">>hin<< the caf\u00E9 \u0915 12!");
      static_cast<void>(tokenizer->decode(encoding.ids));
    });
  return 0;
}

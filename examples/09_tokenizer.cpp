// 9. Train a tokenizer on a text file, look at the tokens of a sentence, and decode them one by one.
// Usage: 09_tokenizer [TEXT_FILE] [SENTENCE]
#include <cstdio>
#include <string>
#include <vector>

#include "regard/error.h"
#include "regard/tokenizer.h"

int main(int argc, char** argv) try {
  const std::vector<std::filesystem::path> files{argc > 1 ? argv[1] : "README.md"};
  const std::string sentence = argc > 2 ? argv[2] : "The translator attends to every word.";
  const regard::Tokenizer tokenizer =
      regard::Tokenizer::train(files, {.type = "byte-bpe", .vocabulary_size = 600});
  std::printf("%lld tokens, trained on %s\n\n", static_cast<long long>(tokenizer.vocabulary_size()),
              files[0].c_str());

  const regard::Encoding encoding = tokenizer.encode(sentence);
  std::printf("    id  bytes   token\n");
  for (std::size_t i = 0; i < encoding.ids.size(); ++i)
    std::printf("%6d  %2u–%-2u   %s\n", encoding.ids[i], encoding.offsets[i].begin, encoding.offsets[i].end,
                encoding.tokens[i].c_str());

  // A stream returns only complete characters, because a token may end within one.
  regard::TokenStream stream(tokenizer);
  std::string text;
  for (const std::int32_t id : encoding.ids) text += stream.push(id);
  text += stream.finish();
  std::printf("\ndecoded: %s\n", text.c_str());
  return text == sentence ? 0 : 1;
} catch (const regard::Error& error) {
  std::fprintf(stderr, "%s: %s\n", regard::name_of(error.kind()), error.what());
  return 1;
}

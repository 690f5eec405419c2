// Read a file of word vectors. The first byte selects the format of the remaining bytes. If the file loads,
// every word of it must be found.
#include <vector>

#include "base/thread_pool.h"
#include "target.h"
#include "vectors/word_vectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  using vectors::Format;
  using vectors::WordVectors;
  if (size == 0) return 0;
  static ThreadPool pool(1);
  static constexpr Format kFormats[] = {Format::automatic, Format::word2vec_text, Format::word2vec_binary,
                                        Format::glove, Format::fasttext_binary};
  const Format format = kFormats[data[0] % std::size(kFormats)];
  const std::filesystem::path path = fuzz::folder() / "vectors";
  fuzz::put(path, fuzz::text_of(data, size).substr(1));
  fuzz::must_return_or_blame_the_file([&] {
    const WordVectors vectors = WordVectors::load(path, pool, format);
    std::vector<float> vector(static_cast<std::size_t>(vectors.size()));
    for (std::size_t i = 0; i < vectors.count(); ++i) {
      vectors.copy(i, vector.data());
      if (vectors.find(vectors.word(i)) != i) std::abort();
    }
    vectors.vector_of("a word that is not there", vector.data());
  });
  return 0;
}

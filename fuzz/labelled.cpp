// Read SQuAD questions, tagged sentences, or labelled images (a pixel table or IDX files). The files may be
// compressed. The first byte selects the reader and its options.
#include "data/labelled_images.h"
#include "data/squad.h"
#include "data/tagged.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  if (size == 0) return 0;
  const bool skips = (data[0] & 8) != 0;
  const data::Faulty faulty = skips ? data::Faulty::skip : data::Faulty::refuse;
  const std::filesystem::path path = fuzz::folder() / (data[0] % 4 == 0   ? "f.json"
                                                       : data[0] % 4 == 1 ? "f.jsonl"
                                                                          : "f.conllu");
  fuzz::put(path, fuzz::text_of(data + 1, size - 1));
  fuzz::must_return_or_blame_the_file([&] {
    if (data[0] % 4 <= 1) data::read_questions(path.string(), {.malformed = faulty});
  });
  fuzz::must_return_or_blame_the_file([&] {
    if (data[0] % 4 != 2) return;
    data::TaggedReader reader({.files = {path.string()},
                               .dialect = (data[0] & 4) != 0 ? data::TaggedOptions::Dialect::plain
                                                             : data::TaggedOptions::Dialect::automatic,
                               .bad_utf8 = faulty,
                               .malformed = faulty});
    for (data::TaggedSentence sentence; reader.next(sentence);)
      if (sentence.words.size() != sentence.tags.size()) std::abort();
  });
  fuzz::must_return_or_blame_the_file([&] {
    if (data[0] % 4 != 3) return;
    if ((data[0] & 4) != 0)
      data::read_pixel_table({.file = path.string(), .malformed = faulty});
    else
      data::read_idx_images(path, path);
  });
  return 0;
}

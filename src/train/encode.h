// Functions that encode the texts of a corpus in parallel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "text/tokenizer.h"

namespace regard::train {

constexpr std::size_t kTextsAtOnce = 4096;  // number of texts that are encoded in one parallel call

// Return the token ids of each text.
std::vector<std::vector<std::int32_t>> encode_all(const text::Tokenizer& tokenizer,
                                                  std::span<const std::string> texts,
                                                  const text::EncodeOptions& options, ThreadPool& pool);

// Append the id `end`, unless it is negative or already the last id.
void end_with(std::vector<std::int32_t>& ids, std::int32_t end);

// Return the token ids of a running text, without special tokens. The text is encoded in parallel, with the
// same result as encoding it at once.
std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool);

// Encodes a text that is given in pieces of any length, without special tokens; the ids equal those of
// encoding the whole text at once. Memory use does not grow with the text, unless the tokenizer cannot encode
// the parts of a text separately.
class StreamEncoder {
 public:
  using Sink = std::function<void(std::span<const std::int32_t>)>;
  StreamEncoder(const text::Tokenizer& tokenizer, ThreadPool& pool, Sink sink)
      : tokenizer_(tokenizer), pool_(pool), sink_(std::move(sink)) {}

  // Add a piece. Calls the sink, in order, with the ids that do not depend on later text.
  void add(std::string_view piece);
  void finish();  // calls the sink with the remaining ids

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 24;  // default size of the buffer in bytes
  void encode(std::span<const std::string_view> parts);

  const text::Tokenizer& tokenizer_;
  ThreadPool& pool_;
  Sink sink_;
  std::string buffer_;          // text that has not been encoded yet
  std::size_t most_ = kBuffer;  // the buffer is encoded when it has at least this number of bytes
};

}  // namespace regard::train

// Encode the texts of a corpus in parallel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/tokenizer.h"

namespace regard::train {

constexpr std::size_t kTextsAtOnce = 4096;  // texts tokenized per batch

// Token ids of each text.
std::vector<std::vector<std::int32_t>> encode_all(const text::Tokenizer& tokenizer,
                                                  std::span<const std::string> texts,
                                                  const text::EncodeOptions& options, ThreadPool& pool);

// Append `end` unless it is -1 or the last id.
void end_with(std::vector<std::int32_t>& ids, std::int32_t end);

// Token ids of a running text, without special tokens. Encoded in parallel; identical to encoding the whole
// text at once.
std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool);

}  // namespace regard::train

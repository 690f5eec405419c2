// From text to what a reader is shown: tokenise, run once with a Capture, label.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "inspect/attention_view.h"

namespace regard::inspect {

struct AttendRequest {
  std::string model_name;  // for the record
  std::string text;
  // Encoder–decoders: the ids that the decoder wrote or is said to have written, the end token included.
  std::vector<std::int32_t> written;
  Selection selection;
  std::vector<Head> ablated;
  bool average = false;
};

// Throws usage if what is selected or ablated is not there, or the text has no tokens.
View attend(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request);

// The ids that stand for a target text: its tokens and the end token.
std::vector<std::int32_t> written_ids(const infer::LoadedModel& loaded, std::string_view target);
// The ids that the model itself writes, as its folder wants it decoded.
std::vector<std::int32_t> translated_ids(const infer::LoadedModel& loaded, ThreadPool& pool,
                                         std::string_view text);

// A token as it is shown: its text with "▁" for a space, or its name in the vocabulary where it is no whole
// text.
std::string shown_token(const text::Tokenizer& tokenizer, std::int32_t id);

}  // namespace regard::inspect

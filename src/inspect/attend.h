// From text to what a reader is shown: tokenise, run once with a Capture, label.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "inspect/attention_view.h"

namespace regard::inspect {

// What an encoder is given: ids as it reads them, and the token types of a pair.
struct Reading {
  std::vector<std::int32_t> ids, types;
};

struct AttendRequest {
  std::string model_name;  // for the record
  std::string text;
  std::string pair;  // encoders: a second text, after the first as the tokenizer joins them; empty: none
  std::optional<Reading> reading;  // encoders: what was read, where that is not all of text and pair
  // Encoder–decoders: the ids that the decoder wrote or is said to have written, the end token included.
  // Decoders: the ids that continue the text.
  std::vector<std::int32_t> written;
  Selection selection;
  std::vector<Head> ablated;
  bool average = false;
};

// Throws usage if what is selected or ablated is not there, or the text has no tokens.
View attend(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request);

// The same for one image [1, channels, height, width], as the model reads it; its name is request.text. Its
// tokens are the special ones and "row,column" for a patch.
View attend_image(Network& model, ThreadPool& pool, const Tensor& pixels, const AttendRequest& request);

// The ids that stand for a target text: its tokens and the end token.
std::vector<std::int32_t> written_ids(const infer::LoadedModel& loaded, std::string_view target);
// The ids that the model itself writes behind the text, or as its translation, as its folder wants it
// decoded; max_new as SearchOptions has it. Throws usage for encoders.
std::vector<std::int32_t> generated_ids(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        std::string_view text, std::int64_t max_new = 0);

// A token as it is shown: its text with "▁" for a space, or its name in the vocabulary where it is no whole
// text.
std::string shown_token(const text::Tokenizer& tokenizer, std::int32_t id);

}  // namespace regard::inspect

// From text to a View of attention: tokenise, run one pass with a Capture, label the maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "inspect/attention_view.h"

namespace regard::inspect {

// Encoder input: ids, special tokens included, and the token types of a pair.
struct Reading {
  std::vector<std::int32_t> ids, types;
};

struct AttendRequest {
  std::string model_name;  // copied to View::model
  std::string text;
  std::string pair;                // encoders: the second text of a pair; empty: none
  std::optional<Reading> reading;  // used instead of tokenising text and pair, for example if they were cut
  // Encoder–decoders: the generated or given target ids, including the end token. Decoders: the ids that
  // continue the text.
  std::vector<std::int32_t> written;
  Selection selection;
  std::vector<Head> ablated;
  bool average = false;
};

// Throws usage if a selected or ablated head does not exist or the request does not fit the kind of model,
// invalid_input if the text has no tokens.
View attend(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request);

// The same for one preprocessed image [1, channels, height, width] whose name is request.text. Its tokens are
// the special tokens and "row,column" for each patch.
View attend_image(Network& model, ThreadPool& pool, const Tensor& pixels, const AttendRequest& request);

// Return the ids of a target text, with the end token if there is one.
std::vector<std::int32_t> written_ids(const infer::LoadedModel& loaded, std::string_view target);
// Generate the continuation or translation of the text with the folder's search options and return its ids.
// max_new: as in SearchOptions; 0: the folder's value. Throws usage for encoders.
std::vector<std::int32_t> generated_ids(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        std::string_view text, std::int64_t max_new = 0);

// A token for display: its text with "▁" for a space, "⏎" for a line feed and "⇥" for a tab. Special tokens
// and tokens that are not complete characters are shown by their name in the vocabulary.
std::string shown_token(const text::Tokenizer& tokenizer, std::int32_t id);

}  // namespace regard::inspect

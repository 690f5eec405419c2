// From text to what a reader is shown: tokenise, run once with a Capture, label.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/attention_view.h"
#include "text/tokenizer.h"

namespace regard::inspect {

// A model with what it needs to read and write text.
struct Reader {
  Model& model;
  const text::Tokenizer& source;  // reads the encoder's text, or all of a one-sided model's
  const text::Tokenizer& target;  // often the same
  std::int32_t start_id = -1;     // what a decoder after an encoder reads first
  std::int32_t end_id = -1;       // what it writes last
};

struct AttendRequest {
  std::string model_name;  // for the record
  std::string text;
  // Encoder–decoders: the ids that the decoder wrote or is said to have written, `end_id` included.
  std::vector<std::int32_t> written;
  Selection selection;
  std::vector<Head> ablated;
  bool average = false;
};

// Throws usage if what is selected or ablated is not there, or the text has no tokens.
View attend(const Reader& reader, ThreadPool& pool, const AttendRequest& request);

// The ids that stand for a target text: its tokens and end_id.
std::vector<std::int32_t> written_ids(const Reader& reader, std::string_view target);

// A token as it is shown: its text with "▁" for a space, or its name in the vocabulary where it is no whole
// text.
std::string shown_token(const text::Tokenizer& tokenizer, std::int32_t id);

}  // namespace regard::inspect

// Evaluation of language models on conversations: loss of the tokens that the assistant wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

struct ConversationOptions {
  std::string chat_template;  // name of a chat template; empty means the model folder's template
  // maximum number of predicted tokens of a conversation; 0 means the model's maximum number of positions, or
  // no limit if it has none
  std::int64_t context = 0;
  bool cut = false;  // truncate longer conversations; if false, they are an error
};

// Compute the perplexity of the tokens that the assistant wrote (see train::encode_conversation()).
//   Data: .jsonl files with one list of messages per row (column "messages").
// Throws bad_file with file and line for a row that is not a conversation, and usage if the model's
// folder has no chat template.
Evaluation conversations(const Subject& subject, const DataOptions& data, const ConversationOptions& options);

}  // namespace regard::evaluate

// Encodes conversations as training examples for chat models: token ids, and a mask of the assistant's
// tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "data/weighted_sources.h"
#include "text/chat_template.h"
#include "train/batch.h"
#include "train/run_config.h"
#include "train/tokenizers.h"

namespace regard::train {

// The template that formats the conversations of a run, and the tokenizer of the model.
struct ChatFormat {
  text::TokenizerConfig config;
  text::ChatTemplate chat_template;
  std::shared_ptr<const text::Tokenizer> tokenizer;

  // Return a format with the chat template `name` or, if `name` is empty, with the default template of the
  // model folder. Throws as text::find_chat_template() does.
  static ChatFormat of(const Tokenizers& tokenizers, const std::string& name);
};

struct EncodedConversation {
  std::vector<std::int32_t> ids;
  // For each token, 1 if it is part of a message of the assistant, otherwise 0. The end token of a message is
  // part of the message; the prompt that the template writes before the message is not.
  std::vector<std::int32_t> written;

  // Return true if any token after the first one is part of a message of the assistant. The first token has
  // no label.
  bool is_counted() const;
};

// Throws invalid_input if the messages are malformed or the template cannot format them. Also throws it if
// the template formats the beginning of a conversation differently from the complete conversation, because
// the assistant's tokens cannot be located in this case.
EncodedConversation encode_conversation(const ChatFormat& format, const Json& messages);

struct ConversationStore {
  // for each conversation, its token ids and the values of EncodedConversation::written
  data::TokenStore ids, written;
  std::size_t size() const { return ids.size(); }
  // Append conversation `i` to a batch. Only tokens of the assistant have labels.
  void append(Batch& batch, std::size_t i, std::uint64_t index) const;
};

struct ConversationData {
  ConversationStore train, valid;
  data::SourceCounter sources;  // number of training conversations of each file
  std::vector<std::string> notes;
  std::uint64_t fingerprint = 0;
};

// Read data.train and data.valid. Conversations of more than training.context + 1 tokens are truncated;
// conversations without a token of the assistant are skipped and counted. Throws bad_file with file and line
// if a row is not a conversation, unless data.malformed is "skip".
ConversationData load_conversations(const RunConfig& config, const ChatFormat& format);

}  // namespace regard::train

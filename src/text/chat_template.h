// Conversations as the text that a chat model was trained on, by the folder's own template or a common one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizer_config.h"

namespace regard::text {

struct ChatOptions {
  bool add_generation_prompt = true;  // end where the model is to speak
  Json variables = Json::object();    // more of what the template may ask for: tools, documents, …
};

struct ChatTemplate {
  std::string text;  // in Jinja
  std::string name;  // for messages: the file, or which of the common ones
};

// `messages`: a list of {"role": …, "content": …}. The text holds the special tokens that the model needs,
// the first one included: it is to be encoded with special tokens matched and none added. Renders as
// transformers' apply_chat_template does. Throws bad_file (the template; what of Jinja is not supported is
// named) and usage (messages that are none; a conversation that the template refuses).
std::string render_chat(const TokenizerConfig& config, const ChatTemplate& chat_template,
                        const Json& messages, const ChatOptions& options = {});

// The template called `name`: one of the folder's, or a common one by its name (chatml, llama2, llama3,
// gemma, mistral, zephyr, phi). An empty name: the folder's default. Throws usage naming what there is.
ChatTemplate find_chat_template(const TokenizerConfig& config, std::string_view name);

const std::vector<std::string>& common_chat_templates();  // their names

}  // namespace regard::text

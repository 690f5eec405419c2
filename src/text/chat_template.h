// Formats a conversation as the input text of a chat model, with the chat template of the model folder or a
// built-in template.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizer_config.h"

namespace regard::text {

struct ChatOptions {
  bool add_generation_prompt = true;  // if true, the text ends with the prompt for the assistant's answer
  Json variables = Json::object();    // further template variables: tools, documents, …
};

struct ChatTemplate {
  std::string text;  // source of the template, in Jinja
  std::string name;  // name for error messages: the file, or the name of the built-in template
};

// Render `messages`, a list of {"role": …, "content": …}, as transformers' apply_chat_template does. The text
// contains all special tokens, including the first one; encode it with EncodeOptions::match_special = true
// and add_special = false. Throws bad_file for a template that is invalid or uses unsupported parts of Jinja,
// and invalid_input for malformed messages or a conversation that the template rejects.
std::string render_chat(const TokenizerConfig& config, const ChatTemplate& chat_template,
                        const Json& messages, const ChatOptions& options = {});

// Find the template `name`: a template of the model folder, or a built-in one (chatml, llama2, llama3, gemma,
// mistral, zephyr, phi). An empty name selects the folder's default. Throws usage if there is no such
// template; the error lists the available names.
ChatTemplate find_chat_template(const TokenizerConfig& config, std::string_view name);

const std::vector<std::string>& common_chat_templates();  // names of the built-in templates

}  // namespace regard::text

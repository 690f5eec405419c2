#include "text/chat_template.h"

#include <array>
#include <ctime>
#include <map>

#include "base/names.h"
#include "regard/error.h"
#include "text/jinja/render.h"

namespace regard::text {
namespace {

// Return the built-in chat templates by name, for model folders without a template. Each template writes or
// rejects a system message as models of its format require.
const std::map<std::string, std::string>& common_templates() {
  static const std::map<std::string, std::string> templates{
      {"chatml",
       R"({% for m in messages %}{{ '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}{% endfor %})"
       R"({% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})"},
      {"llama2", R"({% set system = messages[0].content if messages[0].role == 'system' else '' %})"
                 R"({% for m in (messages[1:] if system else messages) %})"
                 R"({% if (m.role == 'user') != (loop.index0 % 2 == 0) %})"
                 R"({{ raise_exception('user and assistant must take turns') }}{% endif %})"
                 R"({% if m.role == 'user' %}{{ bos_token ~ '[INST] ' }})"
                 R"({{ '<<SYS>>\n' ~ system ~ '\n<</SYS>>\n\n' if loop.first and system else '' }})"
                 R"({{ m.content | trim ~ ' [/INST]' }})"
                 R"({% else %}{{ ' ' ~ m.content | trim ~ ' ' ~ eos_token }}{% endif %}{% endfor %})"},
      {"llama3",
       R"({{ bos_token }}{% for m in messages %})"
       R"({{ '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\n\n' ~ m.content | trim ~ '<|eot_id|>' }})"
       R"({% endfor %})"
       R"({% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})"},
      {"gemma", R"({{ bos_token }}{% for m in messages %})"
                R"({% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %})"
                R"({% if (m.role == 'user') != (loop.index0 % 2 == 0) %})"
                R"({{ raise_exception('user and assistant must take turns') }}{% endif %})"
                R"({{ '<start_of_turn>' ~ ('model' if m.role == 'assistant' else m.role) ~ '\n' }})"
                R"({{ m.content | trim ~ '<end_of_turn>\n' }}{% endfor %})"
                R"({% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})"},
      {"mistral",
       R"({% set system = messages[0].content if messages[0].role == 'system' else '' %}{{ bos_token }})"
       R"({% for m in (messages[1:] if system else messages) %})"
       R"({% if (m.role == 'user') != (loop.index0 % 2 == 0) %})"
       R"({{ raise_exception('user and assistant must take turns') }}{% endif %})"
       R"({% if m.role == 'user' %})"
       R"({{ ' [INST] ' ~ (system ~ '\n\n' if loop.first and system else '') ~ m.content ~ ' [/INST]' }})"
       R"({% else %}{{ ' ' ~ m.content ~ eos_token }}{% endif %}{% endfor %})"},
      {"zephyr",
       R"({% for m in messages %}{{ '<|' ~ m.role ~ '|>\n' ~ m.content ~ eos_token ~ '\n' }}{% endfor %})"
       R"({% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %})"},
      {"phi", R"({% for m in messages %}{{ '<|' ~ m.role ~ '|>\n' ~ m.content ~ '<|end|>\n' }}{% endfor %})"
              R"({% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %})"},
  };
  return templates;
}

jinja::Value now(const jinja::Arguments& arguments) {
  const jinja::Value* format = arguments.find(0, "format");
  if (format == nullptr || format->text() == nullptr)
    throw Error(ErrorKind::bad_file, "chat template: wrong argument of strftime_now()")
        .found(format == nullptr ? "no argument" : format->type())
        .expected("a format string");
  const std::time_t time = std::time(nullptr);
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 256> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format->text()->c_str(), &local));
}

void check_messages(const Json& messages) {
  const auto wrong = [](const Json& found) {
    return input_error("not a conversation")
        .found(describe(found))
        .expected("a list of messages such as {\"role\": …, \"content\": …}");
  };
  if (!messages.is_array() || messages.empty()) throw wrong(messages);
  for (const Json& message : messages)
    if (!message.is_object() || !message.contains("role") || !message.at("role").is_string())
      throw wrong(message);
}

}  // namespace

const std::vector<std::string>& common_chat_templates() {
  static const std::vector<std::string> names = names_of(common_templates());
  return names;
}

ChatTemplate find_chat_template(const TokenizerConfig& config, std::string_view name) {
  if (name.empty() && config.chat_template) return {*config.chat_template, config.template_file};
  const std::string key(name);
  if (const auto found = config.named_templates.find(key); found != config.named_templates.end())
    return {found->second, config.template_file};
  if (const auto found = common_templates().find(key); found != common_templates().end())
    return {found->second, "the " + key + " template"};
  std::string known;
  for (const auto& [other, text] : config.named_templates) known += other + ", ";
  for (const std::string& other : common_chat_templates()) known += other + ", ";
  known.erase(known.size() - 2);
  if (name.empty())
    throw usage_error("the folder has no chat template")
        .remedy("Choose the one that the model was trained with (--chat-template): " + known);
  throw usage_error("unknown chat template").found("\"" + key + "\"").expected("one of " + known);
}

std::string render_chat(const TokenizerConfig& config, const ChatTemplate& chat_template,
                        const Json& messages, const ChatOptions& options) {
  check_messages(messages);
  jinja::Dict variables{{"messages", jinja::Value::from_json(messages)},
                        {"tools", jinja::Value::None{}},
                        {"documents", jinja::Value::None{}},
                        {"add_generation_prompt", options.add_generation_prompt},
                        {"strftime_now", jinja::Function(now)}};
  for (const auto& [role, token] : config.special_tokens) variables.emplace_back(role, jinja::Value(token));
  for (const auto& [key, value] : options.variables.items()) {
    std::erase_if(variables, [&](const auto& entry) { return entry.first == key; });
    variables.emplace_back(key, jinja::Value::from_json(value));
  }
  return jinja::render(chat_template.text, chat_template.name, std::move(variables));
}

}  // namespace regard::text

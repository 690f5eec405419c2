// Render a chat template with a conversation that has tool calls and content parts. An error must be of kind
// bad_file or usage and name the file of the template, or of kind invalid_input, which raise_exception()
// throws.
#include "base/json.h"
#include "target.h"
#include "text/jinja/render.h"

namespace {

const regard::base::Json& conversation() {
  static const regard::base::Json json = regard::base::Json::parse(R"([
    {"role": "system", "content": " Be kind.\n"},
    {"role": "user", "content": [{"type": "text", "text": "caf\u00e9"}, {"type": "image"}]},
    {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, true]}}}]},
    {"role": "tool", "content": "{}"}])");
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  namespace jinja = text::jinja;
  try {
    static_cast<void>(jinja::render(fuzz::text_of(data, size), "chat_template.jinja",
                                    {{"messages", jinja::Value::from_json(conversation())},
                                     {"bos_token", "<s>"},
                                     {"eos_token", "</s>"},
                                     {"tools", jinja::Value::None{}},
                                     {"add_generation_prompt", true}},
                                    std::size_t{1} << 22));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_input) return 0;  // the template called raise_exception()
    const bool blamed = error.kind() == ErrorKind::bad_file || error.kind() == ErrorKind::usage;
    if (!blamed || error.place().file != "chat_template.jinja") std::abort();
  }
  return 0;
}

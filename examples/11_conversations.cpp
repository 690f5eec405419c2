// 11. Answer two conversations at the same time with one model, and print each answer as it is generated.
// Usage: 11_conversations MODEL_FOLDER [TEMPLATE]. The model is a decoder. TEMPLATE names a chat template.
// Default: the template of the model's folder.
#include <cstdio>
#include <string>
#include <vector>

#include "regard/error.h"
#include "regard/session.h"

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: 11_conversations MODEL_FOLDER [TEMPLATE]\n"), 2;
  const regard::Model model = regard::load(argv[1]);
  const std::string chat_template = argc > 2 ? argv[2] : "";
  const std::vector<std::vector<regard::Message>> conversations{
      {{"system", "Answer in one sentence."}, {"user", "What is a bank?"}},
      {{"user", "Name a river."}, {"assistant", "The Ganges."}, {"user", "Name another one."}},
  };
  std::vector<std::string> answers(conversations.size());
  regard::Sessions sessions(model, {.cache_tokens = 4096});
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const auto show = [&answers, i](std::string_view piece) {
      std::printf("[%zu] %.*s\n", i, static_cast<int>(piece.size()), piece.data());
      answers[i] += piece;
    };
    sessions.chat(conversations[i], {.beam = 1, .max_new = 40}, {.text = show}, chat_template);
  }
  while (sessions.step()) {
  }
  for (std::size_t i = 0; i < answers.size(); ++i) std::printf("\n%zu: %s\n", i, answers[i].c_str());
  return 0;
} catch (const regard::Error& error) {
  std::fprintf(stderr, "%s: %s\n", regard::name_of(error.kind()), error.what());
  return 1;
}

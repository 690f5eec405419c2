// Streaming generation, n-best lists, a conversation, and translation of lines with progress.
//
//   write FOLDER TEXT
#include <regard/regard.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

int run(const std::string& folder, const std::string& text) {
  const regard::Model model = regard::load(folder, [](double share) {
    std::fprintf(stderr, "loading: %.0f %%\n", 100.0 * share);
    return true;
  });
  std::string shown;
  const regard::WriteCallbacks show{.text = [&](std::string_view piece) { shown += piece; }};
  const std::vector<regard::Written> greedy = model.write(text, {.beam = 1, .max_new = 16}, show);
  if (greedy.empty() || shown != greedy[0].text) return 1;
  for (const regard::Written& one : model.write(text, {.beam = 3, .max_new = 16, .n_best = 3}))
    std::printf("%8.4f %s\n", one.score, one.text.c_str());
  if (model.generates()) {
    const std::vector<regard::Message> conversation{{"user", text}};
    for (const regard::Written& one :
         model.chat(conversation, {.max_new = 16, .stop = {"<|im_end|>"}}, {}, "chatml"))
      std::printf("answer: %s\n", one.text.c_str());
    return 0;
  }
  const std::vector<std::string> lines{text, "", text};
  double done = 0.0;
  const auto translated =
      model.translate(lines, {.max_new = 16}, [&](double share) { return done = share, true; });
  std::printf("%zu lines, %.0f %% done\n", translated.size(), 100.0 * done);
  return translated[0] == translated[2] && translated[1].empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto done = regard::attempt([&] { return run(argv[1], argv[2]); });
  if (!done) return std::fprintf(stderr, "%s\n", done.error().what()), 1;
  return done.value();
}

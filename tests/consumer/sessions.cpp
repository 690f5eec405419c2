// Generate several texts at once: requests join while others run, each streams its text, and one is
// cancelled.
//
//   sessions FOLDER TEXT…
#include <regard/regard.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

struct Line {
  std::string shown;
  regard::SessionResult result;
  int pieces = 0;
};

const char* word(regard::SessionEnd end) {
  switch (end) {
    case regard::SessionEnd::finished:
      return "finished";
    case regard::SessionEnd::cancelled:
      return "cancelled";
    case regard::SessionEnd::failed:
      return "failed";
  }
  return "";
}

int run(const std::string& folder, const std::vector<std::string>& texts) {
  const regard::Model model = regard::load(folder);
  const regard::SessionLimits limits{.rows = 4, .cache_tokens = 2048};
  const regard::SessionMemory memory = regard::session_memory(model, limits);
  std::printf("weights %lld bytes, cache %lld bytes\n", static_cast<long long>(memory.weights),
              static_cast<long long>(memory.cache));

  std::vector<Line> lines(texts.size() + 1);
  regard::Sessions sessions(model, limits);
  const auto join = [&](std::size_t i, const std::string& text, const regard::DecodingOptions& options) {
    Line& line = lines[i];
    return sessions.join(text, options,
                         {.text = [&line](std::string_view piece) { line.shown += piece, ++line.pieces; },
                          .done = [&line](const regard::SessionResult& result) { line.result = result; }});
  };

  // One request joins at each step, so that all are at different positions.
  for (std::size_t i = 0; i < texts.size(); ++i) {
    join(i, texts[i], {.beam = 1, .max_new = 24});
    sessions.step();
  }
  // This request is cancelled while it runs.
  const regard::Sessions::Id given_up =
      join(texts.size(), texts[0], {.max_new = 24, .sample = true, .seed = 7});
  sessions.step();
  if (!sessions.cancel(given_up)) std::printf("it was over before\n");
  while (sessions.step()) {
  }

  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].result.end == regard::SessionEnd::finished && lines[i].shown != lines[i].result.text)
      return 1;
    std::printf("%s: %s\n", word(lines[i].result.end), lines[i].result.text.c_str());
  }
  auto refused = regard::attempt([&] { return sessions.join(texts[0], {.max_new = 1000000}); });
  if (!refused) std::printf("refused: %s\n", refused.error().what());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto done = regard::attempt([&] { return run(argv[1], {argv + 2, argv + argc}); });
  if (!done) return std::fprintf(stderr, "%s\n", done.error().what()), 1;
  return done.value();
}

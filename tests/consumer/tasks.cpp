// Tasks of encoders: find the lines most similar to a query, classify texts, answer a question from a text,
// predict masked tokens; and quantise a model.
//
//   tasks embed FOLDER QUERY LINE…
//   tasks classify FOLDER TEXT…
//   tasks answer FOLDER QUESTION TEXT
//   tasks fill FOLDER TEXT
//   tasks quantize FOLDER NEW_FOLDER
#include <regard/regard.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

void embed(const std::string& folder, const std::string& query, const std::vector<std::string>& lines) {
  const regard::Embedder embedder(folder);
  const regard::Tensor like = embedder.similarities(embedder.embed(query), embedder.embed(lines));
  for (std::size_t i = 0; i < lines.size(); ++i)
    std::printf("%.4f %s\n", static_cast<double>(like.f32()[i]), lines[i].c_str());
}

void classify(const std::string& folder, const std::vector<std::string>& texts) {
  const regard::Classifier classifier(regard::load(folder));
  for (const auto& labels : classifier.classify(texts))
    std::printf("%s %.4f\n", labels[0].name.c_str(), static_cast<double>(labels[0].score));
}

void answer(const std::string& folder, const std::string& question, const std::string& text) {
  const regard::Answerer answerer(regard::load(folder), {.count = 3});
  for (const regard::Answer& one : answerer.answer(question, text))
    std::printf("%.4f [%zu, %zu) %s\n", static_cast<double>(one.score), one.begin, one.end, one.text.c_str());
}

void fill(const std::string& folder, const std::string& text) {
  const regard::Filler filler(regard::load(folder));
  for (const auto& mask : filler.fill(text, 3))
    for (const regard::Filling& one : mask)
      std::printf("%.4f %s\n", static_cast<double>(one.score), one.sequence.c_str());
}

void run(const std::string& task, const std::string& folder, const std::vector<std::string>& texts) {
  if (task == "embed" && texts.size() > 1) return embed(folder, texts[0], {texts.begin() + 1, texts.end()});
  if (task == "classify") return classify(folder, texts);
  if (task == "answer" && texts.size() == 2) return answer(folder, texts[0], texts[1]);
  if (task == "fill") return fill(folder, texts[0]);
  if (task == "quantize") return regard::quantize(folder, texts[0]);
  std::printf("see the first lines of tasks.cpp\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto done = regard::attempt([&] { run(argv[1], argv[2], {argv + 3, argv + argc}); });
  if (!done) return std::fprintf(stderr, "%s\n", done.error().what()), 1;
  return 0;
}

// 16. Pictures of docs/attention.md as SVG on standard output: `16_pictures softmax` and `16_pictures
// sinusoids`.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "regard/math.h"

using regard::Tensor;

static void begin(int width, int height, const char* title) {
  std::printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
      "font-family=\"sans-serif\" "
      "font-size=\"14\" role=\"img\">\n<title>%s</title>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      width, height, width, title);
}
static void text(double x, double y, const char* anchor, const char* content) {
  std::printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, content);
}

// Draw the softmax of five scores, multiplied by 1, 2 and 8: the larger the differences, the larger the
// weight of the largest score.
static void draw_softmax() {
  const char* words[] = {"the", "exam", "was", "easy", "cake"};
  const Tensor scores = Tensor::of({1, 5}, {0.1F, 0.8F, 0.2F, 1.0F, 0.6F});
  begin(420, 300, "Softmax as competition: weights of five words for scores times 1, 2 and 8");
  for (int panel = 0; panel < 3; ++panel) {
    const int factor = panel == 0 ? 1 : panel == 1 ? 2 : 8;
    const Tensor weights = regard::softmax(regard::scale(scores, static_cast<float>(factor)));
    const double left = 60 + panel * 122.0;
    char label[32];
    std::snprintf(label, sizeof label, "scores × %d", factor);
    text(left + 52, 22, "middle", label);
    for (int word = 0; word < 5; ++word) {
      const double top = 42.0 + word * 50, weight = static_cast<double>(weights.f32()[word]);
      if (panel == 0) text(50, top + 21, "end", words[word]);
      std::printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"30\" fill=\"#2166ac\"/>\n", left, top,
                  std::max(1.0, 70 * weight));
      std::snprintf(label, sizeof label, "%.2f", weight);
      text(left + 70 * weight + 5, top + 21, "start", label);
    }
  }
  std::printf("</svg>\n");
}

// Sinusoidal positions: a row for each position, a column for each feature; red is +1, blue is −1, white is
// 0.
static void draw_sinusoids() {
  constexpr int kPositions = 24, kFeatures = 32, kCell = 11, kLeft = 44, kTop = 40;
  const Tensor table = regard::sinusoidal_positions(kPositions, kFeatures);
  begin(kLeft + kFeatures * kCell + 14, kTop + kPositions * kCell + 34,
        "Sinusoidal positions: 24 positions, 32 features");
  text(kLeft, 16, "start", "feature (even: sine, odd: cosine)");
  for (int feature : {0, 8, 16, 24, 31})
    text(kLeft + (feature + 0.5) * kCell, 34, "middle", std::to_string(feature).c_str());
  for (int position = 0; position < kPositions; ++position) {
    if (position % 4 == 0 || position == kPositions - 1)
      text(kLeft - 6, kTop + (position + 0.9) * kCell, "end", std::to_string(position).c_str());
    for (int feature = 0; feature < kFeatures; ++feature) {
      const double value = static_cast<double>(table.row(position)[feature]);
      const int fade = static_cast<int>(255 * (1 - std::min(1.0, value < 0 ? -value : value)));
      std::printf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\"/>\n",
                  kLeft + feature * kCell, kTop + position * kCell, kCell, kCell, value < 0 ? fade : 255,
                  fade, value < 0 ? 255 : fade);
    }
  }
  text(kLeft, kTop + kPositions * kCell + 22, "start", "position ↓   red +1, white 0, blue −1");
  std::printf("</svg>\n");
}

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "softmax") == 0) return draw_softmax(), 0;
  if (count == 2 && std::strcmp(arguments[1], "sinusoids") == 0) return draw_sinusoids(), 0;
  std::fprintf(stderr, "usage: 16_pictures softmax|sinusoids\n");
  return 2;
}

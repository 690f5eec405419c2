#include "inspect/word_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/counted.h"
#include "base/utf8.h"
#include "inspect/capture.h"
#include "inspect/shown_tokens.h"
#include "inspect/silhouette.h"
#include "ops/parameter.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "text/unicode.h"

namespace regard::inspect {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool is_word_character(char32_t c) {
  using text::unicode::Category;
  const Category category = text::unicode::category(c);
  return (category >= Category::letter_upper && category <= Category::letter_other) ||
         (category >= Category::mark_nonspacing && category <= Category::mark_enclosing) ||
         (category >= Category::number_decimal && category <= Category::number_other);
}

// Return the first occurrence of the word as a whole word, as a range of code points; (0, 0) if there is
// none.
text::Offsets find_word(std::u32string_view text, std::u32string_view word) {
  const std::u32string wanted = utf8::lower(word);
  for (std::size_t at = 0; at + word.size() <= text.size(); ++at) {
    const std::size_t end = at + word.size();
    if (at > 0 && is_word_character(text[at - 1])) continue;
    if (end < text.size() && is_word_character(text[end])) continue;
    if (utf8::lower(text.substr(at, word.size())) == wanted)
      return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)};
  }
  return {};
}

// The token ids of one sentence, and the indices of the word's tokens.
struct Located {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> rows;
};

Located locate(const infer::LoadedModel& loaded, const std::string& word, const ContextSentence& sentence) {
  const std::string text = loaded.as_trained(sentence.text);
  const text::Offsets place = find_word(utf8::code_points(text), utf8::code_points(word));
  if (place.begin == place.end)
    throw input_error("the sentence does not contain the word")
        .found("'" + sentence.text + "'")
        .expected("'" + word + "' as a whole word");
  const text::Encoding encoding =
      loaded.source->encode(text, {.add_special = false, .match_special = false, .as_file = false});
  Located located;
  located.ids = loaded.read(sentence.text).ids;
  // Search for the text's tokens, because the tokenizer may add special tokens before and after them.
  const auto begin =
      std::search(located.ids.begin(), located.ids.end(), encoding.ids.begin(), encoding.ids.end());
  if (begin == located.ids.end() && !encoding.ids.empty())
    throw input_error("the tokens of the sentence cannot be matched with its text")
        .found("'" + sentence.text + "'");
  for (std::size_t t = 0; t < encoding.size(); ++t)
    if (encoding.offsets[t].begin < place.end && encoding.offsets[t].end > place.begin)
      located.rows.push_back(static_cast<std::size_t>(begin - located.ids.begin()) + t);
  if (located.rows.empty())
    throw input_error("the word has no token in the sentence").found("'" + sentence.text + "'");
  return located;
}

// Return the token embedding table of the encoder, or of the decoder in a decoder-only model; null if there
// is none.
const Parameter* token_table(Network& model) {
  const std::int64_t rows = model.source_vocabulary();
  for (const Parameter* parameter : model.parameters())
    if (parameter->use == Parameter::Use::table && parameter->variable.value.shape()[0] == rows)
      return parameter;
  return nullptr;
}

// The name and the vector [features] of each layer, in the order of computation.
using Vectors = std::vector<std::pair<std::string, std::vector<float>>>;

std::vector<float> mean_rows(const Tensor& table, std::span<const std::size_t> rows) {
  std::vector<float> mean(static_cast<std::size_t>(table.columns()), 0.0f);
  for (const std::size_t row : rows)
    for (std::size_t f = 0; f < mean.size(); ++f) mean[f] += table.row(static_cast<std::int64_t>(row))[f];
  for (float& value : mean) value /= static_cast<float>(rows.size());
  return mean;
}

Vectors vectors_of(Network& model, ThreadPool& pool, const Located& located, const Tensor& table,
                   const EditedPass* edits) {
  Selection selection;
  selection.weights = false, selection.hidden_states = true;
  Capture capture(selection);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  EditedPass changed(&capture);
  if (edits != nullptr) changed.add(*edits);
  tape.probe = &changed;
  InputBuffer input;
  input.add(ModelInput(located.ids), std::ssize(located.ids), 0);
  const bool decoder = model.kind() == ModelKind::decoder;
  if (decoder)
    model.decode(tape, input.batch(), nullptr, nullptr);
  else
    model.encode(tape, input.batch());
  Vectors vectors;
  if (table.defined()) {
    std::vector<std::size_t> ids;
    for (const std::size_t row : located.rows) ids.push_back(static_cast<std::size_t>(located.ids[row]));
    vectors.emplace_back("static", mean_rows(table, ids));
  }
  const std::string side = decoder ? "decoder" : "encoder";
  const auto& states = capture.hidden_states();
  const auto add = [&](const std::string& name, const std::string& point) {
    const auto found = states.find(side + "." + point);
    if (found != states.end()) vectors.emplace_back(name, mean_rows(found->second, located.rows));
    return found != states.end();
  };
  add("input", "embedding");
  for (std::int64_t layer = 0; add(fmt::format("layer {}", layer), fmt::format("{}.residual", layer));
       ++layer) {
  }
  add("output", "output");
  return vectors;
}

double cosine_of(const float* a, const float* b, std::int64_t count) {
  double product = 0, first = 0, second = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    product += x * y, first += x * x, second += y * y;
  }
  const double norm = std::sqrt(first) * std::sqrt(second);
  return norm > 0 ? std::clamp(product / norm, -1.0, 1.0) : 0.0;
}

// Return the silhouette of the occurrences whose sense is known. `cosine` has the cosines of all pairs.
double silhouette_of(std::span<const double> cosine, std::span<const std::int32_t> senses) {
  std::vector<std::size_t> known;
  std::vector<std::int32_t> groups;
  for (std::size_t i = 0; i < senses.size(); ++i)
    if (senses[i] >= 0) known.push_back(i), groups.push_back(senses[i]);
  std::vector<double> distances;
  for (const std::size_t a : known)
    for (const std::size_t b : known) distances.push_back(1.0 - cosine[a * senses.size() + b]);
  return silhouette(distances, groups);
}

// Set the members of `layer` that are computed from its vectors. A sense below 0 means unknown.
void compare(ContextLayer& layer, std::span<const std::int32_t> senses) {
  const std::int64_t n = layer.vectors.rows();
  const auto at = [&](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * n + b); };
  layer.cosine.assign(static_cast<std::size_t>(n * n), 1.0);
  double sums[2] = {0, 0}, all = 0;
  std::int64_t counts[2] = {0, 0};
  for (std::int64_t a = 0; a < n; ++a)
    for (std::int64_t b = 0; b < a; ++b) {
      const double cosine = cosine_of(layer.vectors.row(a), layer.vectors.row(b), layer.vectors.columns());
      layer.cosine[at(a, b)] = layer.cosine[at(b, a)] = cosine;
      all += cosine;
      const std::int32_t first = senses[static_cast<std::size_t>(a)],
                         second = senses[static_cast<std::size_t>(b)];
      if (first < 0 || second < 0) continue;
      sums[first == second ? 1 : 0] += cosine, ++counts[first == second ? 1 : 0];
    }
  const auto mean = [](double sum, std::int64_t count) {
    return count == 0 ? kNone : sum / static_cast<double>(count);
  };
  layer.mean_cosine = mean(all, n * (n - 1) / 2);
  layer.other_sense = mean(sums[0], counts[0]), layer.same_sense = mean(sums[1], counts[1]);
  for (std::int64_t a = 0; a < n; ++a) {
    std::int64_t best = -1;
    for (std::int64_t b = 0; b < n; ++b)
      if (b != a && (best < 0 || layer.cosine[at(a, b)] > layer.cosine[at(a, best)])) best = b;
    layer.nearest.push_back(best);
  }
  layer.silhouette = silhouette_of(layer.cosine, senses);
  layer.plane = principal_plane(layer.vectors);
}

// Return the number of each sentence's sense, from 0; −1 for a sentence without a sense.
std::vector<std::int32_t> sense_numbers(std::span<const ContextSentence> sentences) {
  std::map<std::string, std::int32_t> numbers;
  std::vector<std::int32_t> senses;
  for (const ContextSentence& sentence : sentences)
    senses.push_back(
        sentence.sense.empty()
            ? -1
            : numbers.emplace(sentence.sense, static_cast<std::int32_t>(numbers.size())).first->second);
  return senses;
}

}  // namespace

WordContext word_context(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& word,
                         std::vector<ContextSentence> sentences, const EditedPass* edits) {
  Network& model = *loaded.model;
  model.input_spec().require(InputKind::tokens);
  if (word.empty()) throw input_error("the word to compare is empty").expected("at least one character");
  if (sentences.empty()) throw input_error("expected at least one sentence, found none");
  if (sentences.size() > kMostContextSentences)
    throw usage_error("too many sentences")
        .found(counted(sentences.size(), "sentence"))
        .expected(fmt::format("at most {} sentences", kMostContextSentences));
  WordContext context;
  context.word = word;
  context.sentences = std::move(sentences);
  context.has_senses = std::any_of(context.sentences.begin(), context.sentences.end(),
                                   [](const ContextSentence& s) { return !s.sense.empty(); });
  const Parameter* const table = token_table(model);
  const Tensor rows = table == nullptr ? Tensor() : table->is_held() ? table->widened() : table->value();
  const auto count = static_cast<std::int64_t>(context.sentences.size());
  for (std::int64_t s = 0; s < count; ++s) {
    const Located located = locate(loaded, word, context.sentences[static_cast<std::size_t>(s)]);
    WordPlace& place = context.places.emplace_back();
    place.sentence = static_cast<std::size_t>(s);
    for (const std::size_t row : located.rows)
      place.tokens.push_back(shown_token(*loaded.source, located.ids[row]));
    std::size_t layer = 0;
    for (const auto& [name, values] : vectors_of(model, pool, located, rows, edits)) {
      if (s == 0)
        context.layers.push_back({name, Tensor::zeros({count, std::ssize(values)}), {}, {}, 0, 0, 0, 0, {}});
      std::copy(values.begin(), values.end(), context.layers[layer++].vectors.row(s));
    }
  }
  const std::vector<std::int32_t> senses = sense_numbers(context.sentences);
  for (ContextLayer& layer : context.layers) compare(layer, senses);
  return context;
}

}  // namespace regard::inspect

// One word in several sentences: its vector at every layer, and how similar these vectors are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "infer/loaded_model.h"
#include "inspect/edited_pass.h"
#include "inspect/principal_components.h"

namespace regard::inspect {

struct ContextSentence {
  std::string text;
  std::string sense;  // sense of the word in this sentence; may be empty
};

// An occurrence of the word: the first in its sentence.
struct WordPlace {
  std::size_t sentence = 0;         // index of the sentence, from 0
  std::vector<std::string> tokens;  // tokens of the word
};

// The vectors of one layer, and statistics of them.
struct ContextLayer {
  std::string name;            // name of the layer: "static", "input", "layer 0", …, "output"
  Tensor vectors;              // vectors [occurrences, features], each the mean over the word's tokens
  std::vector<double> cosine;  // cosines [occurrences, occurrences] between the vectors
  // for each occurrence, the index of the other occurrence with the largest cosine; −1 if there is none
  std::vector<std::int64_t> nearest;
  double mean_cosine = 0;  // mean cosine over all pairs of occurrences
  // Mean cosines over pairs with the same sense and over pairs with different senses, and the silhouette
  // (inspect/silhouette.h, distance 1 − cosine). NaN without senses or without such pairs.
  double same_sense = 0, other_sense = 0, silhouette = 0;
  PlaneProjection plane;
};

struct WordContext {
  std::string model, word;
  bool has_senses = false;
  std::vector<ContextSentence> sentences;
  std::vector<WordPlace> places;  // place of the word in each sentence
  std::vector<ContextLayer> layers;
};

constexpr std::size_t kMostContextSentences = 1000;

// Run the encoder, or the decoder of a decoder-only model, on each sentence. "static" is the word's row of
// the token embedding table, "input" is the first layer's input (with positions), "output" follows the final
// norm. The word is found regardless of case, as a whole word. Throws usage for a model that does not read
// text and for more than kMostContextSentences sentences. Throws invalid_input if `word` is empty, if there
// is no sentence, or if a sentence lacks the word. `edits`: interventions of every pass; may be null.
WordContext word_context(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& word,
                         std::vector<ContextSentence> sentences, const EditedPass* edits = nullptr);

// Return one JSON object. With `vectors`, each layer includes its vectors.
std::string context_json(const WordContext& context, bool vectors);
// Draw one panel for each layer. It shows the occurrences in the plane of PlaneProjection, coloured by
// sense.
std::string context_svg(const WordContext& context);

}  // namespace regard::inspect

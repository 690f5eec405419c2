// Compare the vectors of one word in several sentences, at every layer of the model.
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

// The first occurrence of the word in a sentence.
struct WordPlace {
  std::size_t sentence = 0;         // index of the sentence, from 0
  std::vector<std::string> tokens;  // tokens of the word, for display
};

// The word's vectors at one layer, one per occurrence, with their cosine similarities and other statistics.
struct ContextLayer {
  // Name of the layer: "static" (token embedding table), "input" (input of the first layer, with positions),
  // "layer 0", …, or "output" (after the final norm).
  std::string name;
  Tensor vectors;              // vectors [occurrences, features], each the mean over the word's tokens
  std::vector<double> cosine;  // cosines [occurrences, occurrences] between the vectors
  // for each occurrence, the index of the other occurrence with the largest cosine; −1 if there is none
  std::vector<std::int64_t> nearest;
  double mean_cosine = 0;  // mean cosine over all pairs of occurrences
  // Mean cosines over pairs with the same sense and over pairs with different senses, and the silhouette
  // (inspect/silhouette.h, distance 1 − cosine). Sentences without a sense are not counted. NaN without
  // senses or without such pairs.
  double same_sense = 0, other_sense = 0, silhouette = 0;
  PlaneProjection plane;
};

struct WordContext {
  std::string model, word;
  bool has_senses = false;
  std::vector<ContextSentence> sentences;
  std::vector<WordPlace> places;  // first occurrence of the word in each sentence
  std::vector<ContextLayer> layers;
};

constexpr std::size_t kMostContextSentences = 1000;

// Run the encoder, or the decoder of a decoder-only model, on each sentence, and compare the vectors of
// `word`. The word is found as a whole word, regardless of case. `edits` are interventions of every pass; may
// be null. Throws usage for a model that does not read text and for more than kMostContextSentences
// sentences. Throws invalid_input if `word` is empty, if there is no sentence, or if a sentence does not
// contain the word.
WordContext word_context(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& word,
                         std::vector<ContextSentence> sentences, const EditedPass* edits = nullptr);

// Return one JSON object. With `vectors`, each layer includes its vectors.
std::string context_json(const WordContext& context, bool vectors);
// Draw one panel for each layer, which shows the occurrences in ContextLayer::plane, coloured by sense.
std::string context_svg(const WordContext& context);

}  // namespace regard::inspect

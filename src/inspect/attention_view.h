// View: the tokens, attention weights and other values of one pass, prepared for display and for JSON.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "infer/hypotheses.h"
#include "inspect/capture.h"
#include "inspect/head_summary.h"
#include "inspect/intervention_warning.h"
#include "models/network.h"
#include "ops/attention_parameters.h"
#include "text/encoding.h"

namespace regard::inspect {

// Vocabulary entry of a displayed token.
struct TokenOrigin {
  std::int32_t id = 0;
  // the bytes that the token represents; may end inside a character; empty without a tokenizer
  std::optional<std::string> bytes = {};
};

// Display texts, flags and vocabulary entries of the tokens of a view.
struct Tokens {
  std::vector<std::string> source;   // encoder input; empty for a decoder-only model
  std::vector<std::string> target;   // decoder input; empty for an encoder
  std::vector<std::string> written;  // token generated at each target position
  // True for each special token (a separator, a start or end token). Empty if unknown.
  std::vector<bool> special_source = {}, special_target = {}, special_written = {};
  // True for each token of a word that does not occur in the training data. Empty if there is no such word
  // or the training words are not known.
  std::vector<bool> unseen_source = {}, unseen_target = {};
  // Vocabulary entry of each token. Empty if not known.
  std::vector<TokenOrigin> source_origin = {}, target_origin = {}, written_origin = {};
};

// The tokens into which one tokenizer splits a text. The vectors have one element per token.
struct TokenizedText {
  std::string name;             // name of the tokenizer, given by the caller
  std::string type;             // type of the tokenizer's model: BPE, WordPiece, Unigram, …
  std::int64_t vocabulary = 0;  // largest id + 1
  std::vector<std::string> text;
  std::vector<TokenOrigin> origin;
  std::vector<bool> special;
  // code points of the text that the token covers; (0, 0) for added special tokens
  std::vector<text::Offsets> places;
};

// Queries, keys and values of a head, after position encodings and head norms.
struct HeadValues {
  std::int64_t size = 0, value_size = 0;  // number of elements of a query or key, and of a value
  float scale = 0.0f;                     // factor of the dot products of queries and keys
  std::vector<float> query;               // [rows, size]
  std::vector<float> key;                 // [columns, size]
  std::vector<float> value;               // [columns, value_size]
};

// The attention weights of one head, or their average over the heads of a layer. Rows are queries, columns
// are keys.
struct Map {
  Head head;  // head.head is −1 for an average of heads
  bool average = false;
  std::vector<std::int64_t> averaged;  // indices of the heads that were averaged
  std::int64_t rows = 0, columns = 0;
  std::vector<float> weights;  // [rows, columns]; each row sums to one
  std::string caption;         // title of the map; if empty, title() is used
  KeyRange range = {};         // the keys to which a query may attend
  std::optional<HeadValues> values = {};
  std::optional<HeadParameters> parameters = {};
  std::optional<HeadSummary> summary = {};  // summary of the map; empty if not computed yet

  bool causal() const { return range.causal || head.kind == Kind::decoder; }
  float at(std::int64_t row, std::int64_t column) const {
    return weights[static_cast<std::size_t>(row * columns + column)];
  }
  std::string title() const;  // returns a title such as "cross-attention, layer 1, head 0"
};

// Sizes, probe points and weight shapes of the model, for its diagram on the HTML page.
struct ModelSize {
  ModelKind kind = ModelKind::encoder;
  std::int64_t hidden = 0, vocabulary = 0, parameters = 0;
  InputSpec input = {};
  // True if sinusoidal position encodings (nn/positions.h, interleaved) are added to the embeddings.
  bool sinusoids = false;
  std::vector<PointShape> points = {};  // probe points of the pass, in the order of computation
  // names and shapes of the weights in the checkpoint
  std::vector<std::pair<std::string, Shape>> weights = {};
};

// A value of the pass: the name of its probe point, and a tensor [tokens, features].
struct Activation {
  std::string point;
  std::int64_t rows = 0, columns = 0;
  std::vector<float> numbers;
};

// The model's logits at one position: the largest ones in descending order, the logit of the token that was
// generated there, and the log-sum-exp that normalises them.
struct GenerationStep {
  struct Candidate {
    std::int32_t id = 0;
    std::string text;
    float logit = 0;
    std::string bytes = {};  // the token's bytes if it is not a sequence of whole characters; otherwise empty
  };
  std::vector<Candidate> candidates;
  double log_sum_exp = 0;   // log-sum-exp over the whole vocabulary
  float written_logit = 0;  // logit of the generated token
};

// A beam search: the hypotheses of each step.
struct BeamTree {
  struct Node : infer::BeamNode {
    std::string text = {};   // the token as displayed
    std::string bytes = {};  // the token's bytes if it is not a sequence of whole characters; otherwise empty
  };
  struct Step {
    std::vector<Node> kept, finished;
  };
  // Position of a finished hypothesis: steps[step].finished[finished].
  struct Place {
    std::size_t step = 0, finished = 0;
  };
  std::int64_t width = 0;
  double length_penalty = 1.0;
  std::vector<Step> steps = {};
  std::vector<Place> ranking = {};  // the results of the search, best first
};

// Results of another pass over the input of the View, with the head `off` ablated.
struct WhatIf {
  // Effect of the ablation on the attention weights of `head`. `change` is half the sum of the absolute
  // differences of a query's weights, averaged over the queries.
  struct Change {
    Head head;
    double change = 0;
    std::int64_t columns = 0;
    // attention weights [queries, columns] of `head` with `off` ablated; stored only for the largest changes
    std::vector<float> weights = {};
  };
  Head off;
  std::optional<std::string> translation = {};  // text generated with `off` ablated
  std::optional<double> lost = {};  // mean decrease of the log-probability of the generated tokens, in nats
  std::vector<GenerationStep> steps = {};  // logits with `off` ablated at the positions of View::steps
  std::vector<Change> changes = {};        // changes of other heads' attention weights, largest first
};

// Attention weights of selected heads for the same tokens in several checkpoints of a training run.
struct Film {
  struct Frame {
    std::int64_t step = 0;                       // training step of the checkpoint
    std::string translation = {};                // text that the checkpoint generates; may be empty
    std::optional<double> log_probability = {};  // mean log-probability of the written tokens, in nats
    std::vector<Map> maps = {};                  // one map for each of Film::heads
  };
  std::vector<Head> heads;
  std::vector<Frame> frames = {};  // one frame per checkpoint, in the order of the training steps
};

// An input image or sound, for display.
struct Picture {
  std::int64_t width = 0, height = 0;
  std::string png;
};

// The spectrogram of a sound for display: energies from 0 to 1, [frequency bands, time columns], the lowest
// band first.
struct Spectrogram {
  std::int64_t bands = 0, columns = 0;
  std::vector<float> levels;
};

// An audio input for display: its spectrogram and the times of the encoder's positions.
struct SoundView {
  double seconds = 0;  // duration of the sound; positions after it are silence
  // time of the centre of the first position, and time between the centres of neighbouring positions, both in
  // seconds
  double first_time = 0, time_step = 0;
  Spectrogram spectrogram = {};  // the spectrogram from 0 to `seconds`
};

struct View {
  std::string model;        // name of the model, given by the caller
  std::string text;         // input text, or the name of the image or sound
  std::string pair;         // second text of a pair; empty if there is none
  std::string translation;  // target or continuation as text; empty if there is none
  // number of prompt tokens if a decoder generated a continuation; otherwise 0
  std::int64_t prompt_tokens = 0;
  // With ablated heads or interventions: the text that the model generates without them; empty if not known.
  std::string unablated;
  // With given target ids and ablated heads or interventions: the text that the model generates when no
  // target is given.
  std::optional<std::string> generated = {};
  Tokens tokens;
  std::vector<std::string> unseen_words = {};  // words of `text` that do not occur in the training data
  std::vector<Map> maps;
  std::vector<Head> ablated;
  std::vector<std::string> interventions = {};     // text of each intervention
  std::vector<InterventionWarning> warnings = {};  // EditedPass::warnings() of the interventions
  std::optional<ModelSize> size = {};
  std::vector<Activation> activations = {};
  // one element for each token of tokens.written; empty if the model has no logits
  std::vector<GenerationStep> steps = {};
  std::optional<BeamTree> beams = {};  // beam search that generated the target
  std::vector<WhatIf> what_if = {};
  std::optional<Picture> picture = {};
  std::optional<SoundView> sound = {};
  std::optional<Film> film = {};               // attention weights in the checkpoints of a training run
  std::vector<TokenizedText> tokenizers = {};  // tokens of `text` from several tokenizers
  std::shared_ptr<const View> compared = {};   // view of a second text; may be null
  // sentences that name the data omitted to limit the size; empty if nothing is omitted
  std::string left_out;

  std::string heading() const;  // returns the text, or "first | second" for a pair

  // Labels of a map's rows and columns. Rows of cross-attention are labelled with tokens.written, because row
  // i holds the attention weights with which written[i] was generated.
  std::span<const std::string> row_labels(const Map& map) const;
  std::span<const std::string> column_labels(const Map& map) const;
  // for each row label, true if it is a special token; may be empty
  const std::vector<bool>& special_rows(const Map& map) const;
  const std::vector<bool>& special_columns(const Map& map) const;
};

// Convert the captured attention weights to one map per head, ordered by layer and head; with `average`, to
// one map per layer. The weights are removed from the capture.
std::vector<Map> maps_of(Capture& capture, bool average);

// The input batches of one forward pass: `source` for the encoder, `target` for the decoder. The batch of a
// missing encoder or decoder is ignored.
struct PassBatches {
  InputBatch source;
  TokenBatch target;
};

// Run one forward pass with the probe. Return the logits [target tokens, vocabulary]. The tensor is undefined
// if the model does not predict the next token.
Tensor run_with_probe(Network& model, ThreadPool& pool, const PassBatches& batches, Probe* probe);
// Run one forward pass over one sequence with the probe. `source` is the input of the encoder, and `target`
// the input of the decoder; the input of a missing encoder or decoder is ignored. Return the logits [target
// tokens, vocabulary]. The tensor is undefined if the model does not predict the next token.
Tensor run_with_probe(Network& model, ThreadPool& pool, const ModelInput& source,
                      std::span<const std::int32_t> target, Probe* probe);

}  // namespace regard::inspect

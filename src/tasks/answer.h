// Extractive question answering (after Devlin et al. 2019, section 4.2): find the span of a text that answers
// a question. Long texts are divided into overlapping windows. Same results as the question-answering
// pipeline of transformers 4, the last version with this pipeline.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/pass.h"
#include "tasks/reader.h"

namespace regard::tasks {

struct AnswerOptions {
  // tokens per window, including the question and special tokens; default: 0, which means 384, or the model's
  // maximum if that is smaller
  std::int64_t window = 0;
  // overlap of neighbouring windows in tokens; default: 0, which means 128, or half a window if that is
  // smaller
  std::int64_t stride = 0;
  std::int64_t longest = 15;  // maximum tokens of an answer, before whole_words extends it
  std::size_t count = 1;      // maximum number of answers
  bool may_be_none = false;   // if true, "no answer" (an empty text) is one of the candidates
  float threshold = 0.0f;     // answers with a lower score are dropped, except "no answer"
  bool whole_words = true;    // extend answers to word boundaries
  Probe* probe = nullptr;     // called in every forward pass; it can ablate heads. Not owned; may be null
};

struct Answer {
  std::string text;
  // Product of the start and end probabilities, each a softmax over the tokens of a window. If several spans
  // have the same text (ignoring case), their scores are added.
  float score = 0.0f;
  std::size_t begin = 0, end = 0;  // byte range in the text; 0, 0 means no answer
  std::size_t window = 0;          // index of the first window with this answer
};

class Answerer {
 public:
  // `loaded`, `pool` and the probe must outlive the answerer. Throws usage if the model is not for question
  // answering or the options are invalid for it.
  Answerer(const infer::LoadedModel& loaded, ThreadPool& pool, const AnswerOptions& options = {});

  // A tokenised question and text, divided into windows.
  struct Reading {
    struct Place {
      std::uint32_t begin = 0, end = 0;  // byte range in the text
      std::int32_t word = -1;            // index of the token's word
    };
    struct Window {
      Input input;
      std::size_t first = 0;      // index of the text's first token in input.ids
      std::vector<Place> places;  // positions in the text, one for each token of the text in this window
    };
    std::string text;
    std::vector<Window> windows;

    std::int64_t tokens() const;
  };
  // Return an upper bound of the number of tokens of read(question, text), without computing the windows. The
  // longer the question, the more windows a text needs, because each window contains the question.
  std::int64_t most_tokens(std::string_view question, std::string_view text) const;
  // Throws invalid_input if the question is too long for a window, or if question or text is blank.
  Reading read(std::string_view question, std::string_view text) const;

  // Return at most `count` answers, best first. If no answer reaches the threshold, the result is "no answer"
  // (with may_be_none) or empty. Throws numeric if logits are not finite.
  std::vector<Answer> answer(const Reading& reading);

 private:
  struct Span {
    std::size_t start = 0, end = 0;  // indices into Window::places, both inclusive
    float score = 0.0f;
  };
  std::vector<Span> best_spans(const Reading::Window& window, std::span<float> start, std::span<float> end,
                               std::size_t count, float& none) const;
  Answer answer_of(const Reading& reading, const Reading::Window& window, const Span& span) const;

  const infer::LoadedModel& loaded_;
  AnswerOptions options_;
  std::int64_t window_, stride_;
  Pass pass_;
};

}  // namespace regard::tasks

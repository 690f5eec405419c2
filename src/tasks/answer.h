// Extractive question answering: which part of a text answers a question. Long texts are read in overlapping
// windows. The semantics are those of transformers' question-answering pipeline (version 4, the last that had
// one; after Devlin et al. 2019, section 4.2): in each window softmax over its places for starts and for
// ends, a span's score the product of the two, spans of equal text joined.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/pass.h"
#include "tasks/reader.h"

namespace regard::tasks {

struct AnswerOptions {
  std::int64_t window = 0;    // tokens of a window, question and special ones included; 0: 384, or the
                              // model's positions where they are fewer
  std::int64_t stride = 0;    // tokens that neighbouring windows share; 0: 128, at most half a window
  std::int64_t longest = 15;  // tokens of an answer
  std::size_t count = 1;      // answers wanted
  bool may_be_none = false;   // that there is no answer is one of the answers: its text is empty
  float threshold = 0.0f;     // answers of a lower score are none
  bool whole_words = true;    // answers begin and end with words
  Probe* probe = nullptr;     // hears every pass and may ablate heads; not owned, may be null
};

struct Answer {
  std::string text;
  float score = 0.0f;
  std::size_t begin = 0, end = 0;  // in bytes of the text; 0, 0: no answer
  std::size_t window = 0;          // of the reading, in which it was found first
};

class Answerer {
 public:
  // All are kept by reference. Throws usage where the model answers no questions, or options do not fit it.
  Answerer(const infer::LoadedModel& loaded, ThreadPool& pool, const AnswerOptions& options = {});

  // A question with the windows of its text.
  struct Reading {
    struct Place {
      std::uint32_t begin = 0, end = 0;  // bytes of the text
      std::int32_t word = -1;
    };
    struct Window {
      Input input;
      std::size_t first = 0;      // of the text's tokens among the input's
      std::vector<Place> places;  // of the text's tokens
    };
    std::string text;
    std::vector<Window> windows;

    std::int64_t tokens() const;
  };
  // Throws bad_file where the question leaves no room for a text, or one of them is empty.
  Reading read(std::string_view question, std::string_view text) const;

  // Best first, at most as many as wanted; none above the threshold: an empty answer where there may be none,
  // else nothing.
  std::vector<Answer> answer(const Reading& reading);

 private:
  struct Span {
    std::size_t start = 0, end = 0;  // places of the text's tokens
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

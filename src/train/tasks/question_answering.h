// The task "question-answering": find the span of a text that answers a question, or determine that there is
// none, with an encoder (Rajpurkar et al. 2018).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/question_windows.h"
#include "data/squad.h"
#include "train/task.h"

namespace regard::train {

const TaskTraits& question_answering_traits();

// A window with the first and last token of the answer, as indices into `window.ids`. Both are 0 (the first
// token) if the window does not contain the whole answer.
struct AnswerWindow {
  data::QuestionWindow window;
  std::int32_t start = 0, end = 0;
};

// Return the windows of a question. The labels mark the first of the given answers, as in transformers'
// example run_qa.py. Throws usage if the question is so long that a window cannot contain any context.
std::vector<AnswerWindow> answer_windows(const text::Tokenizer& tokenizer,
                                         const data::MarkedQuestion& question, const std::string& context,
                                         const data::WindowSize& size);

}  // namespace regard::train

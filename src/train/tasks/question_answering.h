// The task "question-answering": the span of a text that answers a question, or none, for encoders (Rajpurkar
// et al. 2018).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/question_windows.h"
#include "data/squad.h"
#include "train/task.h"

namespace regard::train {

const TaskTraits& question_answering_traits();
std::unique_ptr<Task> make_question_answering(const RunConfig& config);

// A window with the first and the last token of the answer, as indices into `window.ids`. 0, 0, the first
// token: the whole answer is not in this window.
struct AnswerWindow {
  data::QuestionWindow window;
  std::int32_t start = 0, end = 0;
};

// Return the windows of a question with its first marked answer, as transformers' example run_qa.py marks
// it. Throws usage if the question leaves no room for the context.
std::vector<AnswerWindow> answer_windows(const text::Tokenizer& tokenizer,
                                         const data::MarkedQuestion& question, const std::string& context,
                                         const data::WindowSize& size);

}  // namespace regard::train

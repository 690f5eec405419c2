// Exact match and F1 of answers as SQuAD's script (Rajpurkar et al. 2016, 2018) and transformers'
// squad_metrics compute them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::metrics {

// Return the answer in lower case, without ASCII punctuation and the words a, an, the; words are separated
// by one space.
std::string normalize_answer(std::string_view answer);

bool exact_match(std::string_view predicted, std::string_view truth);  // compares normalised answers
// Return the F1 of the words of the normalised answers. If an answer has no words: 1 if both have none, else
// 0.
double answer_f1(std::string_view predicted, std::string_view truth);

struct AnsweredQuestion {
  std::string predicted;             // empty for "no answer"
  std::vector<std::string> truths;   // acceptable answers; none: the question has no answer
  double no_answer_probability = 0;  // predicted; used for the best thresholds
};

struct AnswerScores {
  double exact = 0, f1 = 0;  // in percent, with the best-matching true answer of each question
  std::int64_t questions = 0;
};
// Return the scores of one question: exact 0 or 100.
AnswerScores score_of(const AnsweredQuestion& question);

struct SquadScores {
  AnswerScores all;
  // scores of the questions with and without a true answer
  std::optional<AnswerScores> has_answer, no_answer;
  // The highest scores if a predicted answer is replaced by "no answer" where no_answer_probability exceeds a
  // threshold, and these thresholds.
  double best_exact = 0, best_exact_threshold = 0, best_f1 = 0, best_f1_threshold = 0;
};
// Throws usage if there is no question.
SquadScores squad_scores(std::span<const AnsweredQuestion> questions);

}  // namespace regard::metrics

// Exact match and F1 of answers, as SQuAD's script (Rajpurkar et al. 2016, 2018) and squad_metrics of
// transformers compute them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::metrics {

// Return the answer in lower case, without ASCII punctuation and without the words a, an, the. Words are
// separated by one space.
std::string normalize_answer(std::string_view answer);

// true if the normalised answers are equal
bool exact_match(std::string_view predicted, std::string_view truth);
// Return the F1 of the words of the normalised answers. Return 1 if neither answer has words, and 0 if
// exactly one answer has words.
double answer_f1(std::string_view predicted, std::string_view truth);

struct AnsweredQuestion {
  std::string predicted;             // predicted answer; empty for "no answer"
  std::vector<std::string> truths;   // true answers; empty if the question has none
  double no_answer_probability = 0;  // predicted probability of "no answer"; used for the best thresholds
};

struct AnswerScores {
  double exact = 0, f1 = 0;  // scores in percent; each question uses its best-matching true answer
  std::int64_t questions = 0;
};
// Return the scores of one question; `exact` is 0 or 100.
AnswerScores score_of(const AnsweredQuestion& question);

struct SquadScores {
  AnswerScores all;
  // scores of the questions that have a true answer, and of those that have none
  std::optional<AnswerScores> has_answer, no_answer;
  // The highest scores over all thresholds, and the thresholds that achieve them. Answers whose
  // no_answer_probability exceeds the threshold are replaced with "no answer".
  double best_exact = 0, best_exact_threshold = 0, best_f1 = 0, best_f1_threshold = 0;
};
// Compute the scores. Throws usage if there is no question.
SquadScores squad_scores(std::span<const AnsweredQuestion> questions);

}  // namespace regard::metrics

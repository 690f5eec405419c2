#include "metrics/squad.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/utf8.h"
#include "metrics/metric_text.h"
#include "regard/error.h"
#include "text/unicode.h"

namespace regard::metrics {
namespace {

// Return true for Python's \w in str patterns: str.isalnum() or "_". Unlike \w in UTS 18, it excludes marks.
bool is_python_word(char32_t c) {
  return c == '_' || text::unicode::is_letter(c) || text::unicode::is_number(c);
}

bool is_article(std::u32string_view word) {
  return word == U"a" || word == U"an" || word == U"the";
}

// Replace each article with a space, as Python's re.sub(r"\b(a|an|the)\b", " ", text).
std::u32string without_articles(std::u32string_view text) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_python_word(text[i])) {
      result += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_python_word(text[end])) ++end;
    const std::u32string_view word = text.substr(i, end - i);
    if (is_article(word))
      result += U' ';
    else
      result += word;
    i = end;
  }
  return result;
}

// Return the words of a normalised answer.
std::vector<std::u32string> answer_words(std::string_view answer) {
  std::u32string text = utf8::lower(utf8::code_points(answer));
  std::erase_if(text, is_ascii_punctuation);
  text = without_articles(text);
  const std::vector<std::u32string_view> words = split_words(text);
  return {words.begin(), words.end()};
}

double f1_of(const std::vector<std::u32string>& predicted, const std::vector<std::u32string>& truth) {
  if (predicted.empty() || truth.empty()) return predicted == truth ? 1 : 0;
  std::map<std::u32string, std::int64_t> left;
  for (const std::u32string& word : truth) ++left[word];
  double same = 0;
  for (const std::u32string& word : predicted)
    if (const auto found = left.find(word); found != left.end() && found->second-- > 0) ++same;
  if (same == 0) return 0;
  const double precision = same / static_cast<double>(predicted.size());
  const double recall = same / static_cast<double>(truth.size());
  return 2 * precision * recall / (precision + recall);
}

// Return the highest mean score in percent over all thresholds, and the threshold that achieves it, as
// find_best_thresh_v2 of squad_metrics does. `scores` has one score from 0 to 1 per question. An answer whose
// no_answer_probability is above the threshold counts as "no answer".
std::pair<double, double> best_threshold(std::span<const AnsweredQuestion> questions,
                                         const std::vector<double>& scores) {
  std::vector<std::size_t> order(questions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return questions[a].no_answer_probability < questions[b].no_answer_probability;
  });
  double sum = static_cast<double>(
      std::count_if(questions.begin(), questions.end(), [](const auto& q) { return q.truths.empty(); }));
  double best = sum, threshold = 0;
  for (const std::size_t i : order) {
    const AnsweredQuestion& question = questions[i];
    sum += !question.truths.empty() ? scores[i] : question.predicted.empty() ? 0 : -1;
    if (sum <= best) continue;
    best = sum;
    threshold = question.no_answer_probability;
  }
  return {100 * best / static_cast<double>(questions.size()), threshold};
}

}  // namespace

std::string normalize_answer(std::string_view answer) {
  std::string text;
  for (const std::u32string& word : answer_words(answer))
    text += (text.empty() ? "" : " ") + utf8::encode(word);
  return text;
}

bool exact_match(std::string_view predicted, std::string_view truth) {
  return answer_words(predicted) == answer_words(truth);
}

double answer_f1(std::string_view predicted, std::string_view truth) {
  return f1_of(answer_words(predicted), answer_words(truth));
}

AnswerScores score_of(const AnsweredQuestion& question) {
  const std::vector<std::u32string> predicted = answer_words(question.predicted);
  bool answered = false, exact = false;
  double f1 = 0;
  for (const std::string& truth : question.truths) {
    const std::vector<std::u32string> words = answer_words(truth);
    if (words.empty()) continue;  // ignore true answers without words
    answered = true;
    exact = exact || predicted == words;
    f1 = std::max(f1, f1_of(predicted, words));
  }
  if (!answered) exact = predicted.empty(), f1 = predicted.empty() ? 1 : 0;
  return {exact ? 100.0 : 0.0, 100 * f1, 1};
}

SquadScores squad_scores(std::span<const AnsweredQuestion> questions) {
  if (questions.empty()) throw usage_error("answers: expected at least one question, found none");
  SquadScores scores;
  // [0]: sums over the questions without a true answer; [1]: sums over all other questions
  AnswerScores sums[2];
  std::vector<double> exact, f1;
  for (const AnsweredQuestion& question : questions) {
    const AnswerScores one = score_of(question);
    AnswerScores& sum = sums[question.truths.empty() ? 0 : 1];
    sum.exact += one.exact / 100, sum.f1 += one.f1 / 100, ++sum.questions;
    exact.push_back(one.exact / 100), f1.push_back(one.f1 / 100);
  }
  const auto mean = [](double exact_sum, double f1_sum, std::int64_t count) {
    return AnswerScores{100 * exact_sum / static_cast<double>(count),
                        100 * f1_sum / static_cast<double>(count), count};
  };
  scores.all = mean(sums[0].exact + sums[1].exact, sums[0].f1 + sums[1].f1, std::ssize(questions));
  if (sums[0].questions > 0) scores.no_answer = mean(sums[0].exact, sums[0].f1, sums[0].questions);
  if (sums[1].questions > 0) scores.has_answer = mean(sums[1].exact, sums[1].f1, sums[1].questions);
  std::tie(scores.best_exact, scores.best_exact_threshold) = best_threshold(questions, exact);
  std::tie(scores.best_f1, scores.best_f1_threshold) = best_threshold(questions, f1);
  return scores;
}

}  // namespace regard::metrics

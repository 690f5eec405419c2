#include "train/tasks/question_answering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/counted.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "data/duplicates.h"
#include "metrics/squad.h"
#include "ops/span_cross_entropy.h"
#include "train/batch_preview.h"
#include "train/encode.h"
#include "train/encoder_task.h"

namespace regard::train {
namespace {

constexpr MetricKind kAnswerF1{"f1", "F1", 2, true};
constexpr MetricKind kExact{"exact_match", "exact match", 2, true};

class QuestionAnswering : public EncoderTask {
 public:
  using EncoderTask::EncoderTask;

  const TaskTraits& traits() const override { return question_answering_traits(); }
  void check() const override {
    EncoderTask::check();
    if (config_.questions.stride >= config_.data.max_length)
      throw usage_error("'questions.stride' is not less than the length of a window, 'data.max_length'")
          .found(counted(config_.questions.stride, "token"))
          .expected(fmt::format("less than {} tokens", config_.data.max_length));
  }
  void read() override;
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return loss_of(tape, head_output(model, tape, batch), batch, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::string example_text(const Batch& batch) const override;
  std::string preview(const Batch& batch, std::size_t sequence) const override;

 protected:
  HeadNeed head() const override { return {"ForQuestionAnswering", Output::span, {}, ""}; }
  std::size_t training_examples() const override { return train_.examples.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t, std::uint64_t index) const override {
    append(train_, batch, example, index);
  }
  text::LineSource training_texts() const override;

 private:
  // Data of a window that validation needs to convert token scores to an answer.
  struct Place {
    std::size_t question = 0;          // index into Part::questions
    std::size_t first = 0;             // index of the first token of the context
    std::vector<text::Offsets> bytes;  // byte range of each token of the context
  };
  struct Part {
    std::vector<data::MarkedQuestion> questions;
    data::RowReport report;
    Examples examples;                 // encoded windows, one example per window
    std::vector<std::int32_t> labels;  // two labels for each window: first and last token of the answer
    std::int64_t without_answer = 0;   // number of windows without an answer
    std::vector<Place> places;         // one element per window; only for validation
  };
  // The best span in the windows of a question so far, and the lowest score of "no answer".
  struct Answer {
    std::string text;
    float score = -std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::infinity();
  };

  void read_file(const std::string& file, bool may_hold_out, Part& part);
  std::string duplicates() const;
  const std::string& context_of(const data::MarkedQuestion& question) const {
    return contexts_[question.context].text;
  }
  // Return the index, in data.train, of the file that contains a training question.
  std::size_t file_of(std::size_t question) const {
    return static_cast<std::size_t>(std::upper_bound(question_ends_.begin(), question_ends_.end(), question) -
                                    question_ends_.begin());
  }
  void encode(Part& part, ThreadPool& pool);
  void note(const char* what, const Part& part);
  void append(const Part& part, Batch& batch, std::size_t example, std::uint64_t index) const;
  static Var loss_of(Tape& tape, Var logits, const Batch& batch, const LossOptions& options);
  void search(const Tensor& logits, std::int64_t begin, const Place& place, Answer& answer) const;
  void report_answers(const std::vector<Answer>& answers, ValidationReport& report) const;

  std::vector<data::MarkedContext> contexts_;
  Part train_, valid_;
  std::vector<std::size_t> question_ends_;  // number of training questions up to the end of each file
  bool has_unanswerable_ = false;           // true if the training data has questions without an answer
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

void QuestionAnswering::read_file(const std::string& file, bool may_hold_out, Part& part) {
  data::QuestionSet set = data::read_questions(file, {faulty(config_.data.malformed)});
  const std::size_t before = contexts_.size();
  part.report.add(set.report);
  for (data::MarkedQuestion& question : set.questions) {
    const data::MarkedContext& context = set.contexts[question.context];
    const bool held_out =
        may_hold_out && is_held_out(config_, context.title.empty() ? context.text : context.title);
    question.context += before;
    (held_out ? valid_ : part).questions.push_back(std::move(question));
  }
  contexts_.insert(contexts_.end(), std::make_move_iterator(set.contexts.begin()),
                   std::make_move_iterator(set.contexts.end()));
}

void QuestionAnswering::read() {
  for (std::size_t i = 0; i < config_.data.train.size(); ++i) {
    read_file(config_.data.train[i], true, train_);
    question_ends_.push_back(train_.questions.size());
  }
  valid_.report = config_.data.valid.empty() ? train_.report : data::RowReport();
  for (const std::string& file : config_.data.valid) read_file(file, false, valid_);
  for (const Part* part : {&train_, &valid_})
    part->report.refuse_more_than(config_.data.max_skipped, "data.max_skipped");
  has_unanswerable_ =
      std::any_of(train_.questions.begin(), train_.questions.end(),
                  [](const data::MarkedQuestion& question) { return question.answers.empty(); });
}

// Return a message about the validation questions that are also in the training data with the same context;
// "" if there are none.
std::string QuestionAnswering::duplicates() const {
  data::SplitDuplicates found;
  const auto texts = [this](const data::MarkedQuestion& question) {
    return std::array{context_of(question), question.question};
  };
  for (const data::MarkedQuestion& question : valid_.questions) found.add_validation(texts(question), {});
  std::size_t first = 0;
  for (std::size_t q = 0; q < train_.questions.size(); ++q) {
    if (found.count() == 0) first = q;
    found.check_training(texts(train_.questions[q]), {});
  }
  if (found.count() == 0) return "";
  return fmt::format(
      "duplicates: {} of {} validation questions are also in the training data (first: question {} of {})",
      found.count(), valid_.questions.size(), train_.questions[first].id, config_.data.train[file_of(first)]);
}

text::LineSource QuestionAnswering::training_texts() const {
  return [this, at = std::size_t{0}, last = std::string::npos](std::string& line) mutable {
    // Return the questions one after another. Each context is returned before its first question.
    if (at == train_.questions.size()) return false;
    const data::MarkedQuestion& question = train_.questions[at];
    if (question.context != last) {
      last = question.context;
      line = context_of(question);
      return true;
    }
    line = question.question;
    ++at;
    return true;
  };
}

void QuestionAnswering::encode(Part& part, ThreadPool& pool) {
  data::TokenStore types;
  bool typed = false;
  for (std::size_t begin = 0; begin < part.questions.size(); begin += kTextsAtOnce) {
    std::vector<std::vector<AnswerWindow>> encoded(std::min(kTextsAtOnce, part.questions.size() - begin));
    pool.parallel_for(std::ssize(encoded), [&](std::int64_t i, int) {
      const data::MarkedQuestion& question = part.questions[begin + static_cast<std::size_t>(i)];
      encoded[static_cast<std::size_t>(i)] = answer_windows(
          *tokenizer_, question, context_of(question), {config_.data.max_length, config_.questions.stride});
    });
    for (std::size_t q = 0; q < encoded.size(); ++q) {
      for (AnswerWindow& one : encoded[q]) {
        part.examples.ids.add(one.window.ids);
        types.add(one.window.types);
        typed = typed || std::any_of(one.window.types.begin(), one.window.types.end(),
                                     [](std::int32_t type) { return type != 0; });
        part.labels.insert(part.labels.end(), {one.start, one.end});
        if (one.start == 0) ++part.without_answer;
        if (&part == &valid_)
          part.places.push_back({begin + q, one.window.first, std::move(one.window.bytes)});
      }
      if (&part == &train_) sources_.set(file_of(begin + q), part.examples.size());
    }
  }
  if (typed) part.examples.types = std::move(types);
}

void QuestionAnswering::note(const char* what, const Part& part) {
  notes_.push_back(fmt::format("{}: {}, {} ({} without an answer), {}; read {}", what,
                               counted(part.questions.size(), "question"),
                               counted(part.examples.size(), "window"), part.without_answer,
                               counted(part.examples.ids.tokens(), "token"), part.report.text()));
  fingerprint_ =
      (fingerprint_ * 3 + part.examples.ids.fingerprint()) * 3 + xxh3(std::as_bytes(std::span(part.labels)));
}

void QuestionAnswering::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  encode(train_, pool);
  encode(valid_, pool);
  note("training", train_);
  note("validation", valid_);
  if (std::string found = duplicates(); !found.empty()) notes_.push_back(std::move(found));
  if (train_.examples.size() == 0) throw nothing_left(config_, "train");
  if (valid_.examples.size() == 0) throw nothing_left(config_, "validate");
}

void QuestionAnswering::append(const Part& part, Batch& batch, std::size_t example,
                               std::uint64_t index) const {
  part.examples.append(batch, example, index);
  batch.labels.push_back(part.labels[2 * example]);
  batch.labels.push_back(part.labels[2 * example + 1]);
}

Var QuestionAnswering::loss_of(Tape& tape, Var logits, const Batch& batch, const LossOptions& options) {
  return ops::span_cross_entropy(tape, logits, batch.target.view(), batch.labels, options.factor,
                                 kIgnoredLabel);
}

// Update a question's answer with the best span of the window whose logits begin at row `begin`. The score of
// a span is the sum of its two logits; "no answer" is the span of the first token (Devlin et al. 2019).
void QuestionAnswering::search(const Tensor& logits, std::int64_t begin, const Place& place,
                               Answer& answer) const {
  const std::string& context = context_of(valid_.questions[place.question]);
  const auto tokens = std::ssize(place.bytes);
  const std::int64_t first = begin + static_cast<std::int64_t>(place.first);
  answer.none = std::min(answer.none, logits.row(begin)[0] + logits.row(begin)[1]);
  for (std::int64_t s = 0; s < tokens; ++s) {
    const std::int64_t last = std::min(tokens, s + config_.questions.longest_answer);
    for (std::int64_t e = s; e < last; ++e) {
      const float score = logits.row(first + s)[0] + logits.row(first + e)[1];
      if (!(score > answer.score)) continue;
      answer.score = score;
      const std::uint32_t from = place.bytes[static_cast<std::size_t>(s)].begin;
      const std::uint32_t to = std::max(place.bytes[static_cast<std::size_t>(e)].end, from);
      answer.text = context.substr(from, to - from);
    }
  }
}

void QuestionAnswering::validate(Network& model, const PassResources& resources,
                                 ValidationReport& report) const {
  std::vector<Answer> answers(valid_.questions.size());
  double loss = 0, weight = 0;
  PredictionPass pass(model, resources);
  pass.run(
      valid_.examples.ids, [&](Batch& batch, std::size_t i) { append(valid_, batch, i, i); },
      [&](Tape& tape, const Batch& batch, std::size_t begin, std::size_t end) {
        Var logits = head_output(model, tape, batch);
        loss += static_cast<double>(loss_of(tape, logits, batch, {})->value.f32()[0]);
        weight += batch.weight();
        for (std::size_t i = begin; i < end; ++i) {
          const Place& place = valid_.places[i];
          search(logits->value, batch.target.view().offsets[i - begin], place, answers[place.question]);
        }
      });
  set_loss(loss / weight, report);
  report_answers(answers, report);
}

// Compute the metrics of the answers and select the samples of the report.
void QuestionAnswering::report_answers(const std::vector<Answer>& answers, ValidationReport& report) const {
  std::vector<metrics::AnsweredQuestion> scored(answers.size());
  for (std::size_t q = 0; q < answers.size(); ++q) {
    for (const data::MarkedAnswer& truth : valid_.questions[q].answers)
      scored[q].truths.push_back(truth.text);
    const bool none = has_unanswerable_ && answers[q].none > answers[q].score;
    if (!none) scored[q].predicted = answers[q].text;
  }
  const metrics::AnswerScores scores = metrics::squad_scores(scored).all;
  if (config_.wants(kAnswerF1.name)) report.metrics.push_back({kAnswerF1, scores.f1});
  if (config_.wants(kExact.name)) report.metrics.push_back({kExact, scores.exact});
  const auto shown = [](const std::string& text) { return text.empty() ? "(no answer)" : text; };
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), scored.size());
  for (std::size_t q = 0; q < samples; ++q)
    report.samples.push_back({valid_.questions[q].question,
                              shown(scored[q].truths.empty() ? "" : scored[q].truths[0]),
                              shown(scored[q].predicted)});
}

std::string QuestionAnswering::example_text(const Batch& batch) const {
  const auto length = static_cast<std::size_t>(batch.target.view().offsets[1]);
  const std::span<const std::int32_t> ids = std::span(batch.ids).first(length);
  const auto start = static_cast<std::size_t>(batch.labels[0]),
             end = static_cast<std::size_t>(batch.labels[1]);
  return fmt::format(
      "  input:  {}\n  answer: {}\n", tokens_text(*tokenizer_, ids),
      start == 0 ? "(not in this window)" : tokens_text(*tokenizer_, ids.subspan(start, end + 1 - start)));
}

std::string QuestionAnswering::preview(const Batch& batch, std::size_t sequence) const {
  const std::span<const std::int32_t> ids = part_of(batch.ids, batch, sequence);
  std::vector<std::int32_t> labels(ids.size(), kIgnoredLabel);
  const auto start = batch.labels[2 * sequence], end = batch.labels[2 * sequence + 1];
  for (std::int32_t t = start; t <= end; ++t) labels[static_cast<std::size_t>(t)] = 0;
  return labelled_preview(*tokenizer_, ids, labels, {start == 0 ? "none" : "answer"});
}

}  // namespace

std::vector<AnswerWindow> answer_windows(const text::Tokenizer& tokenizer,
                                         const data::MarkedQuestion& question, const std::string& context,
                                         const data::WindowSize& size) {
  std::vector<AnswerWindow> windows;
  try {
    for (data::QuestionWindow& window : data::question_windows(tokenizer, question.question, context, size))
      windows.push_back({std::move(window)});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_input) throw;
    throw usage_error(error.message())
        .found("question " + question.id + ": " + error.found())
        .remedy("Increase 'data.max_length', or reduce 'questions.stride'");
  }
  if (question.answers.empty()) return windows;
  const std::int64_t from = question.answers[0].start;
  const std::int64_t to = from + static_cast<std::int64_t>(utf8::count(question.answers[0].text));
  for (AnswerWindow& one : windows) {
    const std::vector<text::Offsets>& characters = one.window.characters;
    if (characters.front().begin > from || characters.back().end < to) continue;
    // Find the last token that begins at or before the start of the answer, and the first token that ends at
    // or after the end of the answer.
    std::size_t start = 0, end = characters.size() - 1;
    while (start + 1 < characters.size() && characters[start + 1].begin <= from) ++start;
    while (end > 0 && characters[end - 1].end >= to) --end;
    one.start = static_cast<std::int32_t>(one.window.first + start);
    one.end = static_cast<std::int32_t>(one.window.first + end);
  }
  return windows;
}

const TaskTraits& question_answering_traits() {
  static const TaskTraits traits =
      encoder_traits({.name = "question-answering",
                      .meaning = "find the part of a text that answers a question",
                      .keys = {"questions.stride", "questions.longest_answer"},
                      .metrics = {kAnswerF1, kExact, kLoss},
                      .corpus = {.plain = data::CorpusFormat::text, .aligned = false},
                      .example = {"data.train=[\"train.json\"]", "data.valid=[\"valid.json\"]",
                                  "data.max_length=256", "training.batch_size=16", "questions.stride=64",
                                  "validation.metrics=[\"loss\", \"f1\", \"exact_match\"]"},
                      .verb = "answer",
                      .labels = "labels",
                      .make = new_task<QuestionAnswering>});
  return traits;
}

}  // namespace regard::train

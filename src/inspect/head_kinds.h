// Behaviour of each head on a set of examples: its pattern, entropy and distance, and the induction score on
// repeated random tokens.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "inspect/head_pattern.h"
#include "inspect/study_data.h"

namespace regard::inspect {

// A head and its mean HeadSummary (head_summary.h) over the examples.
struct HeadKind {
  Head head;
  HeadSummary mean;  // means of the numbers over the examples; `telling` and `caption` are not set
};
// Computes the mean HeadSummary of each head. An example is added as one view, or as several views of
// different layers.
class HeadSummarySum {
 public:
  void add(const View& view);
  std::vector<HeadKind> means() const;  // mean HeadSummary of every head, in head order

 private:
  struct Total {
    double examples = 0, entropy = 0, distance = 0, spread = 0;
    PatternShares shares{};
  };
  std::map<Head, Total> totals_;
};
// Return the mean HeadSummary of every head over the examples. `edits` are interventions of every pass; may
// be null.
std::vector<HeadKind> head_kinds(const infer::LoadedModel& loaded, ThreadPool& pool,
                                 const std::vector<StudyExample>& examples, const BetweenPasses& between = {},
                                 const EditedPass* edits = nullptr);

// Mean attention weights of a head in sequences that consist of `length` random tokens and a repetition of
// these tokens. The means are over all sequences and, except for `previous`, over the queries in the
// repetition.
struct InductionScore {
  Head head;
  // induction score ("prefix matching" of Olsson et al. 2022): attention weight on the token that follows the
  // first occurrence of the query's token
  double induction = 0;
  double duplicate = 0;  // attention weight on the first occurrence of the query's token
  // attention weight on the token before the query; mean over all queries except the first of a sequence
  double previous = 0;
};
struct InductionOptions {
  std::int64_t length = 20, sequences = 8;
  std::uint64_t seed = 1;
  std::vector<std::int32_t> first;  // ids that precede the random ones, such as a start token
  std::int32_t first_random = 0;    // smallest id that may be drawn
  // Ids to draw from, at least 2. If empty, all ids from first_random on.
  std::vector<std::int32_t> choices = {};
  BetweenPasses between = {};
  const EditedPass* edits = nullptr;  // interventions of every pass; may be null
};
// Return the ids of a text, sorted, without duplicates.
std::vector<std::int32_t> distinct_tokens(const text::Tokenizer& tokenizer, const std::string& text);
// Return the scores of all heads. Throws usage unless the model is decoder-only, and for invalid options,
// such as sequences that exceed the model's positions.
std::vector<InductionScore> induction_scores(Network& model, ThreadPool& pool,
                                             const InductionOptions& options = {});
// Mean cross-entropy in nats of the random tokens in the first and in the second half of the repeated
// sequences.
struct RepetitionLoss {
  double first = 0, second = 0;
};
RepetitionLoss repetition_loss(Network& model, ThreadPool& pool, const InductionOptions& options = {});

}  // namespace regard::inspect

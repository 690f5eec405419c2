// Alignment error rate of cross-attention. For each target word, the source word that a head attends to most
// is compared with reference links (Och and Ney 2003, "A Systematic Comparison of Various Statistical
// Alignment Models").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/edited_pass.h"
#include "inspect/study_table.h"

namespace regard::inspect {

// A source word and a target word, by their indices in the texts split at white space.
struct AlignedWords {
  std::int64_t source = 0, target = 0;
  bool sure = true;  // true for a sure link, false for a link that is only possible
};

// Parse links in Pharaoh format, such as "0-1 2p0": "-" for sure links, "p" for possible ones. Throws
// invalid_input for anything else, and for the same link twice.
std::vector<AlignedWords> parse_alignment(std::string_view line);

// Numbers of links, summed over sentences. Sure links also count as possible links.
struct AlignmentCounts {
  std::int64_t found = 0, found_sure = 0, found_possible = 0, sure = 0;

  // For the found links A, the sure links S and the possible links P: precision = |A ∩ P| / |A|,
  // recall = |A ∩ S| / |S|, AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|). Each is 0 if its denominator is 0.
  double precision() const;
  double recall() const;
  double error_rate() const;
};

// Compare the links `found` with the reference links, and add the numbers of links to the counts.
void count_links(AlignmentCounts& counts, std::span<const AlignedWords> found,
                 std::span<const AlignedWords> reference);

// Link each target word to the source word with the largest sum of attention weights between their tokens. If
// several sums are equal, the first source word is used; if no sum is positive, there is no link.
// `weights` [rows, columns] are the attention weights of a head. Row i belongs to the target word
// row_words[i], and column j to the source word column_words[j]; −1 means no word.
std::vector<AlignedWords> strongest_links(std::span<const double> weights,
                                          std::span<const std::int64_t> row_words,
                                          std::span<const std::int64_t> column_words);

struct HeadAlignment {
  std::string name;  // name of a head ("cross.1.0"), "mean of layer 1" or "mean"
  // `writing`: link counts from the decoding step that generates the target word. `reading`: link counts from
  // the next decoding step, whose input is the target word (Chen et al. 2020).
  AlignmentCounts writing, reading;
};

struct AlignmentStudy {
  std::vector<HeadAlignment> heads;  // sorted by min(writing.error_rate(), reading.error_rate())
  // number of sentence pairs with reference links, and number of pairs without links, which are ignored
  std::int64_t pairs = 0, without_links = 0;
};

struct AlignmentOptions {
  std::int64_t most_examples = 0;                   // maximum number of lines; 0 means all
  std::function<bool(double share)> progress = {};  // return false to stop; the study then throws cancelled
  const EditedPass* edits = nullptr;                // interventions of every pass; may be null
};

// Compare the cross-attention of an encoder–decoder with reference links, for given targets. Line N of
// `alignments` contains the links of line N of `data` (TEXT<tab>TARGET); blank lines of `data` are skipped
// together with their links. Throws usage for other models. Throws invalid_input for an invalid link, a link
// to a word that does not exist, a line without a target, `data` without texts, and files with different
// numbers of lines.
AlignmentStudy study_alignment(const infer::LoadedModel& loaded, ThreadPool& pool,
                               const std::filesystem::path& data, const std::filesystem::path& alignments,
                               const AlignmentOptions& options = {});

StudyTable table_of(const AlignmentStudy& study);

}  // namespace regard::inspect

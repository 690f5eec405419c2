// Examples of a study: lines of a file, encoded for the model, with what each position is to predict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/pass_input.h"

namespace regard::inspect {

struct StudyExample {
  std::string text, target;  // as in the file; target: of an encoder–decoder the translation, else the label
  PassInput input;
  // What is predicted at each position of the decoder, kIgnoredLabel for nothing; classifiers: the class.
  // Empty: not known.
  std::vector<std::int32_t> labels;
};

struct StudyDataOptions {
  std::int64_t most_examples = 0;  // 0: all
  // Only positions whose token lies in the first occurrence of this text in the target (decoders: in the
  // text) are predicted. Throws invalid_input for an example without it. Empty: all positions.
  std::string answer;
};

// One example: `text` as in a line of a file. `target`: see StudyExample; empty: what the model generates, or
// no label. Throws as pass_input() does; invalid_input for a label that the model does not have.
StudyExample study_example(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& text,
                           const std::string& target, const StudyDataOptions& options = {});

// Lines TEXT or TEXT<tab>TARGET; blank lines are skipped. "-" is standard input. Errors name the line. Throws
// invalid_input for a file without examples.
std::vector<StudyExample> read_examples(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const std::filesystem::path& path,
                                        const StudyDataOptions& options = {});

}  // namespace regard::inspect

// Examples of a study: lines of a file, encoded for the model, with the expected prediction at each
// position.
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
  // text and target as in the file; `target` is the translation for an encoder–decoder, otherwise the label
  std::string text, target;
  PassInput input;
  // The expected prediction at each position of the decoder, or kIgnoredLabel. For classifiers: the class.
  // Empty if unknown.
  std::vector<std::int32_t> labels;

  // Return labels[0], which for classifiers is the class. Throws usage if there is none.
  std::int32_t label() const;
};

struct StudyDataOptions {
  std::int64_t most_examples = 0;  // maximum number of examples; 0 means all
  // Predict only positions whose token is part of the first occurrence of this text in the target (decoders:
  // in the text). Throws invalid_input for an example without it. If empty, all positions are predicted.
  std::string answer;
  BetweenPasses between = {};  // called before passes and steps while a target is generated
};

// Return one example with the given `text` and `target` (see StudyExample). If `target` is empty, an
// encoder–decoder generates it, and other models get an example without a label. Throws as pass_input()
// does, and invalid_input for a label that the model does not have.
StudyExample study_example(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& text,
                           const std::string& target, const StudyDataOptions& options = {});

// Read a file ("-" is standard input) with lines TEXT or TEXT<tab>TARGET; blank lines are skipped. Throws io,
// the errors of study_example() with file and line, and invalid_input for a file without texts.
std::vector<StudyExample> read_examples(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const std::filesystem::path& path,
                                        const StudyDataOptions& options = {});

}  // namespace regard::inspect

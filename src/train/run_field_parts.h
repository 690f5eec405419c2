// Functions that append the keys of a run file to a list, section by section. run_fields() calls them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "train/run_config.h"

namespace regard::train {

// Appends the fields of one section to a list.
class SectionFields {
 public:
  SectionFields(std::vector<Field>& list, const char* section) : list_(list), section_(section) {}

  // Append the field of `value`. `rest` contains the field's other members, such as unit and range.
  template <class Value>
  void operator()(const char* key, Value& value, std::string meaning, Field rest = {}) const {
    append(key, &value, std::move(meaning), std::move(rest));
  }

 private:
  void append(const char* key, FieldTarget target, std::string meaning, Field field) const;

  std::vector<Field>& list_;
  const char* section_;
};

void add_task(std::vector<Field>& list, std::string& task);
void add_labels(std::vector<Field>& list, LabelConfig& c);
void add_questions(std::vector<Field>& list, QuestionConfig& c);
void add_embedding(std::vector<Field>& list, EmbeddingConfig& c);
void add_images(std::vector<Field>& list, ImageConfig& c);
void add_sound(std::vector<Field>& list, SoundConfig& c);
void add_augmentation(std::vector<Field>& list, AugmentationConfig& c);
void add_masking(std::vector<Field>& list, MaskingConfig& c);
void add_validation(std::vector<Field>& list, ValidationConfig& c);
void add_output(std::vector<Field>& list, OutputConfig& c);
void add_distributed(std::vector<Field>& list, DistributedConfig& c);
// Set Field::tasks of keys that only some tasks use. Call it after all other functions of this file.
void mark_tasks(std::vector<Field>& list);

}  // namespace regard::train

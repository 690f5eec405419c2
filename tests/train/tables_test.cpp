// Check the flags in the constant tables of run-file keys and of tasks.
#include "train/run_config.h"
#include "train/task.h"

#include <gtest/gtest.h>

#include <set>

namespace regard::train {
namespace {

TEST(Tables, KeysThatMayChangeWhenARunIsResumed) {
  RunConfig config;
  std::set<std::string> names;
  for (const Field& field : run_fields(config))
    if (field.may_change) names.insert(field.name());
  const std::set<std::string> expected = {
      "data.cache",
      "data.preview",
      "data.train",
      "data.train_list",
      "data.valid",
      "distributed.shard_optimizer",
      "distributed.timeout",
      "output.checkpoint_every_steps",
      "output.folder",
      "output.keep",
      "output.log_every_steps",
      "output.tensorboard",
      "tokenizer.file",
      "training.average_last",
      "training.gradient_checkpointing",
      "training.learning_rate",
      "training.max_epochs",
      "training.max_minutes",
      "training.max_skipped_steps",
      "training.max_steps",
      "training.min_learning_rate",
      "training.muon_learning_rate",
      "training.schedule",
      "training.warmup_steps",
      "validation.beam",
      "validation.best",
      "validation.every_steps",
      "validation.length_penalty",
      "validation.max_sentences",
      "validation.metrics",
      "validation.patience",
      "validation.samples",
  };
  EXPECT_EQ(names, expected);
}

std::string flags_of(const TaskTraits& traits) {
  std::string text = traits.name;
  const CorpusRules& rules = traits.corpus;
  if (rules.plain == data::CorpusFormat::text) text += " text";
  if (rules.aligned) text += " aligned";
  if (rules.normalizes_whitespace) text += " normalizes";
  if (rules.limits_length) text += " limits";
  if (rules.files_of_lines != 0) text += " files=" + std::to_string(rules.files_of_lines);
  if (rules.folders) text += " folders";
  if (!traits.has_text) text += " without-text";
  return text;
}

TEST(Tables, RulesOfTheTasks) {
  std::set<std::string> found;
  for (const TaskTraits* traits : task_registry()) found.insert(flags_of(*traits));
  const std::set<std::string> expected = {
      "audio-classification aligned without-text",
      "captioning aligned folders",
      "classification text aligned",
      "contrastive aligned folders",
      "embedding aligned",
      "image-classification aligned files=2 folders without-text",
      "language-model text",
      "masked-language-model text",
      "question-answering text",
      "speech-recognition aligned without-text",
      "token-classification text",
      "translation aligned normalizes limits files=2",
  };
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace regard::train

// Keys of a run file that have no effect: for each rule, settings with which the key is read, and settings
// with which it is not.
#include "train/unused_keys.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "train/run_config.h"

namespace regard::train {
namespace {

using Settings = std::vector<std::string>;

class UnusedKeyRules : public ::testing::Test {
 protected:
  // Return the reason why a key has no effect in a run with these settings; "" if it has an effect.
  std::string reason_of(const std::string& key, const Settings& settings) {
    config_ = RunConfig();
    for (const std::string& setting : settings) set_field(fields_, setting);
    const Field* field = find_field(fields_, key);
    if (field == nullptr) throw std::out_of_range(key);
    return why_unused(config_, *field);
  }
  RunConfig config_;
  const std::vector<Field> fields_ = run_fields(config_);  // they refer to config_
};

Settings with_settings(Settings first, const Settings& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

struct UnusedRule {
  const char* key;
  Settings both, used, unused;
  const char* reason;
};

const Settings kTextRun{"task=classification", "model.family=bert"};
const Settings kSpeechRun{"task=speech-recognition", "model.family=whisper"};
const Settings kSoundRun{"task=audio-classification", "model.family=audio-spectrogram-transformer"};
const Settings kPictureRun{"task=image-classification", "model.family=vit"};
const Settings kStreamRun{"task=language-model"};
const Settings kFromFolder{"model.from=x"}, kNoSettings;
const char* const kOfFolder = "the configuration of 'model.from' is used";

const std::vector<UnusedRule>& model_rules() {
  static const std::vector<UnusedRule> all{
      {"images.size", kPictureRun, kNoSettings, kFromFolder, kOfFolder},
      {"images.deviation", kPictureRun, kNoSettings, kFromFolder, kOfFolder},
      {"sound.bins", kSpeechRun, kNoSettings, kFromFolder, kOfFolder},
      {"sound.vocabulary", kSpeechRun, kNoSettings, kFromFolder, kOfFolder},
      {"sound.bins", kSpeechRun, kNoSettings, {"model.family=wav2vec2"}, "\"wav2vec2\", which reads samples"},
      {"sound.mask_bins", kSpeechRun, kNoSettings, {"model.family=wav2vec2"}, "which reads samples"},
      {"sound.channels", kSoundRun, {"model.family=wav2vec2"}, kNoSettings, "is not \"wav2vec2\""},
      {"sound.masked_frames", kSoundRun, {"sound.mask_frames=0.1"}, kNoSettings, "'sound.mask_frames' is 0"},
      {"sound.masked_bins", kSoundRun, {"sound.mask_bins=0.1"}, kNoSettings, "'sound.mask_bins' is 0"},
      {"tokenizer.type", kNoSettings, kTextRun, kPictureRun, "neither read nor write text"},
      {"tokenizer.lower_case", kNoSettings, kTextRun, kSoundRun, "neither read nor write text"},
      {"model.rotary_base", kStreamRun, {"model.positions=rotary"}, kNoSettings, "is not \"rotary\""},
      {"model.rotary_base",
       kStreamRun,
       {"model.family=llama"},
       {"model.family=gpt2"},
       "which does not use it"},
      {"model.layers", kStreamRun, kNoSettings, kFromFolder, kOfFolder},
      {"model.freeze_vectors", kTextRun, kFromFolder, kPictureRun, "neither read nor write text"},
      {"training.gradient_checkpointing",
       kTextRun,
       kNoSettings,
       {"model.family=lstm"},
       "no layers of a Transformer"},
      {"training.gradient_checkpointing",
       kTextRun,
       {"model.family=lstm", "model.from=x"},
       {"model.family=lstm"},
       "no layers of a Transformer"},
      {"lora.alpha", kTextRun, {"lora.rank=4"}, kNoSettings, "'lora.rank' is 0"},
      {"training.freeze", kTextRun, kNoSettings, {"lora.rank=4"}, "only the adapter is trained"},
  };
  return all;
}

const std::vector<UnusedRule>& data_rules() {
  static const std::vector<UnusedRule> all{
      {"data.format", kTextRun, kNoSettings, {"task=question-answering"}, "SQuAD's JSON"},
      {"data.valid_header", {"data.valid=b.tsv"}, kTextRun, {"task=question-answering"}, "SQuAD's JSON"},
      {"data.delimiter", kTextRun, {"data.train=a.tsv"}, {"data.train=a.txt"}, "only TSV and CSV"},
      {"data.delimiter", kTextRun, {"data.train=a.csv"}, {"data.train=a.jsonl"}, "only TSV and CSV"},
      {"data.delimiter", kTextRun, kNoSettings, {"data.train=a.txt"}, "only TSV and CSV"},
      {"data.columns", kTextRun, {"data.train=a.tsv"}, {"data.train=a.txt"}, "have columns"},
      {"data.columns", kTextRun, {"data.train=a.jsonl"}, {"data.train=a.txt"}, "have columns"},
      {"data.valid_format", kTextRun, {"data.valid=a.tsv"}, kNoSettings, "'data.valid' names no file"},
      {"data.valid_columns", kTextRun, {"data.valid=a.tsv"}, kNoSettings, "'data.valid' names no file"},
      {"data.valid_fraction", kTextRun, kNoSettings, {"data.valid=a.tsv"}, "'data.valid' is set"},
      {"data.chat_template",
       kStreamRun,
       {"data.conversations=true"},
       kNoSettings,
       "'data.conversations' is false"},
      {"training.windows",
       kStreamRun,
       kNoSettings,
       {"data.conversations=true"},
       "'data.conversations' is true"},
      {"data.cache", kStreamRun, kNoSettings, {"data.conversations=true"}, "'data.conversations' is true"},
      {"data.train_list", kTextRun, {"data.train_list=a"}, kNoSettings, "no list is named"},
      {"data.empty_lines",
       {"data.train=a.txt"},
       kNoSettings,
       kStreamRun,
       "empty lines are part of plain text"},
      {"data.empty_lines", kStreamRun, {"data.train=a.tsv"}, {"data.train=a.txt"}, "part of plain text"},
  };
  return all;
}

const std::vector<UnusedRule>& tokenizer_rules() {
  static const std::vector<UnusedRule> all{
      {"tokenizer.type", kTextRun, kNoSettings, {"tokenizer.file=x"}, "'tokenizer.file' is set"},
      {"tokenizer.file", kTextRun, {"tokenizer.file=x"}, kPictureRun, "neither read nor write text"},
      {"tokenizer.type", kTextRun, kNoSettings, kFromFolder, "the tokenizer of 'model.from' is used"},
      {"tokenizer.file", kTextRun, kFromFolder, kPictureRun, "neither read nor write text"},
      {"tokenizer.vocab_size", kTextRun, {"tokenizer.type=bpe"}, {"tokenizer.type=char"}, "is \"char\""},
      {"tokenizer.words", kTextRun, {"tokenizer.type=word"}, {"tokenizer.type=char"}, "is \"char\""},
      {"tokenizer.min_frequency",
       kTextRun,
       {"tokenizer.type=bpe"},
       {"tokenizer.type=char"},
       "minimum frequency"},
      {"tokenizer.min_frequency",
       kTextRun,
       {"tokenizer.type=word"},
       {"tokenizer.type=unigram"},
       "no minimum"},
      {"tokenizer.limit_alphabet", kTextRun, {"tokenizer.type=bpe"}, {"tokenizer.type=byte-bpe"}, "alphabet"},
      {"tokenizer.character_coverage",
       kTextRun,
       {"tokenizer.type=char"},
       {"tokenizer.type=word"},
       "alphabet"},
      {"tokenizer.max_piece_length",
       kTextRun,
       {"tokenizer.type=bpe"},
       {"tokenizer.type=wordpiece"},
       "length of"},
      {"tokenizer.max_piece_length",
       kTextRun,
       {"tokenizer.type=unigram"},
       {"tokenizer.type=word"},
       "length of"},
  };
  return all;
}

const std::vector<UnusedRule>& loss_rules() {
  static const std::vector<UnusedRule> all{
      {"embedding.scale", {"task=embedding"}, kNoSettings, {"embedding.loss=cosine"}, "is not \"ranking\""},
      {"embedding.margin", {"task=embedding"}, {"embedding.loss=triplet"}, kNoSettings, "is not \"triplet\""},
      {"embedding.distance",
       {"task=embedding"},
       {"embedding.loss=triplet"},
       kNoSettings,
       "is not \"triplet\""},
      {"labels.weights",
       kTextRun,
       kNoSettings,
       {"labels.problem_type=multi_label_classification"},
       "is not \"single_label_classification\""},
      {"labels.balance", kTextRun, kNoSettings, {"labels.weights=[1]"}, "'labels.weights' sets the weights"},
      {"labels.names",
       kTextRun,
       {"labels.problem_type=multi_label_classification"},
       {"labels.problem_type=regression"},
       "is \"regression\""},
      {"training.label_smoothing", kNoSettings, kTextRun, {"task=question-answering"}, "no label smoothing"},
      {"training.label_smoothing", kNoSettings, kSpeechRun, {"task=contrastive"}, "no label smoothing"},
      {"training.label_smoothing",
       kSpeechRun,
       {"model.family=wav2vec2", "model.from=x"},
       {"model.family=wav2vec2"},
       "no label smoothing"},
      {"validation.beam", kSpeechRun, kNoSettings, {"model.family=wav2vec2"}, "decoded without a beam"},
      {"validation.length_penalty", kSpeechRun, kNoSettings, {"model.family=wav2vec2"}, "without a beam"},
      {"validation.patience",
       kTextRun,
       {"validation.every_steps=1"},
       {"validation.every_steps=0"},
       "there is one validation only"},
      {"validation.lower_case",
       kNoSettings,
       {"validation.metrics=bleu"},
       {"validation.metrics=loss"},
       "neither bleu nor chrf"},
      {"validation.lower_case",
       kNoSettings,
       {"validation.metrics=chrf"},
       {"validation.metrics=loss"},
       "neither bleu nor chrf"},
      {"validation.max_sentences",
       kNoSettings,
       {"validation.metrics=chrf"},
       {"validation.metrics=loss"},
       "no metric of generated texts"},
      {"validation.max_sentences",
       {"task=captioning"},
       {"validation.metrics=exact_match"},
       {"validation.metrics=loss"},
       "no metric of generated texts"},
  };
  return all;
}

TEST_F(UnusedKeyRules, HoldOnlyForTheirSettings) {
  for (const auto* list : {&model_rules(), &data_rules(), &tokenizer_rules(), &loss_rules()})
    for (const UnusedRule& rule : *list) {
      EXPECT_EQ(reason_of(rule.key, with_settings(rule.both, rule.used)), "")
          << rule.key << ": " << rule.reason;
      const std::string found = reason_of(rule.key, with_settings(rule.both, rule.unused));
      EXPECT_NE(found, "") << rule.key << ": " << rule.reason;
      EXPECT_NE(found.find(rule.reason), std::string::npos) << rule.key << ": " << found;
    }
}

TEST_F(UnusedKeyRules, NameTheTasksThatReadAKey) {
  EXPECT_EQ(reason_of("masking.share", {"task=translation"}),
            "only runs of the task 'masked-language-model' read it");
  EXPECT_EQ(reason_of("sound.seconds", {"task=translation"}),
            "only runs of the tasks 'audio-classification', 'speech-recognition' read it");
  EXPECT_EQ(reason_of("sound.seconds", with_settings(kSpeechRun, kFromFolder)), "")
      << "a wav2vec2 folder needs it";
}

// A resumed run may change exactly these keys.
TEST(RunFields, OnlyTheseMayChange) {
  RunConfig config;
  Settings names;
  for (const Field& field : run_fields(config))
    if (field.may_change) names.push_back(field.name());
  EXPECT_EQ(names, (Settings{"data.train",
                             "data.valid",
                             "data.train_list",
                             "data.cache",
                             "data.preview",
                             "tokenizer.file",
                             "training.learning_rate",
                             "training.min_learning_rate",
                             "training.muon_learning_rate",
                             "training.schedule",
                             "training.warmup_steps",
                             "training.max_skipped_steps",
                             "training.gradient_checkpointing",
                             "training.max_steps",
                             "training.max_epochs",
                             "training.max_minutes",
                             "training.average_last",
                             "validation.every_steps",
                             "validation.metrics",
                             "validation.best",
                             "validation.patience",
                             "validation.beam",
                             "validation.length_penalty",
                             "validation.max_sentences",
                             "validation.samples",
                             "output.folder",
                             "output.checkpoint_every_steps",
                             "output.keep",
                             "output.log_every_steps",
                             "output.tensorboard",
                             "distributed.timeout",
                             "distributed.shard_optimizer"}));
}

}  // namespace
}  // namespace regard::train

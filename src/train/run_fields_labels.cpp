// Keys of a run file: [labels], [masking], [questions] and [embedding].
#include "train/run_field_parts.h"

namespace regard::train {

void add_labels(std::vector<Field>& list, LabelConfig& c) {
  list.push_back({.section = "labels",
                  .key = "problem_type",
                  .target = &c.problem_type,
                  .meaning = "Type of the labels, as in transformers: one label per text "
                             "(single_label_classification); any number of labels, in a JSON list or "
                             "separated by spaces (multi_label_classification); or a number (regression).",
                  .choices = {"single_label_classification", "multi_label_classification", "regression"}});
  list.push_back({.section = "labels",
                  .key = "names",
                  .target = &c.names,
                  .meaning = "The labels in the order of their ids. A label in the data that is not in this "
                             "list is an error. Default: the labels of the training data, sorted."});
  list.push_back({.section = "labels",
                  .key = "until",
                  .target = &c.until,
                  .meaning = "Truncate each label of the data before this text. Example: \":\" converts "
                             "NUM:date to the label NUM. Default: labels are not truncated."});
  list.push_back(
      {.section = "labels",
       .key = "weights",
       .target = &c.weights,
       .meaning = "Weight of each label in the loss, in the order of the ids. Default: 1 for each.",
       .low = 0,
       .high = 1e6});
  list.push_back({.section = "labels",
                  .key = "balance",
                  .target = &c.balance,
                  .meaning = "Set the weight of each label to E / (L * E_l). E is the number of examples, L "
                             "the number of labels, and E_l the number of examples with the label."});
}

void add_masking(std::vector<Field>& list, MaskingConfig& c) {
  list.push_back({.section = "masking",
                  .key = "unit",
                  .target = &c.unit,
                  .meaning = "Unit of masking: single tokens (token), all tokens of a word (word), or "
                             "sequences of 1 to 10 words (span, as in SpanBERT).",
                  .choices = {"token", "word", "span"}});
  list.push_back({.section = "masking",
                  .key = "share",
                  .target = &c.share,
                  .meaning = "Fraction of the tokens to predict. Of these tokens, 80 % become [MASK], 10 % "
                             "become a random token, and 10 % are unchanged.",
                  .low = 0.001,
                  .high = 0.9});
}

void add_questions(std::vector<Field>& list, QuestionConfig& c) {
  list.push_back({.section = "questions",
                  .key = "stride",
                  .target = &c.stride,
                  .unit = "tokens",
                  .meaning = "Overlap of the windows into which a long text is divided.",
                  .low = 0,
                  .high = 1e6});
  list.push_back({.section = "questions",
                  .key = "longest_answer",
                  .target = &c.longest_answer,
                  .unit = "tokens",
                  .meaning = "Maximum length of a predicted answer in validations.",
                  .low = 1,
                  .high = 1e6});
}

void add_embedding(std::vector<Field>& list, EmbeddingConfig& c) {
  list.push_back({.section = "embedding",
                  .key = "loss",
                  .target = &c.loss,
                  .meaning = "Loss. ranking: find a row's second text among the second and third texts of "
                             "the batch (MultipleNegativesRankingLoss). triplet: the first text must be "
                             "closer to the second text than to the third text (TripletLoss). cosine: the "
                             "third column is the target cosine of the two texts (CosineSimilarityLoss).",
                  .choices = {"ranking", "triplet", "cosine"}});
  list.push_back(
      {.section = "embedding",
       .key = "scale",
       .target = &c.scale,
       .meaning = "ranking: factor by which cosines are multiplied, the inverse of the temperature.",
       .low = 1e-3,
       .high = 1e4});
  list.push_back({.section = "embedding",
                  .key = "margin",
                  .target = &c.margin,
                  .meaning = "triplet: the distance of the third text from the first text must exceed that "
                             "of the second text by this margin.",
                  .low = 0.0,
                  .high = 1e4});
  list.push_back({.section = "embedding",
                  .key = "distance",
                  .target = &c.distance,
                  .meaning = "triplet: distance function of two vectors.",
                  .choices = {"euclidean", "cosine"}});
  list.push_back({.section = "embedding",
                  .key = "pooling",
                  .target = &c.pooling,
                  .meaning =
                      "Pooling of the states of a text's tokens into one vector: their mean (mean), the "
                      "first token's state (cls), or the maximum of each feature (max).",
                  .choices = {"mean", "cls", "max"}});
  list.push_back({.section = "embedding",
                  .key = "normalize",
                  .target = &c.normalize,
                  .meaning = "Normalise the vectors to length 1."});
}

}  // namespace regard::train

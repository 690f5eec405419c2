// Keys of a run file: [labels], [masking], [questions], [embedding], [images], [augmentation] and [sound].
#include "train/run_field_parts.h"

namespace regard::train {

void add_labels(std::vector<Field>& list, LabelConfig& c) {
  const SectionFields add(list, "labels");
  add("problem_type", c.problem_type,
      "Type of the labels, as in transformers: one label per text (single_label_classification); any number "
      "of labels, in a JSON list or separated by spaces (multi_label_classification); or a number "
      "(regression).",
      {.choices = {"single_label_classification", "multi_label_classification", "regression"}});
  add("names", c.names,
      "The labels in the order of their ids. A label in the data that is not in this list is an error. "
      "Default: the labels of the training data, sorted.");
  add("until", c.until,
      "Truncate each label of the data before this text. Example: \":\" converts NUM:date to the label NUM. "
      "Default: labels are not truncated.");
  add("weights", c.weights, "Weight of each label in the loss, in the order of the ids. Default: 1 for each.",
      {.low = 0, .high = 1e6});
  add("balance", c.balance,
      "Set the weight of each label to E / (L * E_l). E is the number of examples, L the number of labels, "
      "and E_l the number of examples with the label.");
}

void add_masking(std::vector<Field>& list, MaskingConfig& c) {
  const SectionFields add(list, "masking");
  add("unit", c.unit,
      "Unit of masking: single tokens (token), all tokens of a word (word), or sequences of 1 to 10 words "
      "(span, as in SpanBERT).",
      {.choices = {"token", "word", "span"}});
  add("share", c.share,
      "Fraction of the tokens to predict. Of these tokens, 80 % become [MASK], 10 % become a random token, "
      "and 10 % are unchanged.",
      {.low = 0.001, .high = 0.9});
}

void add_questions(std::vector<Field>& list, QuestionConfig& c) {
  const SectionFields add(list, "questions");
  add("stride", c.stride, "Overlap of the windows into which a long text is divided.",
      {.unit = "tokens", .low = 0, .high = 1e6});
  add("longest_answer", c.longest_answer, "Maximum length of a predicted answer in validations.",
      {.unit = "tokens", .low = 1, .high = 1e6});
}

void add_embedding(std::vector<Field>& list, EmbeddingConfig& c) {
  const SectionFields add(list, "embedding");
  add("loss", c.loss,
      "Loss. ranking: find a row's second text among the second and third texts of the batch "
      "(MultipleNegativesRankingLoss). triplet: the first text must be closer to the second text than to the "
      "third text (TripletLoss). cosine: the third column is the target cosine of the two texts "
      "(CosineSimilarityLoss).",
      {.choices = {"ranking", "triplet", "cosine"}});
  add("scale", c.scale, "ranking: factor by which cosines are multiplied, the inverse of the temperature.",
      {.low = 1e-3, .high = 1e4});
  add("margin", c.margin,
      "triplet: the distance of the third text from the first text must exceed that of the second text by "
      "this margin.",
      {.low = 0.0, .high = 1e4});
  add("distance", c.distance, "triplet: distance function of two vectors.",
      {.choices = {"euclidean", "cosine"}});
  add("pooling", c.pooling,
      "Pooling of the states of a text's tokens into one vector: their mean (mean), the first token's state "
      "(cls), or the maximum of each feature (max).",
      {.choices = {"mean", "cls", "max"}});
  add("normalize", c.normalize, "Normalise the vectors to length 1.");
}

void add_images(std::vector<Field>& list, ImageConfig& c) {
  const SectionFields add(list, "images");
  add("size", c.size, "Width and height to which each image is resized.",
      {.unit = "pixels", .low = 1, .high = 4096});
  add("patch_size", c.patch_size, "Width and height of a patch, which is one position of the model.",
      {.unit = "pixels", .low = 1, .high = 4096});
  add("highest", c.highest,
      "If greater than 0, each row of a table contains grey pixels, from 0 (black) to this value (white), "
      "and a label. If 0, each row contains the path of an image and its label.",
      {.low = 0, .high = 65535});
  add("mean", c.mean,
      "Mean of each colour channel (red, green, blue), subtracted from pixel values scaled to 0 to 1.",
      {.low = -10, .high = 10});
  add("deviation", c.deviation,
      "Standard deviation of each colour channel (red, green, blue). A value x from 0 to 1 becomes (x - "
      "mean) / deviation.",
      {.low = 1e-6, .high = 1e6});
}

void add_augmentation(std::vector<Field>& list, AugmentationConfig& c) {
  const SectionFields add(list, "augmentation");
  add("smallest_crop", c.smallest_crop,
      "Minimum fraction of the image's area that a random crop keeps. Crops have an aspect ratio of 3:4 to "
      "4:3 and are resized to the full size. 1 disables cropping.",
      {.low = 0.01, .high = 1.0});
  add("flip", c.flip, "Probability of flipping an image horizontally.", {.low = 0.0, .high = 1.0});
  add("rotation", c.rotation, "Maximum angle of a random rotation in either direction.",
      {.unit = "degrees", .low = 0.0, .high = 180.0});
  add("zoom", c.zoom, "Maximum random change of the size, as a fraction of the size.",
      {.low = 0.0, .high = 0.9});
  add("shift", c.shift, "Maximum random shift, as a fraction of the width and of the height.",
      {.low = 0.0, .high = 0.9});
  add("shear", c.shear, "Maximum angle of a random horizontal shear.",
      {.unit = "degrees", .low = 0.0, .high = 60.0});
}

void add_sound(std::vector<Field>& list, SoundConfig& c) {
  const SectionFields add(list, "sound");
  add("seconds", c.seconds,
      "Length of the model's window; shorter sounds are padded with silence. For wav2vec2: maximum length of "
      "a sound.",
      {.unit = "seconds", .low = 1, .high = 3600});
  add("bins", c.bins, "Number of mel bins per frame of 10 ms.", {.unit = "bins", .low = 1, .high = 1024});
  add("patch_size", c.patch_size,
      "audio-spectrogram-transformer: side of a square patch, in frames and in bins.",
      {.unit = "bins", .low = 1, .high = 512});
  add("patch_stride", c.patch_stride,
      "audio-spectrogram-transformer: distance between the starts of adjacent patches, which may overlap.",
      {.unit = "bins", .low = 1, .high = 512});
  add("channels", c.channels,
      "wav2vec2: number of channels of each of the seven convolutions over the samples.",
      {.low = 1, .high = 4096});
  add("vocabulary", c.vocabulary,
      "whisper: vocabulary size of the byte-level BPE for texts, without task and timestamp tokens.",
      {.unit = "tokens", .low = 1, .high = 1e6});
  add("mask_frames", c.mask_frames,
      "SpecAugment: fraction of the frames of an example that are set to 0, drawn again in each epoch.",
      {.low = 0.0, .high = 1.0});
  add("masked_frames", c.masked_frames, "SpecAugment: length of each masked span of frames.",
      {.unit = "frames", .low = 1, .high = 10000});
  add("mask_bins", c.mask_bins, "SpecAugment: fraction of the bins that are set to 0.",
      {.low = 0.0, .high = 1.0});
  add("masked_bins", c.masked_bins, "SpecAugment: number of adjacent bins of each masked span.",
      {.unit = "bins", .low = 1, .high = 1024});
}

}  // namespace regard::train

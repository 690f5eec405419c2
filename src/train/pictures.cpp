#include "train/pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/file.h"
#include "base/hash.h"
#include "data/duplicates.h"
#include "data/processor_keys.h"
#include "train/corpora.h"

namespace regard::train {
namespace {

constexpr const char* kProcessorFile = "preprocessor_config.json";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

// Return the image, resized and cropped by the processor to the model's input size.
data::Image shaped_as(const data::Image& image, const PictureInput& input) {
  data::Image shaped = input.processor().shape(image);
  if (shaped.height == input.height() && shaped.width == input.width()) return shaped;
  throw usage_error("the image size in preprocessor_config.json differs from that of the model")
      .found(fmt::format("{} × {}", shaped.width, shaped.height))
      .expected(fmt::format("{} × {}", input.width(), input.height()));
}

data::Augmentation augmentation_of(const AugmentationConfig& config) {
  return {config.smallest_crop, config.flip, config.rotation, config.zoom, config.shift, config.shear};
}

}  // namespace

PictureSplit read_pictures(const RunConfig& config) {
  PictureSplit split;
  const bool own_files = !config.data.valid.empty();
  if (own_files)
    split.valid = data::read_picture_rows(table_options(config, config.data.valid), config.images.highest);
  data::PictureRows all =
      data::read_picture_rows(table_options(config, config.data.train), config.images.highest);
  split.train.report = all.report;
  if (!own_files) split.valid.report = all.report;
  data::SplitDuplicates duplicates;
  if (own_files)
    for (const data::PictureRow& row : split.valid.rows) {
      const std::string keys[] = {row.key, row.text};
      duplicates.add_validation(keys, row.place);
    }
  for (data::PictureRow& row : all.rows) {
    const std::string keys[] = {row.key, row.text};
    if (own_files) duplicates.check_training(keys, row.place);
    (is_held_out(config, row.key) ? split.valid : split.train).rows.push_back(std::move(row));
  }
  // Report duplicates only for tables of pixel values. For other data, the key of a row is the path of its
  // image, and equal paths in different folders are different images.
  if (config.images.highest > 0) split.duplicates = duplicates.text();
  split.train.report.refuse_more_than(config.data.max_skipped, "data.max_skipped");
  split.valid.report.refuse_more_than(config.data.max_skipped, "data.max_skipped");
  return split;
}

text::LineSource row_texts(const std::vector<data::PictureRow>& rows) {
  return [&rows, at = std::size_t{0}](std::string& line) mutable {
    if (at == rows.size()) return false;
    line = rows[at++].text;
    return true;
  };
}

void check_pictures(const RunConfig& config, const char* columns) {
  const ImageConfig& images = config.images;
  for (const auto& [key, values] :
       {std::pair("images.mean", &images.mean), std::pair("images.deviation", &images.deviation)})
    if (values->size() != 3)
      throw usage_error(fmt::format("'{}' has a wrong length", key))
          .found(counted(values->size(), "number"))
          .expected("3 numbers, one for each colour");
  if (config.model.from.empty() && images.patch_size > images.size)
    throw usage_error("'images.patch_size' exceeds 'images.size'")
        .found(counted(images.patch_size, "pixel"))
        .expected(fmt::format("at most {} pixels", images.size));
  for (const auto* files : {&config.data.train, &config.data.valid}) {
    if (files->empty() || !data::has_columns(corpus_format(config, files->front()))) continue;
    const std::size_t count = corpus_columns(config, files->front()).size();
    if (images.highest > 0 ? count <= 1 : count == 2) continue;
    const char* key = corpus_columns_key(config, files->front());
    throw usage_error(images.highest > 0 ? fmt::format("'{}' must name only the column of the label", key)
                                         : fmt::format("'{}' must name two columns: {}", key, columns))
        .found(counted(count, "column"))
        .expected(images.highest > 0 ? "one column, such as columns = [65]"
                                     : "two columns, such as columns = [1, 2]");
  }
}

PictureInput::PictureInput(const ImageConfig& config) {
  processor_.height = processor_.width = config.size;
  const auto copy = [](const std::vector<double>& from, std::array<float, 3>& to) {
    for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) to[i] = static_cast<float>(from[i]);
  };
  copy(config.mean, processor_.mean);
  copy(config.deviation, processor_.deviation);
}

void PictureInput::set_spec(const InputSpec& spec) {
  spec.require(InputKind::pixels);
  if (spec.shape[1] != 3)
    throw usage_error("unsupported number of channels of the model's images")
        .found(counted(spec.shape[1], "channel"))
        .expected("3 channels (red, green, blue)");
  height_ = spec.shape[2], width_ = spec.shape[3];
  positions_ = spec.length_of(spec.blank());
}

void PictureInput::take(const formats::ModelFolder& folder, const InputSpec& spec) {
  set_spec(spec);
  processor_ = data::ImageProcessor::open(folder.path, height_, width_);
  const std::filesystem::path file = folder.path / kProcessorFile;
  constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 20;
  const auto keys = data::read_processor_keys(folder.path, "image_processor");
  if (keys && keys->file == file.string()) text_ = read_file(file, kMostFileBytes);
}

std::vector<std::pair<std::string, std::string>> PictureInput::files() const {
  return {{kProcessorFile, text_.empty() ? processor_.to_json().dump(2) + "\n" : text_}};
}

void Pictures::load(data::PictureRows rows, const PictureInput& input, const RunConfig& config) {
  input_ = &input;
  report_ = std::move(rows.report);
  const std::int64_t bytes = 3 * input.height() * input.width();
  const bool keeps = bytes <= kMostBytes / std::max<std::int64_t>(std::ssize(rows.rows), 1);
  for (data::PictureRow& row : rows.rows) {
    data::Image image;
    try {
      image = shaped_as(row.read(), input);
    } catch (const Error& error) {
      if (config.data.malformed != "skip" || error.kind() == ErrorKind::usage) throw;
      --report_.records;
      report_.skip(data::SkipReason::malformed, row.place, error.message());
      continue;
    }
    fingerprint_ = fingerprint_ * 3 + xxh3(std::as_bytes(std::span(image.pixels)));
    fingerprint_ = fingerprint_ * 3 + xxh3(row.text);
    if (keeps) {
      kept_.push_back(std::move(image));
      row.image = {};
    }
    rows_.push_back(std::move(row));
  }
  report_.refuse_more_than(config.data.max_skipped, "data.max_skipped");
}

data::Image Pictures::shaped(std::size_t i) const {
  return shaped_as(rows_[i].read(), *input_);
}

std::vector<data::WeightedSource> Pictures::sources(const RunConfig& config) const {
  return data::weighted_sources(
      rows_.size(), [this](std::size_t i) { return rows_[i].source; }, config.data.weights);
}

Tensor Pictures::pixels(std::size_t i) const {
  Tensor pixels = Tensor::empty({1, 3, input_->height(), input_->width()});
  if (kept_.empty())
    input_->processor().write(shaped(i), pixels.f32());
  else
    input_->processor().write(kept_[i], pixels.f32());
  return pixels;
}

Tensor Pictures::augmented(std::size_t i, const RunConfig& config, std::uint64_t epoch) const {
  const data::Augmentation how = augmentation_of(config.augmentation);
  Tensor plain = pixels(i);
  if (!how.used()) return plain;
  const RandomKey key{static_cast<std::uint64_t>(config.seed), (epoch << 32) + i, place_of("augmentation")};
  Tensor changed = Tensor::empty(plain.shape());
  data::Image black;
  black.height = black.width = 1;
  black.pixels.assign(3, 0);
  float fill[3];
  input_->processor().write(black, fill);
  data::warp(plain.f32(), {3, input_->height(), input_->width()},
             data::random_map(how, input_->height(), input_->width(), key), fill, changed.f32());
  return changed;
}

}  // namespace regard::train

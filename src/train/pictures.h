// The images of a run: rows of the data, and the model input computed from them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/augment.h"
#include "data/image_processor.h"
#include "data/picture_rows.h"
#include "data/weighted_sources.h"
#include "formats/model_folder.h"
#include "models/model_input.h"
#include "text/word_counts.h"
#include "train/run_config.h"

namespace regard::train {

struct PictureSplit {
  data::PictureRows train, valid;
  std::string duplicates;  // message about images that occur in both training and validation data; may be ""
};
// Read data.train and data.valid. Without data.valid, a fraction data.valid_fraction of the images is held
// out by a hash of the path or the pixels. Throws as data::read_picture_rows() does, and bad_file if the
// fraction of skipped rows is above data.max_skipped.
PictureSplit read_pictures(const RunConfig& config);

// Return the texts of the rows, for training a tokenizer. `rows` must outlive the result.
text::LineSource row_texts(const std::vector<data::PictureRow>& rows);

// Throws usage, naming the key, if the values of [images] or the columns of data.train are invalid. `columns`
// describes the expected columns in messages.
void check_pictures(const RunConfig& config, const char* columns);

// Image preprocessing of a run. A new model uses the settings in [images]; any other model uses the settings
// in its model folder.
class PictureInput {
 public:
  explicit PictureInput(const ImageConfig& config);
  // Set the model's input format. Throws usage if the format is not RGB images.
  void set_spec(const InputSpec& spec);
  // Use the input format and the preprocessor_config.json of a model folder.
  void take(const formats::ModelFolder& folder, const InputSpec& spec);

  const data::ImageProcessor& processor() const { return processor_; }
  // The following functions are valid after set_spec() or take().
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::int64_t positions() const { return positions_; }  // number of positions of an image in the model
  // Return names and contents of the files to save in checkpoints: preprocessor_config.json.
  std::vector<std::pair<std::string, std::string>> files() const;

 private:
  data::ImageProcessor processor_;
  // height and width of the model's images in pixels; number of positions of an image in the model
  std::int64_t height_ = 0, width_ = 0, positions_ = 0;
  // text of the folder's preprocessor_config.json; if empty, files() writes it from processor_
  std::string text_;
};

// Images, resized and cropped for the model. They are kept in memory if they need at most 1 GiB; otherwise
// each image is read again when it is needed.
class Pictures {
 public:
  // Read all images once. `input` must outlive the object. Throws as PictureRow::read() does, usage if the
  // image size in preprocessor_config.json differs from that of the model, and bad_file if the fraction of
  // skipped rows is above data.max_skipped.
  void load(data::PictureRows rows, const PictureInput& input, const RunConfig& config);

  std::size_t size() const { return rows_.size(); }
  const data::PictureRow& row(std::size_t i) const { return rows_[i]; }  // the row without its image
  // Return the model input [1, 3, height, width].
  Tensor pixels(std::size_t i) const;
  // Return the model input of image i with random augmentation. The result depends only on the image, the
  // settings, the seed of the run, the epoch and i.
  Tensor augmented(std::size_t i, const RunConfig& config, std::uint64_t epoch) const;
  // Return the files or folders that contain the rows, with the weights of data.weights.
  std::vector<data::WeightedSource> sources(const RunConfig& config) const;
  // Return the numbers of rows that load() read and skipped. It skips unreadable images only if
  // data.malformed is "skip".
  const data::RowReport& report() const { return report_; }
  std::uint64_t fingerprint() const { return fingerprint_; }  // hash of all pixels and texts

 private:
  data::Image shaped(std::size_t i) const;

  std::vector<data::PictureRow> rows_;
  const PictureInput* input_ = nullptr;
  std::vector<data::Image> kept_;  // decoded image of each row; empty if the images need more than 1 GiB
  data::RowReport report_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace regard::train

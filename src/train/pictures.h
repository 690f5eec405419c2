// The pictures of a run: rows of its data, and the input of the model made from them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/augment.h"
#include "data/image_processor.h"
#include "data/picture_rows.h"
#include "formats/model_folder.h"
#include "models/model_input.h"
#include "train/run_config.h"

namespace regard::train {

struct PictureSplit {
  data::PictureRows train, valid;
  std::string duplicates;  // pictures that are in both, as a note; "" if there is none
};
// Read data.train and data.valid, or hold out data.valid_fraction of the pictures, by a hash of their path or
// pixels. Throws as data::read_picture_rows().
PictureSplit read_pictures(const RunConfig& config);

// Throws usage naming the key if the values of [images], or the columns of data.train, do not fit. `columns`:
// what they are, for messages.
void check_pictures(const RunConfig& config, const char* columns);

// How the model of a run reads pictures: [images] for a new model, else as its folder says.
class PictureInput {
 public:
  explicit PictureInput(const ImageConfig& config);
  // Set what the model reads. Throws usage if it reads no RGB images.
  void set_spec(const InputSpec& spec);
  // The same for the model of a folder, with the folder's preprocessor_config.json.
  void take(const formats::ModelFolder& folder, const InputSpec& spec);

  const data::ImageProcessor& processor() const { return processor_; }
  // After set_spec() or take():
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::int64_t positions() const { return positions_; }  // that a picture takes in the model
  // preprocessor_config.json, for checkpoints.
  std::vector<std::pair<std::string, std::string>> files() const;

 private:
  data::ImageProcessor processor_;
  std::int64_t height_ = 0, width_ = 0, positions_ = 0;  // of the model's images
  std::string text_;  // preprocessor_config.json of the folder; empty: of processor_
};

// Pictures, resized and cropped as the model reads them. Their bytes are kept in memory up to 1 GiB; more
// pictures are read from their files each time.
class Pictures {
 public:
  // Read all pictures once. Throws as PictureRow::read(); with data.malformed = "skip" unreadable pictures
  // are left out and counted. `what`: for the note. `input` must outlive the object.
  void load(data::PictureRows rows, const PictureInput& input, const RunConfig& config);

  std::size_t size() const { return rows_.size(); }
  const data::PictureRow& row(std::size_t i) const { return rows_[i]; }  // without its image
  // Return the input of the model [1, 3, height, width].
  Tensor pixels(std::size_t i) const;
  // The same with a random change; a pure function of the picture, the settings and the seed of the run, the
  // epoch and i.
  Tensor augmented(std::size_t i, const RunConfig& config, std::uint64_t epoch) const;
  const data::RowReport& report() const { return report_; }
  std::uint64_t fingerprint() const { return fingerprint_; }  // of pixels and texts

 private:
  data::Image shaped(std::size_t i) const;

  std::vector<data::PictureRow> rows_;
  const PictureInput* input_ = nullptr;
  std::vector<data::Image> kept_;  // of each row; empty: too many
  data::RowReport report_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace regard::train

#include "data/image_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "data/processor_keys.h"
#include "regard/error.h"

namespace regard::data {
namespace {

// Reads the keys of an image processor.
class Reader {
 public:
  Reader(ProcessorKeys keys, bool keeps_shape)
      : file_(std::move(keys.file)), config_(std::move(keys.keys)), keeps_shape_(keeps_shape) {}

  void flag(const char* key, bool& value) const {
    value = optional_value<bool>(config_, key, file_).value_or(value);
  }

  // Read a size: {"height", "width"}, {"shortest_edge"}, or one number. A number is the side of a square or,
  // for CLIP's processors, the shortest edge.
  void size(const char* key, std::int64_t& height, std::int64_t& width, std::int64_t* shortest) const {
    const auto found = config_.find(key);
    if (found == config_.end() || found->is_null()) return;
    if (found->is_number()) {
      const std::int64_t side = number(config_, key);
      if (shortest != nullptr && keeps_shape_)
        *shortest = side;
      else
        set_sides(side, side, height, width, shortest);
    } else if (found->is_object() && found->contains("shortest_edge") && shortest != nullptr) {
      if (found->contains("longest_edge")) throw wrong(key, "shortest_edge only");
      *shortest = number(*found, "shortest_edge");
    } else if (found->is_object() && found->contains("height") && found->contains("width")) {
      set_sides(number(*found, "height"), number(*found, "width"), height, width, shortest);
    } else {
      throw wrong(key, "height and width, or shortest_edge");
    }
  }

  void filter(Resampling& value) const {
    if (optional_value<std::int64_t>(config_, "resample", file_))
      value = static_cast<Resampling>(require_in<std::int64_t>(config_, "resample", file_, 0, 5));
  }

  void factor(double& value) const {
    value = optional_value<double>(config_, "rescale_factor", file_).value_or(value);
  }

  void colours(const char* key, std::array<float, 3>& value) const {
    const auto found = config_.find(key);
    if (found == config_.end() || found->is_null()) return;
    if (found->is_number()) {
      value.fill(json_as<float>(*found, key, file_));
      return;
    }
    const auto numbers = json_as<std::vector<float>>(*found, key, file_);
    if (numbers.size() != 3) throw wrong(key, "three numbers, one per colour channel");
    std::copy(numbers.begin(), numbers.end(), value.begin());
  }

  Error wrong(const char* key, const char* expected) const {
    return file_error(file_, std::string("\"") + key + "\" has a wrong value")
        .found(describe(config_[key]))
        .expected(expected);
  }

 private:
  static void set_sides(std::int64_t to_height, std::int64_t to_width, std::int64_t& height,
                        std::int64_t& width, std::int64_t* shortest) {
    height = to_height, width = to_width;
    if (shortest != nullptr) *shortest = 0;
  }
  std::int64_t number(const Json& from, const char* key) const {
    return require_in<std::int64_t>(from, key, file_, 1, kLongestSide);
  }
  std::string file_;
  Json config_;
  bool keeps_shape_ = false;  // true if a size given as one number is the length of the shortest edge
};

enum class ProcessorClass { vit, deit, clip, siglip };

// Return the class for the name of a transformers class, such as "CLIPImageProcessorFast", or for a
// model_type, such as "clip".
ProcessorClass class_named(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("siglip")) return ProcessorClass::siglip;
  if (has("clip")) return ProcessorClass::clip;
  return has("deit") ? ProcessorClass::deit : ProcessorClass::vit;
}

// Set the fields whose default values depend on the processor class.
void set_defaults(ProcessorClass kind, ImageProcessor& processor) {
  if (kind != ProcessorClass::vit) processor.filter = Resampling::bicubic;
  processor.do_crop = kind == ProcessorClass::deit || kind == ProcessorClass::clip;
  if (kind == ProcessorClass::deit) processor.height = processor.width = 256;
  if (kind != ProcessorClass::clip) return;
  processor.shortest_edge = 224;
  processor.mean = {0.48145466f, 0.4578275f, 0.40821073f};
  processor.deviation = {0.26862954f, 0.26130258f, 0.27577711f};
}

}  // namespace

ImageProcessor ImageProcessor::open(const std::filesystem::path& folder, std::int64_t height,
                                    std::int64_t width) {
  ImageProcessor processor;
  processor.height = height, processor.width = width;
  std::optional<ProcessorKeys> keys = read_processor_keys(folder, "image_processor");
  if (!keys) return processor;
  const ProcessorClass kind = class_named(processor_class_of(*keys, "image_processor_type", folder));
  set_defaults(kind, processor);
  const Reader reader(std::move(*keys), kind == ProcessorClass::clip);
  reader.flag("do_resize", processor.do_resize);
  reader.flag("do_center_crop", processor.do_crop);
  reader.flag("do_rescale", processor.do_rescale);
  reader.flag("do_normalize", processor.do_normalise);
  reader.size("size", processor.height, processor.width, &processor.shortest_edge);
  reader.size("crop_size", processor.crop_height, processor.crop_width, nullptr);
  reader.filter(processor.filter);
  reader.factor(processor.rescale_factor);
  reader.colours("image_mean", processor.mean);
  reader.colours("image_std", processor.deviation);
  for (const float x : processor.deviation)
    if (!(x > 0.0f)) throw reader.wrong("image_std", "numbers above 0");
  return processor;
}

Json ImageProcessor::to_json() const {
  // Write the shortest decimal number that parses to the same float.
  const auto numbers = [](const std::array<float, 3>& values) {
    Json list = Json::array();
    for (const float value : values) list.push_back(std::stod(fmt::format("{}", value)));
    return list;
  };
  Json size = {{"height", height}, {"width", width}};
  if (shortest_edge > 0) size = {{"shortest_edge", shortest_edge}};
  return {{"image_processor_type", "ViTImageProcessor"},
          {"do_resize", do_resize},
          {"size", size},
          {"resample", static_cast<int>(filter)},
          {"do_center_crop", do_crop},
          {"crop_size", {{"height", crop_height}, {"width", crop_width}}},
          {"do_rescale", do_rescale},
          {"rescale_factor", rescale_factor},
          {"do_normalize", do_normalise},
          {"image_mean", numbers(mean)},
          {"image_std", numbers(deviation)}};
}

Image ImageProcessor::shape(const Image& image) const {
  Image shaped = image;
  if (do_resize) {
    std::int64_t to_height = height, to_width = width;
    if (shortest_edge > 0) {
      const std::int64_t shorter = std::min(image.height, image.width),
                         longer = std::max(image.height, image.width);
      const std::int64_t other = shortest_edge * longer / shorter;
      if (other > kLongestSide)
        throw input_error("the aspect ratio of the image is too large for resizing")
            .found(std::to_string(image.width) + " × " + std::to_string(image.height) + " pixels")
            .expected("a longer side of at most " + std::to_string(kLongestSide) + " pixels after resizing");
      to_height = image.height <= image.width ? shortest_edge : other;
      to_width = image.height <= image.width ? other : shortest_edge;
    }
    shaped = resize(image, to_height, to_width, filter);
  }
  return do_crop ? centre_crop(shaped, crop_height, crop_width) : shaped;
}

void ImageProcessor::write(const Image& image, float* to) const {
  const std::int64_t plane = image.height * image.width;
  for (std::size_t colour = 0; colour < 3; ++colour)
    for (std::int64_t p = 0; p < plane; ++p) {
      auto x = static_cast<float>(image.pixels[static_cast<std::size_t>(3 * p) + colour]);
      if (do_rescale) x = static_cast<float>(static_cast<double>(x) * rescale_factor);
      if (do_normalise) x = (x - mean[colour]) / deviation[colour];
      *to++ = x;
    }
}

Tensor ImageProcessor::apply(std::span<const Image> images) const {
  Tensor pixels;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Image shaped = shape(images[i]);
    if (i == 0) pixels = Tensor::empty({std::ssize(images), 3, shaped.height, shaped.width});
    if (shaped.height != pixels.shape()[2] || shaped.width != pixels.shape()[3])
      throw usage_error("the images of a batch differ in size")
          .found(fmt::format("{} × {}", shaped.width, shaped.height))
          .expected(fmt::format("{} × {}", pixels.shape()[3], pixels.shape()[2]));
    write(shaped, pixels.f32() + static_cast<std::int64_t>(i) * 3 * shaped.height * shaped.width);
  }
  return pixels;
}

}  // namespace regard::data

#include "train/media_traits.h"

#include <initializer_list>
#include <utility>

namespace regard::train {
namespace {

TaskTraits extended(TaskTraits traits, std::initializer_list<const char*> keys) {
  traits.keys.insert(traits.keys.end(), {"data.weights", "training.batch_size"});
  traits.keys.insert(traits.keys.end(), keys.begin(), keys.end());
  traits.example.insert(traits.example.begin(), {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]",
                                                 "data.columns=[1, 2]", "model.activation=gelu"});
  return traits;
}

}  // namespace

TaskTraits picture_traits(TaskTraits traits) {
  return extended(std::move(traits),
                  {"images.size", "images.patch_size", "images.mean", "images.deviation",
                   "augmentation.smallest_crop", "augmentation.flip", "augmentation.rotation",
                   "augmentation.zoom", "augmentation.shift", "augmentation.shear"});
}

TaskTraits sound_traits(TaskTraits traits) {
  traits.labels = "labels";
  traits.has_text = false;
  return extended(std::move(traits),
                  {"data.cache", "sound.seconds", "sound.bins", "sound.channels", "sound.mask_frames",
                   "sound.masked_frames", "sound.mask_bins", "sound.masked_bins"});
}

}  // namespace regard::train

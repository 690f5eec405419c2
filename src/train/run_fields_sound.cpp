// Keys of a run file: [sound].
#include "train/run_field_parts.h"

namespace regard::train {

void add_sound(std::vector<Field>& list, SoundConfig& c) {
  const auto count = [&list](const char* key, std::int64_t& value, const char* unit, const char* meaning,
                             double high) {
    list.push_back({.section = "sound",
                    .key = key,
                    .target = &value,
                    .unit = unit,
                    .meaning = meaning,
                    .low = 1,
                    .high = high});
  };
  const auto share = [&list](const char* key, double& value, const char* meaning) {
    list.push_back(
        {.section = "sound", .key = key, .target = &value, .meaning = meaning, .low = 0.0, .high = 1.0});
  };
  count("seconds", c.seconds, "s",
        "Length of the model's window; shorter sounds are padded with silence. For wav2vec2: maximum length "
        "of a sound.",
        3600);
  count("bins", c.bins, "bins", "Number of mel bins per frame of 10 ms.", 1024);
  count("patch_size", c.patch_size, "bins",
        "audio-spectrogram-transformer: side of a square patch, in frames and in bins.", 512);
  count("patch_stride", c.patch_stride, "bins",
        "audio-spectrogram-transformer: distance between the starts of adjacent patches, which may overlap.",
        512);
  count("channels", c.channels, "",
        "wav2vec2: number of channels of each of the seven convolutions over the samples.", 4096);
  count("vocabulary", c.vocabulary, "tokens",
        "whisper: vocabulary size of the byte-level BPE for texts, without task and timestamp tokens.", 1e6);
  share("mask_frames", c.mask_frames,
        "SpecAugment: fraction of the frames of an example that are set to 0, drawn again in each epoch.");
  count("masked_frames", c.masked_frames, "frames", "SpecAugment: length of each masked span of frames.",
        10000);
  share("mask_bins", c.mask_bins, "SpecAugment: fraction of the bins that are set to 0.");
  count("masked_bins", c.masked_bins, "bins", "SpecAugment: number of adjacent bins of each masked span.",
        1024);
}

}  // namespace regard::train

// Sampling rate conversion with libsoxr.
#include <algorithm>
#include <array>

#include "data/sound_parts.h"
#include "regard/error.h"

#ifdef REGARD_HAVE_SOXR
#include <soxr.h>
#endif

namespace regard::data {

#ifdef REGARD_HAVE_SOXR
namespace {

class SoxResampler : public Resampler {
 public:
  SoxResampler(std::int64_t from, std::int64_t to) {
    soxr_error_t error = nullptr;
    const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    const soxr_runtime_spec_t single = soxr_runtime_spec(1);
    converter_ =
        soxr_create(static_cast<double>(from), static_cast<double>(to), 1, &error, &io, &quality, &single);
    if (converter_ == nullptr || error != nullptr)
      throw Error(ErrorKind::resource_exhausted, "cannot create a resampler").found(soxr_strerror(error));
  }
  ~SoxResampler() override { soxr_delete(converter_); }
  SoxResampler(const SoxResampler&) = delete;
  SoxResampler& operator=(const SoxResampler&) = delete;

  void convert(std::span<const float> in, std::vector<float>& out) override {
    const bool ends = in.empty();
    std::array<float, 4096> piece;
    for (;;) {
      std::size_t used = 0, made = 0;
      const soxr_error_t error = soxr_process(converter_, ends ? nullptr : in.data(), in.size(), &used,
                                              piece.data(), piece.size(), &made);
      if (error != nullptr)
        throw Error(ErrorKind::resource_exhausted, "cannot convert the sampling rate")
            .found(soxr_strerror(error));
      out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(made));
      if (!ends) in = in.subspan(used);
      if (made == 0 && in.empty()) return;
    }
  }

 private:
  soxr_t converter_ = nullptr;
};

}  // namespace

std::unique_ptr<Resampler> Resampler::make(std::int64_t from, std::int64_t to, const std::string&) {
  return std::make_unique<SoxResampler>(from, to);
}

#else

std::unique_ptr<Resampler> Resampler::make(std::int64_t from, std::int64_t to, const std::string& file) {
  throw file_error(
      file, "the sampling rate of the sound differs from the model's, and this build cannot convert it")
      .found(std::to_string(from) + " Hz")
      .expected(std::to_string(to) + " Hz")
      .remedy("Convert the file, or build regard with libsoxr (package libsoxr-dev)");
}

#endif

}  // namespace regard::data

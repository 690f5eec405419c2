// Read an image file of any format (detected by its first bytes); resize and crop it.
#include "data/image.h"

#include "data/image_processor.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  const std::filesystem::path path = fuzz::folder() / "image";
  fuzz::put(path, fuzz::text_of(data, size));
  fuzz::must_return_or_blame_the_file([&] {
    // A few bytes of PNG can encode millions of equal pixels; such images are read but not processed further.
    for (const data::Image& image : data::read_images(path)) {
      if (image.height * image.width > 1 << 14) continue;
      for (const auto filter :
           {data::Resampling::nearest, data::Resampling::bicubic, data::Resampling::lanczos})
        data::centre_crop(data::resize(image, 5, 9, filter), 7, 7);
    }
  });
  return 0;
}

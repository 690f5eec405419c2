// Open a pytorch_model.bin (a ZIP archive, or PyTorch's older format), and read every tensor.
#include "formats/torch_file.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  const auto path = fuzz::folder() / "pytorch_model.bin";
  fuzz::put(path, fuzz::text_of(data, size));
  fuzz::must_return_or_blame_the_file([&] {
    const auto file = formats::TorchFile::open(path);
    for (const formats::TensorEntry& entry : file->entries())
      fuzz::must_return_or_blame_the_file([&] { file->tensor(entry.name).to(DType::f64); });
  });
  return 0;
}

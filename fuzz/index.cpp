// Open a model folder that has two valid shards, with the input as the index of the shards.
#include "formats/safetensors.h"
#include "formats/weights.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  static const bool ready = [] {
    const std::vector<formats::NamedTensor> first = {{"a", Tensor::of({1})}, {"b", Tensor::of({2})}};
    const std::vector<formats::NamedTensor> second = {{"c", Tensor::of({3})}};
    formats::write_safetensors(fuzz::folder() / "1.safetensors", first);
    formats::write_safetensors(fuzz::folder() / "2.safetensors", second);
    return true;
  }();
  if (!ready) return 0;
  const auto path = fuzz::folder() / "model.safetensors.index.json";
  fuzz::put(path, fuzz::text_of(data, size));
  fuzz::must_return_or_blame_the_file([&] {
    const auto weights = formats::Weights::open_index(path);
    for (const std::string& name : weights.names()) weights.tensor(name).to(DType::f64);
  });
  return 0;
}

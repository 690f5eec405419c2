// Read a safetensors file. If the header is accepted, the bytes of every tensor must be inside the file.
#include "formats/safetensors_header.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  const auto bytes = std::as_bytes(std::span(data, size));
  fuzz::must_return_or_blame_the_file([&] {
    const auto header = formats::parse_safetensors_header(bytes, "fuzz.safetensors");
    for (const formats::TensorEntry& entry : header.entries)
      if (entry.begin > size || entry.size > size - entry.begin) std::abort();
  });
  return 0;
}

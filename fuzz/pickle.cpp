// Read one file in Python's pickle format.
#include "formats/pickle.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  fuzz::must_return_or_blame_the_file([&] {
    const formats::pickle::Pickle pickle(std::as_bytes(std::span(data, size)), "fuzz.pkl");
    if (pickle.root() == nullptr || pickle.size() > size) std::abort();
  });
  return 0;
}

// Parse a config.json, and read each value as an integer, a number, a boolean and a list of strings. The JSON
// that is written from the parsed value must parse to the same value.
#include "base/json.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  fuzz::must_return_or_blame_the_file([&] {
    const Json config = parse_json(fuzz::text_of(data, size), "config.json");
    if (parse_json(config.dump(), "again.json") != config) std::abort();
    if (!config.is_object()) return;
    for (const auto& [key, value] : config.items()) {
      fuzz::must_return_or_blame_the_file([&] { json_as<std::int32_t>(value, key, "config.json"); });
      fuzz::must_return_or_blame_the_file([&] { json_as<std::uint64_t>(value, key, "config.json"); });
      fuzz::must_return_or_blame_the_file([&] { json_as<double>(value, key, "config.json"); });
      fuzz::must_return_or_blame_the_file([&] { json_as<bool>(value, key, "config.json"); });
      fuzz::must_return_or_blame_the_file(
          [&] { json_as<std::vector<std::string>>(value, key, "config.json"); });
    }
  });
  return 0;
}

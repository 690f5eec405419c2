#include "inspect/intervention_files.h"

#include <filesystem>

#include "formats/safetensors.h"
#include "regard/error.h"

namespace regard::inspect {

Tensor read_tensor(const std::string& key, const std::string& place) {
  const std::size_t mark = place.rfind('#');
  const std::string path = place.substr(0, mark);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error(ErrorKind::io, "the file of " + key + "= does not exist")
        .found(key + "=" + place)
        .expected(key + "=FILE or " + key + "=FILE#NAME, a tensor of a safetensors file");
  const auto file = formats::SafetensorsFile::open(path);
  std::string name = mark == place.npos ? "" : place.substr(mark + 1);
  if (name.empty()) {
    if (file->entries().empty())
      throw file_error(path, "the file has no tensors").expected("a tensor for " + key + "=");
    if (file->entries().size() != 1)
      throw usage_error("the file has several tensors, so the name of one is required")
          .found(place)
          .expected("FILE#NAME");
    name = file->entries()[0].name;
  }
  return file->tensor(name).to(DType::f32).clone();
}

}  // namespace regard::inspect

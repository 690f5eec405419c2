#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace regard::formats {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian and memory-mapped");

// Return the position of a dtype in the reference implementation's order: wide dtypes first, so that each
// tensor is aligned.
int rank_of(DType dtype) {
  constexpr DType kOrder[] = {DType::u64,     DType::i64,     DType::f64, DType::f32, DType::u32,
                              DType::i32,     DType::bf16,    DType::f16, DType::u16, DType::i16,
                              DType::f8_e4m3, DType::f8_e5m2, DType::i8,  DType::u8,  DType::boolean};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), dtype) - std::begin(kOrder));
}

std::vector<const NamedTensor*> in_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& item : tensors) {
    if (item.name == "__metadata__" || !utf8::valid(item.name))
      throw usage_error("a tensor cannot have the name \"" + item.name + "\" in a safetensors file")
          .expected("a UTF-8 name other than __metadata__");
    sorted.push_back(&item);
  }
  std::sort(sorted.begin(), sorted.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int rank_a = rank_of(a->tensor.dtype()), rank_b = rank_of(b->tensor.dtype());
    return rank_a != rank_b ? rank_a < rank_b : a->name < b->name;
  });
  return sorted;
}

std::string header_text(std::span<const NamedTensor* const> tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  // append members directly: a lookup for each name would take quadratic time
  auto& members = header.get_ref<Json::object_t&>();
  if (!metadata.empty()) members.Container::emplace_back("__metadata__", Json(metadata));
  std::uint64_t offset = 0;
  for (const NamedTensor* item : tensors) {
    const std::uint64_t end = offset + item->tensor.bytes();
    const auto sizes = item->tensor.shape().sizes();
    Json entry = Json::object();
    entry["dtype"] = spelling_of(item->tensor.dtype());
    entry["shape"] = std::vector<std::int64_t>(sizes.begin(), sizes.end());
    entry["data_offsets"] = {offset, end};
    members.Container::emplace_back(item->name, std::move(entry));
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

void write_data(AtomicFile& file, const Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.data());
  if (tensor.elements() == 0) return;
  if (tensor.contiguous()) return file.write({data, tensor.bytes()});
  const std::size_t item = size_of(tensor.dtype());
  const auto stride = static_cast<std::size_t>(tensor.row_stride()) * item;
  const std::size_t width = static_cast<std::size_t>(tensor.columns()) * item;
  for (std::size_t row = 0; row < static_cast<std::size_t>(tensor.rows()); ++row)
    file.write({data + row * stride, width});
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : map_(std::make_shared<MappedFile>(path)),
      header_(parse_safetensors_header(map_->bytes(), path.string())),
      metadata_(header_.metadata.value_or(std::map<std::string, std::string>{})),
      index_(header_.entries) {}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  return std::shared_ptr<const SafetensorsFile>(new SafetensorsFile(path));
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorEntry& entry) const noexcept {
  return map_->bytes().subspan(entry.begin, entry.size);
}

void SafetensorsFile::release(const TensorEntry& entry) const noexcept {
  map_->release(entry.begin, entry.size);
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const TensorEntry& entry = index_.require(name, path().string());
  return tensor_in(map_, entry);
}

FileDigest write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata) {
  const std::vector<const NamedTensor*> sorted = in_order(tensors);
  std::vector<std::string_view> names;
  for (const NamedTensor* item : sorted) names.push_back(item->name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    throw usage_error("two tensors have the name \"" + std::string(*twice) + "\"");

  const std::string header = header_text(sorted, metadata);
  const auto length = std::bit_cast<std::array<std::byte, 8>>(std::uint64_t{header.size()});
  AtomicFile file(path);
  file.write(length);
  file.write(header);
  for (const NamedTensor* item : sorted) write_data(file, item->tensor);
  file.commit();
  return {file.size(), file.xxh3()};
}

}  // namespace regard::formats

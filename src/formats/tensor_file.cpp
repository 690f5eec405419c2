#include "formats/tensor_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.h"
#include "regard/error.h"

namespace regard::formats {
namespace {

struct Spelling {
  const char* text;
  unsigned bits;
  std::optional<DType> dtype;
};

constexpr std::array<Spelling, 22> kSpellings = {{
    {"F32", 32, DType::f32},
    {"F64", 64, DType::f64},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"I8", 8, DType::i8},
    {"U8", 8, DType::u8},
    {"I16", 16, DType::i16},
    {"U16", 16, DType::u16},
    {"I32", 32, DType::i32},
    {"U32", 32, DType::u32},
    {"I64", 64, DType::i64},
    {"U64", 64, DType::u64},
    {"BOOL", 8, DType::boolean},
    {"F8_E4M3", 8, DType::f8_e4m3},
    {"F8_E5M2", 8, DType::f8_e5m2},
    {"F8_E8M0", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
    {"F4", 4, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
    {"C64", 64, std::nullopt},
}};

const Spelling* find_spelling(std::string_view text) {
  const auto found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                  [text](const Spelling& s) { return text == s.text; });
  return found == kSpellings.end() ? nullptr : &*found;
}

// Return the names of the supported dtypes, separated by commas.
std::string supported() {
  std::string all;
  for (const Spelling& spelling : kSpellings)
    if (spelling.dtype) all += (all.empty() ? "" : ", ") + std::string(spelling.text);
  return all;
}

}  // namespace

std::optional<DType> dtype_of(const std::string& spelling) noexcept {
  const Spelling* found = find_spelling(spelling);
  return found == nullptr ? std::nullopt : found->dtype;
}

const char* spelling_of(DType dtype) noexcept {
  for (const Spelling& spelling : kSpellings)
    if (spelling.dtype == dtype) return spelling.text;
  return "";
}

unsigned bits_of(const std::string& spelling) noexcept {
  const Spelling* found = find_spelling(spelling);
  return found == nullptr ? 0 : found->bits;
}

UsableType usable_type(const TensorEntry& entry, const std::string& file) {
  const std::string label = "tensor \"" + entry.name + "\"";
  const auto dtype = dtype_of(entry.dtype);
  if (!dtype)
    throw file_error(file, label + " has an unsupported dtype").found(entry.dtype).expected(supported());
  if (entry.shape.size() > static_cast<std::size_t>(Shape::kMaxRank))
    throw file_error(file, label + " has too many dimensions")
        .found(std::to_string(entry.shape.size()))
        .expected("at most " + std::to_string(Shape::kMaxRank));
  return {*dtype, Shape(entry.shape)};
}

Tensor tensor_in(const std::shared_ptr<MappedFile>& file, const TensorEntry& entry) {
  const UsableType type = usable_type(entry, file->path().string());
  const std::span<std::byte> bytes = file->pages().subspan(entry.begin, entry.size);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(type.dtype) == 0)
    return Tensor::view(bytes.data(), type.shape, type.dtype, file);
  Tensor copy = Tensor::empty(type.shape, type.dtype);
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

std::uint64_t TensorEntry::elements() const noexcept {
  std::uint64_t product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
  return product;
}

EntryIndex::EntryIndex(const std::vector<TensorEntry>& entries) {
  entries_.reserve(entries.size());
  for (const TensorEntry& entry : entries) entries_.emplace(entry.name, &entry);
}

const TensorEntry* EntryIndex::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

const TensorEntry& EntryIndex::require(std::string_view name, const std::string& file) const {
  const TensorEntry* entry = find(name);
  if (entry == nullptr) throw file_error(file, "tensor \"" + std::string(name) + "\" is missing");
  return *entry;
}

}  // namespace regard::formats

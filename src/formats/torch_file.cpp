#include "formats/torch_file.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/counted.h"
#include "formats/zip.h"

namespace regard::formats {
namespace {

using pickle::Object;
using pickle::Pickle;
using Kind = Object::Kind;

// Return the strides of a contiguous tensor with at least one element.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// Return true if the tensor is contiguous; strides of dimensions of size 1 are ignored.
bool is_dense(const pickle::StoredTensor& tensor) {
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return true;
  const std::vector<std::int64_t> dense = dense_strides(tensor.shape);
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (tensor.shape[i] > 1 && tensor.stride[i] != dense[i]) return false;
  return true;
}

// Copy the elements one by one in row-major order of `shape`.
void gather(const std::byte* from, std::byte* to, std::size_t item, std::span<const std::int64_t> shape,
            std::span<const std::int64_t> stride) {
  std::vector<std::int64_t> index(shape.size(), 0);
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) offset += index[d] * stride[d];
    std::memcpy(to + i * item, from + static_cast<std::size_t>(offset) * item, item);
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
}

// Throws bad_file unless `root` is a dictionary from names to tensors.
void require_named_tensors(const Object& root, const std::string& file) {
  constexpr const char* kRemedy = "Save the model's state_dict() alone, or convert it to safetensors";
  if (root.kind != Kind::dictionary)
    throw file_error(file, "the file does not contain a dictionary of tensors").remedy(kRemedy);
  for (const auto& [key, value] : root.members)
    if (key->kind != Kind::text || value->kind != Kind::tensor)
      throw file_error(file, "the dictionary contains an entry that is not a named tensor")
          .found(key->kind == Kind::text ? "\"" + key->text + "\"" : "a key that is not a string")
          .remedy(kRemedy);
}

// Magic number of PyTorch's older file format, 0x1950a86a20f9469cfc6c.
constexpr const char* kMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kOlderProtocol = 1001;

}  // namespace

TorchFile::TorchFile(const std::filesystem::path& path)
    : map_(std::make_shared<MappedFile>(path)), name_(path.string()) {
  if (looks_like_zip(map_->bytes())) {
    read_archive();
  } else {
    read_older_form();
  }
  index_ = EntryIndex(entries_);
}

std::shared_ptr<const TorchFile> TorchFile::open(const std::filesystem::path& path) {
  return std::shared_ptr<const TorchFile>(new TorchFile(path));
}

void TorchFile::read_archive() {
  const auto members = read_zip(map_->bytes(), name_);
  // All members are in one folder, which is named after the original file, such as FOLDER/data.pkl.
  std::string folder;
  const ZipMember* data = nullptr;
  for (const auto& [member, place] : members) {
    const std::size_t slash = member.find('/');
    if (slash == std::string::npos || member.substr(slash) != "/data.pkl") continue;
    if (data != nullptr) throw file_error(name_, "the archive contains more than one data.pkl");
    folder = member.substr(0, slash);
    data = &place;
  }
  if (data == nullptr)
    throw file_error(name_, "the ZIP archive has no data.pkl, so it is not a file of tensors");
  if (const auto order = members.find(folder + "/byteorder"); order != members.end()) {
    const std::string text(reinterpret_cast<const char*>(map_->bytes().data()) + order->second.begin,
                           order->second.size);
    if (text != "little") throw file_error(name_, "unsupported byte order").found(text).expected("little");
  }
  const std::string prefix = folder + "/data/";
  for (const auto& [member, place] : members)
    if (member.starts_with(prefix)) storages_[member.substr(prefix.size())] = {place.begin, place.size};
  const Pickle pickle(map_->bytes().subspan(data->begin, data->size), name_, data->begin);
  take_tensors(*pickle.root());
}

void TorchFile::read_older_form() {
  std::uint64_t at = 0;
  const auto next = [&] {
    Pickle pickle(map_->bytes().subspan(at), name_, at);
    at += pickle.size();
    return pickle;
  };
  const Pickle magic = next();
  if (magic.root()->kind != Kind::large || magic.root()->text != kMagic)
    throw file_error(name_, "the file is neither a ZIP archive nor in PyTorch's legacy format")
        .remedy("Convert the model to safetensors with the program that made it");
  const Pickle protocol = next();
  if (protocol.root()->kind != Kind::integer || protocol.root()->integer != kOlderProtocol)
    throw file_error(name_, "unknown version of PyTorch's legacy format")
        .found(protocol.root()->kind == Kind::integer ? "version " + std::to_string(protocol.root()->integer)
                                                      : "a value that is not an integer")
        .expected("version " + std::to_string(kOlderProtocol))
        .remedy("Convert the model to safetensors with the program that made it");
  const Pickle system = next();
  for (const auto& [key, value] : system.root()->members)
    if (key->text == "little_endian" && value->integer == 0)
      throw file_error(name_, "unsupported byte order").found("big").expected("little");
  const Pickle object = next();
  const Pickle keys = next();

  // The storages follow in the order of `keys`: eight bytes with the number of elements, then the elements.
  std::map<std::string, std::uint64_t> item;  // element size of each storage in bytes
  require_named_tensors(*object.root(), name_);
  for (const auto& [key, value] : object.root()->members)
    item[value->tensor.storage->key] = bits_of(value->tensor.storage->dtype) / 8;
  for (const pickle::Ref key : keys.root()->items) {
    std::uint64_t elements = 0, size = 0;
    if (key->kind != Kind::text || !item.contains(key->text) || map_->bytes().size() - at < sizeof elements)
      throw file_error(name_, "a storage in the file belongs to no tensor, or its size is missing")
          .at({name_, -1, static_cast<std::int64_t>(at)});
    std::memcpy(&elements, map_->bytes().data() + at, sizeof elements);
    at += sizeof elements;
    if (__builtin_mul_overflow(elements, item[key->text], &size) || size > map_->bytes().size() - at)
      throw Error(ErrorKind::bad_file, "storage \"" + key->text + "\" is truncated",
                  {name_, -1, static_cast<std::int64_t>(at)})
          .found(counted(map_->bytes().size() - at, "byte"))
          .expected(std::to_string(elements) + " elements of " + std::to_string(item[key->text]) + " bytes");
    storages_[key->text] = {at, size};
    at += size;
  }
  take_tensors(*object.root());
}

void TorchFile::take_tensors(const Object& root) {
  require_named_tensors(root, name_);
  entries_.reserve(root.members.size());
  std::unordered_set<std::string> names;
  for (const auto& [key, value] : root.members) {
    if (!names.insert(key->text).second)
      throw file_error(name_, "tensor \"" + key->text + "\" is duplicated");
    add(key->text, value->tensor);
  }
  std::sort(entries_.begin(), entries_.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.name) < std::pair(b.begin, b.name);
  });
}

void TorchFile::add(const std::string& name, const pickle::StoredTensor& tensor) {
  const std::string label = "the storage of tensor \"" + name + "\"";
  const auto found = storages_.find(tensor.storage->key);
  if (found == storages_.end())
    throw file_error(name_, label + " is missing")
        .expected("a storage with the key \"" + tensor.storage->key + "\"");
  const std::uint64_t item = bits_of(tensor.storage->dtype) / 8;
  std::uint64_t stored = 0;
  if (__builtin_mul_overflow(tensor.storage->elements, item, &stored) || stored > found->second.second)
    throw file_error(name_, label + " is shorter than declared")
        .found(counted(found->second.second, "byte"))
        .expected(std::to_string(tensor.storage->elements) + " elements of " + std::to_string(item) +
                  " bytes");
  TensorEntry entry;
  entry.name = name;
  entry.dtype = tensor.storage->dtype;
  entry.shape = tensor.shape;
  entry.begin = found->second.first + tensor.offset * item;
  entry.size = entry.elements() * item;
  if (!is_dense(tensor)) strides_[name] = tensor.stride;
  entries_.push_back(std::move(entry));
}

Tensor TorchFile::tensor(std::string_view name) const {
  const TensorEntry& entry = index_.require(name, name_);
  const auto strided = strides_.find(entry.name);
  if (strided == strides_.end()) return tensor_in(map_, entry);
  const std::byte* data = map_->bytes().data() + entry.begin;
  const UsableType type = usable_type(entry, name_);
  Tensor copy = Tensor::empty(type.shape, type.dtype);
  gather(data, static_cast<std::byte*>(copy.data()), size_of(type.dtype), entry.shape, strided->second);
  return copy;
}

void TorchFile::release(const TensorEntry& entry) const noexcept {
  if (!strides_.contains(entry.name)) map_->release(entry.begin, entry.size);
}

}  // namespace regard::formats

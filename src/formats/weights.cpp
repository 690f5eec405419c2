#include "formats/weights.h"

#include <algorithm>
#include <system_error>

#include "base/counted.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"

namespace regard::formats {
namespace {

constexpr const char* kFiles[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                  "pytorch_model.bin.index.json"};

// Return the error for a folder without readable weights. It names another format found in the folder, and
// the remedy.
Error no_weights(const std::filesystem::path& folder) {
  Error error(ErrorKind::bad_file, "no model.safetensors, no pytorch_model.bin and no index of shards found",
              {folder.string(), -1, -1});
  std::error_code ignored;
  for (const auto& item : std::filesystem::directory_iterator(folder, ignored)) {
    const std::filesystem::path name = item.path().filename();
    if (name.extension() == ".gguf")
      return error.found(name.string())
          .remedy("GGUF is not supported; convert the original model to safetensors");
    if (name.extension() == ".pt" || name.extension() == ".h5" || name.extension() == ".msgpack" ||
        name.extension() == ".onnx")
      error.found(name.string()).remedy("Convert the model to safetensors first");
  }
  return error;
}

}  // namespace

bool plain_file_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

void Weights::open_next(const std::filesystem::path& path) {
  if (path.extension() == ".safetensors") {
    files_.push_back(SafetensorsFile::open(path));
  } else {
    files_.push_back(TorchFile::open(path));
  }
}

void Weights::replace_with(const std::filesystem::path& path) {
  open_next(path);
  for (const TensorEntry& entry : files_.back()->entries()) {
    const auto place = std::pair(files_.size() - 1, &entry);
    if (index_.insert_or_assign(entry.name, place).second) names_.push_back(entry.name);
  }
}

void Weights::add(const std::filesystem::path& path) {
  open_next(path);
  for (const TensorEntry& entry : files_.back()->entries()) {
    if (!index_.emplace(entry.name, std::pair(files_.size() - 1, &entry)).second)
      throw file_error(path.string(), "tensor \"" + entry.name + "\" is in two shards")
          .found(files_[index_.at(entry.name).first]->path().filename().string() + " and " +
                 path.filename().string())
          .expected("each tensor in one shard");
    names_.push_back(entry.name);
  }
}

Weights Weights::open_file(const std::filesystem::path& path) {
  Weights weights;
  weights.label_ = path.string();
  weights.add(path);
  return weights;
}

Weights Weights::open(const std::filesystem::path& folder) {
  for (const char* name : kFiles) {
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::exists(path)) continue;
    return path.extension() == ".json" ? open_index(path) : open_file(path);
  }
  throw no_weights(folder);
}

Weights Weights::open_index(const std::filesystem::path& path) {
  Weights weights;
  weights.label_ = path.string();
  const Json index = read_json(weights.label_);
  const Json map = require<Json>(index, "weight_map", weights.label_);
  if (!map.is_object()) throw file_error(weights.label_, "weight_map is not an object").found(describe(map));

  std::vector<std::string> shards;
  for (const auto& [name, value] : map.items()) {
    const auto shard = json_as<std::string>(value, name, weights.label_);
    if (!plain_file_name(shard))
      throw file_error(weights.label_, "the name of a shard in the index is not a plain file name")
          .found(shard)
          .expected("a file name without a folder");
    shards.push_back(shard);
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  for (const std::string& shard : shards) weights.add(path.parent_path() / shard);

  for (const auto& [name, value] : map.items()) {
    const auto found = weights.index_.find(name);
    const auto shard = value.get<std::string>();
    if (found == weights.index_.end() || weights.files_[found->second.first]->path().filename() != shard)
      throw file_error(weights.label_, "tensor \"" + name + "\" is not in the shard that the index names")
          .expected("the tensor in " + shard);
  }
  if (map.size() != weights.names_.size())
    throw file_error(weights.label_, "the shards contain tensors that the index does not name")
        .found(counted(weights.names_.size(), "tensor"))
        .expected(counted(map.size(), "tensor"));
  return weights;
}

const TensorFile& Weights::file_of(std::string_view name) const {
  entry(name);
  return *files_[index_.find(name)->second.first];
}

const TensorEntry& Weights::entry(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) throw file_error(label_, "tensor \"" + std::string(name) + "\" is missing");
  return *found->second.second;
}

Tensor Weights::tensor(std::string_view name) const {
  return file_of(name).tensor(name);
}

void Weights::release(std::string_view name) const {
  file_of(name).release(entry(name));
}

std::function<void()> Weights::releaser(std::string_view name) const {
  const auto& [file, entry] = index_.find(this->entry(name).name)->second;
  return [kept = files_[file], wanted = entry] { kept->release(*wanted); };
}

std::uint64_t Weights::bytes() const noexcept {
  std::uint64_t total = 0;
  for (const auto& file : files_)
    for (const TensorEntry& entry : file->entries()) total += entry.size;
  return total;
}

}  // namespace regard::formats

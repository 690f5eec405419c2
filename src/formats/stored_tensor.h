// A tensor of a pickle: a view of the elements of a storage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace regard::formats::pickle {

// Contiguous elements that one or several tensors refer to.
struct Storage {
  std::string dtype;  // dtype name as in safetensors, such as "BF16"
  std::string key;    // key that identifies the storage in the file
  std::uint64_t elements = 0;
};

struct StoredTensor {
  const Storage* storage = nullptr;
  std::uint64_t offset = 0;                 // offset in the storage, in elements
  std::vector<std::int64_t> shape, stride;  // sizes, and strides in elements
};

// Return true if the tensor has at most as many elements as its storage and ends inside the storage.
bool is_inside_storage(const StoredTensor& tensor);

}  // namespace regard::formats::pickle

// The part of Python's pickle format that a file of tensors needs: numbers, texts, tuples, lists,
// dictionaries, and tensors over storages. Nothing is ever executed: a pickle that names any other class or
// function, or uses an instruction outside this part, is refused. Instructions: pickletools.py of CPython;
// tensors: torch/_utils.py (_rebuild_tensor_v2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace regard::formats::pickle {

struct Object;
using Ref = const Object*;  // owned by the Pickle

// Numbers that a tensor is stored in, one after another.
struct Storage {
  std::string dtype;  // safetensors' spelling
  std::string key;    // names the bytes
  std::uint64_t elements = 0;
};

struct StoredTensor {
  const Storage* storage = nullptr;
  std::uint64_t offset = 0;                 // in elements of the storage
  std::vector<std::int64_t> shape, stride;  // stride in elements
};

struct Object {
  enum class Kind {
    none,
    boolean,
    integer,
    real,
    text,
    tuple,
    list,
    dictionary,
    global,
    storage,
    tensor,
    large
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  // also of a boolean
  double real = 0;
  std::string text;        // of a global "module name"; of a large integer its bytes, lowest first
  std::vector<Ref> items;  // of a tuple or list
  std::vector<std::pair<Ref, Ref>> members;  // of a dictionary
  Storage storage;
  StoredTensor tensor;
};

// One pickle, and the objects that it makes. Every tensor lies inside its storage.
class Pickle {
 public:
  // Reads the pickle at the beginning of `bytes`. Throws bad_file naming `name`, the byte (after
  // `first_byte`) and what was refused.
  Pickle(std::span<const std::byte> bytes, const std::string& name, std::uint64_t first_byte = 0);

  Ref root() const noexcept { return root_; }
  std::size_t size() const noexcept { return size_; }  // bytes up to its end

 private:
  std::deque<Object> objects_;
  Ref root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace regard::formats::pickle

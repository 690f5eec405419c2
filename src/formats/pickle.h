// Reader of the subset of Python's pickle format that files of tensors use: numbers, strings, tuples, lists,
// dictionaries, and tensors over storages. Nothing is executed: a pickle that names another class or
// function, or uses another instruction, is refused. Instructions: pickletools.py of CPython; tensors:
// torch/_utils.py (_rebuild_tensor_v2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/stored_tensor.h"

namespace regard::formats::pickle {

struct Object;
using Ref = const Object*;  // pointer to an object that the Pickle owns

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
  std::int64_t integer = 0;  // value of an integer or a boolean
  double real = 0;
  // a string; for a global, "module name"; for a large integer, its bytes in little-endian order
  std::string text;
  std::vector<Ref> items;                    // items of a tuple or list
  std::vector<std::pair<Ref, Ref>> members;  // members of a dictionary
  Storage storage;
  StoredTensor tensor;
};

// A parsed pickle, which owns its objects. Every tensor is checked to be inside its storage.
class Pickle {
 public:
  // Read the pickle at the start of `bytes`. Throws bad_file naming `name`, the byte (counted from
  // `first_byte`) and the refused object.
  Pickle(std::span<const std::byte> bytes, const std::string& name, std::uint64_t first_byte = 0);

  Ref root() const noexcept { return root_; }
  std::size_t size() const noexcept { return size_; }  // size of the pickle in bytes

 private:
  std::deque<Object> objects_;
  Ref root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace regard::formats::pickle

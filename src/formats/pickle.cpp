#include "formats/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/utf8.h"
#include "regard/error.h"

namespace regard::formats::pickle {
namespace {

using Kind = Object::Kind;

// Supported classes and functions of Python.
constexpr const char* kOrderedDict = "collections OrderedDict";
constexpr const char* kRebuildTensor = "torch._utils _rebuild_tensor_v2";
constexpr const char* kRebuildParameter = "torch._utils _rebuild_parameter";
constexpr std::pair<const char*, const char*> kStorages[] = {
    {"torch FloatStorage", "F32"}, {"torch DoubleStorage", "F64"},    {"torch HalfStorage", "F16"},
    {"torch LongStorage", "I64"},  {"torch BFloat16Storage", "BF16"}, {"torch IntStorage", "I32"},
    {"torch ShortStorage", "I16"}, {"torch CharStorage", "I8"},       {"torch ByteStorage", "U8"},
    {"torch BoolStorage", "BOOL"}};

const char* storage_dtype(const std::string& global) {
  for (const auto& [name, dtype] : kStorages)
    if (global == name) return dtype;
  return nullptr;
}

bool known_global(const std::string& global) {
  return global == kOrderedDict || global == kRebuildTensor || global == kRebuildParameter ||
         storage_dtype(global) != nullptr;
}

// Limits on memory for malicious input. A pickle of 30,000 tensors is below all limits.
constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
constexpr std::size_t kMaxObjects = std::size_t{1} << 19;
// maximum number of instructions that read the memo (BINGET, LONG_BINGET)
constexpr std::size_t kMaxUses = std::size_t{1} << 22;
// Limits on the parts that are copied into each tensor, because many tensors can refer to the same part.
constexpr std::size_t kMaxDimensions = 64, kLongestKey = 256;

// Interprets the instructions with a stack. A mark is stored as the stack size at which it was set.
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const std::string& name, std::uint64_t first_byte,
          std::deque<Object>& objects)
      : bytes_(bytes.first(std::min(bytes.size(), kMaxBytes))),
        name_(name),
        first_byte_(first_byte),
        objects_(objects) {}

  Ref run() {
    while (!step(static_cast<std::uint8_t>(number(1)))) {
    }
    if (stack_.size() != 1 || !marks_.empty()) throw fault("it does not end with exactly one object");
    return stack_.back();
  }
  std::size_t position() const { return position_; }

 private:
  // Run one instruction; returns true at the end of the pickle.
  bool step(std::uint8_t code) {
    switch (code) {
      case '.':
        return true;
      case 0x80:  // PROTO
        if (const std::uint64_t protocol = number(1); protocol < 2 || protocol > 5)
          throw fault("unknown protocol").found(std::to_string(protocol));
        return false;
      case 0x95:  // FRAME: a hint for buffering
        number(8);
        return false;
      case '(':
        if (marks_.size() == kMaxObjects) throw fault("it sets too many marks");
        marks_.push_back(stack_.size());
        return false;
      case 'q':  // BINPUT, LONG_BINPUT, MEMOIZE
        return remember(number(1));
      case 'r':
        return remember(number(4));
      case 0x94:
        return remember(memo_.size());
      case 'h':  // BINGET, LONG_BINGET
        return recall(number(1));
      case 'j':
        return recall(number(4));
      default:
        return step_value(code);
    }
  }

  bool step_value(std::uint8_t code) {
    switch (code) {
      case 'N':
        push(Kind::none);
        return false;
      case 0x88:  // NEWTRUE, NEWFALSE
      case 0x89:
        push(Kind::boolean).integer = code == 0x88 ? 1 : 0;
        return false;
      case 'K':  // BININT1, BININT2, BININT
        push(Kind::integer).integer = static_cast<std::int64_t>(number(1));
        return false;
      case 'M':
        push(Kind::integer).integer = static_cast<std::int64_t>(number(2));
        return false;
      case 'J':
        push(Kind::integer).integer = static_cast<std::int32_t>(number(4));
        return false;
      case 0x8A:  // LONG1
        push_long(number(1));
        return false;
      case 'G':
        push(Kind::real).real = std::bit_cast<double>(__builtin_bswap64(number(8)));
        return false;
      case 'X':  // BINUNICODE, SHORT_BINUNICODE
        push(Kind::text).text = text(number(4));
        return false;
      case 0x8C:
        push(Kind::text).text = text(number(1));
        return false;
      default:
        return step_container(code);
    }
  }

  bool step_container(std::uint8_t code) {
    switch (code) {
      case '}':
        push(Kind::dictionary);
        return false;
      case ']':
        push(Kind::list);
        return false;
      case ')':
        push(Kind::tuple);
        return false;
      case 0x85:  // TUPLE1 to TUPLE3, TUPLE
      case 0x86:
      case 0x87:
        make_tuple(depth_of(static_cast<std::size_t>(code - 0x84)));
        return false;
      case 't':
        make_tuple(take_mark());
        return false;
      case 'a':  // APPEND, APPENDS
        append(depth_of(1));
        return false;
      case 'e':
        append(take_mark());
        return false;
      case 's':  // SETITEM, SETITEMS
        set_items(depth_of(2));
        return false;
      case 'u':
        set_items(take_mark());
        return false;
      default:
        return step_object(code);
    }
  }

  bool step_object(std::uint8_t code) {
    switch (code) {
      case 'c': {
        const std::string module = line();
        push_global(module + " " + line());
        return false;
      }
      case 0x93: {  // STACK_GLOBAL
        const std::string global = pop(Kind::text)->text;
        push_global(pop(Kind::text)->text + " " + global);
        return false;
      }
      case 'Q':
        load_storage(*pop(Kind::tuple));
        return false;
      case 'R':
        reduce();
        return false;
      case 'b':
        build();
        return false;
      default:
        --position_;
        throw fault("an instruction that tensor files do not use")
            .found("code " + std::to_string(code))
            .remedy("Convert the model to safetensors with the program that made it");
    }
  }

  // Return an error that names the file and the position in it.
  Error fault(const std::string& message) const {
    return {ErrorKind::bad_file,
            "invalid or unsupported pickle data: " + message,
            {name_, -1, static_cast<std::int64_t>(first_byte_ + position_)}};
  }
  void need(std::uint64_t count) const {
    if (count > bytes_.size() - position_) throw fault("unexpected end");
  }
  std::uint64_t number(int count) {  // read `count` bytes as a little-endian number
    need(static_cast<std::uint64_t>(count));
    std::uint64_t value = 0;
    for (int i = count; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[position_ + static_cast<std::size_t>(i)]);
    position_ += static_cast<std::size_t>(count);
    return value;
  }
  std::string text(std::uint64_t count) {
    need(count);
    std::string result(reinterpret_cast<const char*>(bytes_.data()) + position_, count);
    if (!utf8::valid(result)) throw fault("a string is not UTF-8");
    position_ += count;
    return result;
  }
  std::string line() {
    std::string result;
    for (char c = '\0'; (c = static_cast<char>(number(1))) != '\n';) result += c;
    return result;
  }

  // The following functions operate on the stack and on marks.
  Object& make(Kind kind) {
    if (objects_.size() >= kMaxObjects) throw fault("it creates too many objects");
    objects_.emplace_back().kind = kind;
    return objects_.back();
  }
  Object& push(Kind kind) {
    stack_.push_back(&make(kind));
    return *stack_.back();
  }
  void push_long(std::uint64_t count) {
    need(count);
    Object& object = push(count <= 8 ? Kind::integer : Kind::large);
    const auto* data = reinterpret_cast<const char*>(bytes_.data()) + position_;
    object.text.assign(data, count);
    std::uint64_t value = count > 0 && (data[count - 1] & 0x80) != 0 ? ~std::uint64_t{0} : 0;  // sign bits
    if (count <= 8) std::memcpy(&value, data, count);
    object.integer = static_cast<std::int64_t>(value);
    position_ += count;
  }
  void push_global(const std::string& global) {
    if (!known_global(global))
      throw fault("it refers to a class or function that tensor files do not use")
          .found("\"" + global + "\"")
          .remedy("Nothing was executed. Convert the model to safetensors with the program that made it");
    push(Kind::global).text = global;
  }
  // Return the stack index of the first of the top `count` objects. They must be above the innermost mark.
  std::size_t depth_of(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + count) throw fault("stack underflow");
    return stack_.size() - count;
  }
  std::size_t take_mark() {
    if (marks_.empty()) throw fault("a mark is missing");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  Object* pop(Kind kind) {
    Object* object = stack_[depth_of(1)];
    if (object->kind != kind) throw fault("an object has the wrong kind");
    stack_.pop_back();
    return object;
  }
  bool remember(std::uint64_t index) {
    memo_[index] = stack_[depth_of(1)];
    if (memo_.size() > kMaxObjects) throw fault("it stores too many objects");
    return false;
  }
  bool recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) throw fault("it uses an undefined object");
    if (++uses_ > kMaxUses) throw fault("it uses stored objects too often");
    stack_.push_back(found->second);
    return false;
  }

  // The following functions run instructions that create or fill containers.
  void make_tuple(std::size_t from) {
    Object& tuple = make(Kind::tuple);
    tuple.items.assign(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    stack_.push_back(&tuple);
  }
  // Return the container that lies on the stack directly below index `from`.
  Object& container(std::size_t from, Kind kind) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (from <= floor || stack_[from - 1]->kind != kind) throw fault("a container is missing");
    return *stack_[from - 1];
  }
  void append(std::size_t from) {
    Object& list = container(from, Kind::list);
    list.items.insert(list.items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
  }
  void set_items(std::size_t from) {
    Object& dictionary = container(from, Kind::dictionary);
    if ((stack_.size() - from) % 2 != 0) throw fault("a dictionary has a key without a value");
    for (std::size_t i = from; i < stack_.size(); i += 2)
      dictionary.members.emplace_back(stack_[i], stack_[i + 1]);
    stack_.resize(from);
  }

  // The following functions run instructions that create storages and tensors.
  Ref item(const Object& tuple, std::size_t index, Kind kind) const {
    if (index >= tuple.items.size() || tuple.items[index]->kind != kind)
      throw fault("malformed description of a tensor");
    return tuple.items[index];
  }
  std::uint64_t size_at(const Object& tuple, std::size_t index) const {
    const std::int64_t value = item(tuple, index, Kind::integer)->integer;
    if (value < 0) throw fault("a tensor has a negative size").found(std::to_string(value));
    return static_cast<std::uint64_t>(value);
  }
  // Load a storage from its persistent id ("storage", class, key, device, elements). The older file format
  // has a sixth item, a view, which must be None.
  void load_storage(const Object& tuple) {
    if (item(tuple, 0, Kind::text)->text != "storage") throw fault("a persistent id is not a storage");
    const char* dtype = storage_dtype(item(tuple, 1, Kind::global)->text);
    if (dtype == nullptr) throw fault("unknown storage type");
    if (tuple.items.size() > 6 || (tuple.items.size() == 6 && tuple.items[5]->kind != Kind::none))
      throw fault("storages that are views are not supported");
    item(tuple, 3, Kind::text);
    if (item(tuple, 2, Kind::text)->text.size() > kLongestKey)
      throw fault("the key of a storage is too long");
    push(Kind::storage).storage = {dtype, item(tuple, 2, Kind::text)->text, size_at(tuple, 4)};
  }
  void reduce() {
    const Object& arguments = *pop(Kind::tuple);
    const std::string function = pop(Kind::global)->text;
    if (function == kOrderedDict && arguments.items.empty()) {
      push(Kind::dictionary);
    } else if (function == kRebuildTensor) {
      rebuild_tensor(arguments);
    } else if (function == kRebuildParameter) {
      push(Kind::tensor).tensor = item(arguments, 0, Kind::tensor)->tensor;
    } else {
      throw fault("it calls an object that is not callable").found(function);
    }
  }
  void rebuild_tensor(const Object& arguments) {
    StoredTensor tensor;
    tensor.storage = &item(arguments, 0, Kind::storage)->storage;
    tensor.offset = size_at(arguments, 1);
    const Object& shape = *item(arguments, 2, Kind::tuple);
    const Object& stride = *item(arguments, 3, Kind::tuple);
    if (shape.items.size() != stride.items.size() || shape.items.size() > kMaxDimensions)
      throw fault("a tensor has too many dimensions, or its shape and stride differ in length");
    for (std::size_t i = 0; i < shape.items.size(); ++i) {
      tensor.shape.push_back(static_cast<std::int64_t>(size_at(shape, i)));
      tensor.stride.push_back(static_cast<std::int64_t>(size_at(stride, i)));
    }
    if (!is_inside_storage(tensor)) throw fault("a tensor extends beyond its storage");
    push(Kind::tensor).tensor = std::move(tensor);
  }
  // Discard the state of an OrderedDict, which holds only version metadata of the modules.
  void build() {
    const Object& state = *stack_[depth_of(2) + 1];
    if (state.kind != Kind::dictionary || stack_[depth_of(2)]->kind != Kind::dictionary)
      throw fault("it sets the state of an object without state");
    stack_.pop_back();
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::uint64_t first_byte_;
  std::deque<Object>& objects_;
  std::size_t position_ = 0, uses_ = 0;
  std::vector<Object*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Object*> memo_;
};

}  // namespace

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& name, std::uint64_t first_byte) {
  Machine machine(bytes, name, first_byte, objects_);
  root_ = machine.run();
  size_ = machine.position();
}

}  // namespace regard::formats::pickle

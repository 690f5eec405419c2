// Values of the template language, with Python's semantics. Strings, lists and mappings are shared and
// immutable; mappings keep the order of their keys, which are strings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"

namespace regard::text::jinja {

class Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;

struct Arguments {
  List positional;
  Dict named;

  // Return the argument at `index` or with the name `name`; null if there is no such argument.
  const Value* find(std::size_t index, std::string_view name) const;
};
using Function = std::function<Value(const Arguments&)>;

// A mutable value. No value can contain a namespace, so there are no cycles and the depth of each value is
// known.
struct Namespace {
  Dict members;
};

class Value {
 public:
  static constexpr int kDeepest = 64;  // maximum nesting depth of a value

  // An undefined value renders as empty text. Arithmetic and subscripts with it throw bad_file.
  struct Undefined {
    std::string name;  // name of the value in messages
  };
  struct None {};
  Value() = default;  // an undefined value
  Value(None none) : held_(none) {}
  Value(Undefined undefined) : held_(std::move(undefined)) {}
  Value(bool flag) : held_(flag) {}
  Value(std::int64_t number) : held_(number) {}
  Value(double number) : held_(number) {}
  Value(std::string text);
  Value(const char* text) : Value(std::string(text)) {}
  Value(List list);  // throws bad_file for a nesting depth above the limit or for a namespace in the list
  Value(Dict dict);
  Value(Function function) : held_(std::make_shared<const Function>(std::move(function))) {}
  Value(Namespace space) : held_(std::make_shared<Namespace>(std::move(space))) {}

  static Value from_json(const Json& json);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&held_);
  }
  const std::string* text() const { return pointer<const std::string>(); }
  const List* list() const { return pointer<const List>(); }
  const Dict* dict() const { return pointer<const Dict>(); }
  const Function* function() const { return pointer<const Function>(); }
  Namespace* space() const { return pointer<Namespace>(); }
  bool undefined() const { return as<Undefined>() != nullptr; }
  bool none() const { return as<None>() != nullptr; }
  bool integral() const { return as<bool>() != nullptr || as<std::int64_t>() != nullptr; }
  bool number() const { return integral() || as<double>() != nullptr; }

  bool truth() const;
  std::int64_t integer() const;  // throws bad_file if integral() is false
  double real() const;           // throws bad_file if number() is false
  std::string shown() const;     // text as Python's str() returns it; empty for an undefined value
  std::string type() const;      // name of the type in messages
  // Return the member of a mapping or namespace; null if there is none.
  const Value* find(std::string_view key) const;
  // Return the values that a loop iterates over: items, keys or characters; none for an undefined value.
  // Throws bad_file for other types.
  List items() const;

  bool operator==(const Value& other) const;

 private:
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }
  // Update depth_ for `part`, a value in this list or mapping. Throws bad_file if `part` is a namespace or if
  // depth_ exceeds kDeepest.
  void hold(const Value& part);

  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<const Function>,
               std::shared_ptr<Namespace>>
      held_;
  int depth_ = 0;  // maximum nesting depth of the contained values
};

// Return the value of a key; null if there is none.
const Value* find_in(const Dict& dict, std::string_view key);
// Add the key or replace its value.
void set(Dict& dict, const std::string& key, Value value);

// Return true if `a` is less than `b`, in Python's order of numbers or strings. Throws bad_file for other
// types.
bool less(const Value& a, const Value& b);
// Like less(), for `a` less than or equal to `b`; false if one of them is NaN.
bool at_most(const Value& a, const Value& b);
// return true if `whole` contains `part`, as Python's `in`
bool contains(const Value& whole, const Value& part);

// Format as Python's json.dumps(value, ensure_ascii=False, indent=indent). A negative indent means one line.
std::string to_json_text(const Value& value, std::int64_t indent);

// Strip white space, or the characters in `letters`, as Python's str.strip() does.
std::string strip(std::string_view text, bool left, bool right, const std::string* letters = nullptr);

// Split a text at line ends, as Python's str.splitlines() does.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

}  // namespace regard::text::jinja

// What a template computes with: Python's values as Jinja sees them. Texts, lists and mappings are shared and
// never change; a mapping keeps the order of its keys, which are texts. A namespace changes, so that no value
// may hold one: nothing holds itself, and each value knows how deep it is.
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

  // The argument at `index`, or of that name; null where it was not given.
  const Value* find(std::size_t index, std::string_view name) const;
};
using Function = std::function<Value(const Arguments&)>;

struct Namespace {
  Dict members;
};

class Value {
 public:
  static constexpr int kDeepest = 64;  // values inside one another

  struct Undefined {
    std::string name;  // for messages
  };
  struct None {};
  Value() = default;  // undefined
  Value(None none) : held_(none) {}
  Value(Undefined undefined) : held_(std::move(undefined)) {}
  Value(bool flag) : held_(flag) {}
  Value(std::int64_t number) : held_(number) {}
  Value(double number) : held_(number) {}
  Value(std::string text);
  Value(const char* text) : Value(std::string(text)) {}
  Value(List list);  // throws usage where it grows too deep, or holds a namespace; so does the next
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
  std::int64_t integer() const;  // throws usage unless integral()
  double real() const;           // throws usage unless number()
  std::string shown() const;     // as str() has it; nothing for an undefined value
  std::string type() const;      // for messages
  // The member of a mapping or namespace; null where it has none.
  const Value* find(std::string_view key) const;
  // What a loop over it gives: items, keys, letters. Throws usage for what has no parts.
  List items() const;

  bool operator==(const Value& other) const;

 private:
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }
  void hold(const Value& part);  // grows deeper by a part

  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<const Function>,
               std::shared_ptr<Namespace>>
      held_;
  int depth_ = 0;  // of the values in it
};

// The value of a key; null where there is none.
const Value* find_in(const Dict& dict, std::string_view key);
// Adds the key, or gives it another value.
void set(Dict& dict, const std::string& key, Value value);

// As Python orders numbers and texts; throws usage for what has no order.
bool less(const Value& a, const Value& b);
bool contains(const Value& whole, const Value& part);  // `part in whole`

// As Python's json.dumps(value, ensure_ascii=False, indent=indent) writes it; indent < 0: on one line.
std::string to_json_text(const Value& value, std::int64_t indent);

// Strips white space, or the letters of `letters`, as str.strip() does.
std::string strip(std::string_view text, bool left, bool right, const std::string* letters = nullptr);

}  // namespace regard::text::jinja

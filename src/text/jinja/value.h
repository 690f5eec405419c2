// What a template computes with: Python's values as Jinja sees them. Lists and mappings are shared, as in
// Python; a mapping keeps the order of its keys, which are texts.
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

class Value {
 public:
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
  Value(std::string text) : held_(std::move(text)) {}
  Value(const char* text) : held_(std::string(text)) {}
  Value(List list) : held_(std::make_shared<List>(std::move(list))) {}
  Value(Dict dict) : held_(std::make_shared<Dict>(std::move(dict))) {}
  Value(Function function) : held_(std::make_shared<Function>(std::move(function))) {}

  static Value from_json(const Json& json);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&held_);
  }
  const std::string* text() const { return as<std::string>(); }
  List* list() const { return pointer<List>(); }
  Dict* dict() const { return pointer<Dict>(); }
  const Function* function() const { return pointer<Function>(); }
  bool undefined() const { return as<Undefined>() != nullptr; }
  bool none() const { return as<None>() != nullptr; }
  bool integral() const { return as<bool>() != nullptr || as<std::int64_t>() != nullptr; }
  bool number() const { return integral() || as<double>() != nullptr; }

  bool truth() const;
  std::int64_t integer() const;  // throws usage unless integral()
  double real() const;           // throws usage unless number()
  std::string shown() const;     // as str() has it; nothing for an undefined value
  std::string type() const;      // for messages
  // The member of a mapping; null where it has none.
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
  std::variant<Undefined, None, bool, std::int64_t, double, std::string, std::shared_ptr<List>,
               std::shared_ptr<Dict>, std::shared_ptr<Function>>
      held_;
};

// As Python orders numbers and texts; throws usage for what has no order.
bool less(const Value& a, const Value& b);
bool contains(const Value& whole, const Value& part);  // `part in whole`

// As Python's json.dumps(value, ensure_ascii=False, indent=indent) writes it; indent < 0: on one line.
std::string to_json_text(const Value& value, std::int64_t indent);

// Strips white space, or the letters of `letters`, as str.strip() does.
std::string strip(std::string_view text, bool left, bool right, const std::string* letters = nullptr);

}  // namespace regard::text::jinja

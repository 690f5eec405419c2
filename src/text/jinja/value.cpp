#include "text/jinja/value.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json_text.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "text/jinja/work.h"

namespace regard::text::jinja {
namespace {

constexpr std::size_t kOfText = 128;  // cost of a string in bytes, in addition to its characters

[[noreturn]] void no(const std::string& what, const Value& value) {
  throw Error(ErrorKind::bad_file, "chat template: invalid value: " + what).found(value.type());
}

// Format as Python does: with the fewest digits that convert back to the same value, and with a decimal point
// (1.0, not 1).
std::string real_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Return true if Python's repr() writes the character itself.
bool is_printable(char32_t letter) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(letter));
  return letter == U' ' || (category > UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS);
}

std::string quoted(const std::string& text) {
  charge(text.size());
  const char32_t mark = text.find('\'') != text.npos && text.find('"') == text.npos ? U'"' : U'\'';
  std::string out = utf8::encode({&mark, 1});
  for (const char32_t letter : utf8::code_points(text)) {
    const auto number = static_cast<std::uint32_t>(letter);
    if (letter == U'\n')
      out += "\\n";
    else if (letter == U'\t')
      out += "\\t";
    else if (letter == U'\r')
      out += "\\r";
    else if (!is_printable(letter))
      out += number < 0x100     ? fmt::format("\\x{:02x}", number)
             : number < 0x10000 ? fmt::format("\\u{:04x}", number)
                                : fmt::format("\\U{:08x}", number);
    else
      utf8::append(letter == U'\\' || letter == mark ? out += '\\' : out, letter);
  }
  utf8::append(out, mark);
  return out;
}

// Return the value as Python's repr() formats it.
std::string representation(const Value& value) {
  charge(sizeof(Value));
  if (value.text() != nullptr) return quoted(*value.text());
  if (value.undefined()) return "Undefined";
  std::string out;
  if (const List* list = value.list()) {
    for (const Value& item : *list) out += (out.empty() ? "" : ", ") + representation(item);
    return "[" + out + "]";
  }
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, item] : *dict)
      out += (out.empty() ? "" : ", ") + quoted(key) + ": " + representation(item);
    return "{" + out + "}";
  }
  return value.shown();
}

class JsonWriter {
 public:
  explicit JsonWriter(std::int64_t indent) : indent_(indent) {}

  void write(const Value& value, int depth) {
    charge(sizeof(Value));
    if (const List* list = value.list()) {
      out += '[';
      for (std::size_t i = 0; i < list->size(); ++i) {
        separate(i, depth + 1);
        write((*list)[i], depth + 1);
      }
      close(']', list->empty(), depth);
    } else if (const Dict* dict = value.dict()) {
      out += '{';
      for (std::size_t i = 0; i < dict->size(); ++i) {
        separate(i, depth + 1);
        write_text((*dict)[i].first);
        out += ": ";
        write((*dict)[i].second, depth + 1);
      }
      close('}', dict->empty(), depth);
    } else if (value.none()) {
      out += "null";
    } else if (const bool* flag = value.as<bool>()) {
      out += *flag ? "true" : "false";
    } else if (value.text() != nullptr) {
      write_text(*value.text());
    } else if (const double* real = value.as<double>(); real != nullptr && !std::isfinite(*real)) {
      out += std::isnan(*real) ? "NaN" : *real < 0 ? "-Infinity" : "Infinity";
    } else if (value.number()) {
      out += value.shown();
    } else {
      no("it cannot be written as JSON", value);
    }
  }

  std::string out;

 private:
  void write_text(const std::string& text) {
    charge(text.size());
    out += json_text(Json(text));
  }
  void line(int depth) {
    if (indent_ < 0) return;
    charge(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth));
    out += "\n" + std::string(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth), ' ');
  }
  void separate(std::size_t index, int depth) {
    if (index > 0) out += indent_ >= 0 ? "," : ", ";
    line(depth);
  }
  void close(char bracket, bool empty, int depth) {
    if (!empty) line(depth);
    out += bracket;
  }
  std::int64_t indent_;
};

}  // namespace

const Value* Arguments::find(std::size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named)
    if (key == name) return &value;
  return nullptr;
}

const Value* find_in(const Dict& dict, std::string_view key) {
  charge(dict.size() * 8);
  for (const auto& [name, value] : dict)
    if (name == key) return &value;
  return nullptr;
}

void set(Dict& dict, const std::string& key, Value value) {
  charge(dict.size() * 8 + sizeof(Dict::value_type));
  for (auto& [name, held] : dict)
    if (name == key) {
      held = std::move(value);
      return;
    }
  dict.emplace_back(key, std::move(value));
}

Value::Value(std::string text) {
  charge(text.size() + kOfText);
  held_ = std::make_shared<const std::string>(std::move(text));
}

Value::Value(List list) {
  charge((list.size() + 1) * sizeof(Value));
  for (const Value& item : list) hold(item);
  held_ = std::make_shared<const List>(std::move(list));
}

Value::Value(Dict dict) {
  charge((dict.size() + 1) * sizeof(Dict::value_type));
  for (const auto& [key, item] : dict) hold(item);
  held_ = std::make_shared<const Dict>(std::move(dict));
}

void Value::hold(const Value& part) {
  if (part.space() != nullptr) no("namespace inside another value", part);
  depth_ = std::max(depth_, part.depth_ + 1);
  if (depth_ > kDeepest) no("it is nested too deeply", part);
}

Value Value::from_json(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  // A larger integer is rounded to a floating-point number.
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const bool fits = !json.is_number_unsigned() || json.get<std::uint64_t>() <= kLargest;
  if (json.is_number_integer() && fits) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const Json& item : json) list.push_back(from_json(item));
    return list;
  }
  if (json.is_object()) {
    Dict dict;
    for (const auto& [key, item] : json.items()) dict.emplace_back(key, from_json(item));
    return dict;
  }
  return None{};
}

bool Value::truth() const {
  if (undefined() || none()) return false;
  if (const bool* flag = as<bool>()) return *flag;
  if (number()) return real() != 0.0;
  if (text() != nullptr) return !text()->empty();
  if (list() != nullptr) return !list()->empty();
  return dict() == nullptr || !dict()->empty();  // a function or a namespace is true in a condition
}

std::int64_t Value::integer() const {
  if (const bool* flag = as<bool>()) return *flag ? 1 : 0;
  if (const auto* number = as<std::int64_t>()) return *number;
  no("expected an integer", *this);
}

double Value::real() const {
  if (const double* number = as<double>()) return *number;
  if (!integral()) no("expected a number", *this);
  return static_cast<double>(integer());
}

std::string Value::shown() const {
  if (undefined()) return "";
  if (none()) return "None";
  if (const bool* flag = as<bool>()) return *flag ? "True" : "False";
  if (const auto* number = as<std::int64_t>()) return std::to_string(*number);
  if (const double* number = as<double>()) return real_text(*number);
  if (text() != nullptr) return *text();
  if (function() != nullptr || space() != nullptr) no("it cannot be printed", *this);
  return representation(*this);
}

std::string Value::type() const {
  if (const Undefined* missing = as<Undefined>())
    return missing->name.empty() ? "an undefined value" : "\"" + missing->name + "\", which is not defined";
  if (none()) return "none";
  if (as<bool>() != nullptr) return "a boolean";
  if (number()) return "a number";
  if (text() != nullptr) return "a string";
  if (list() != nullptr) return "a list";
  if (space() != nullptr) return "a namespace";
  return dict() != nullptr ? "a mapping" : "a function";
}

const Value* Value::find(std::string_view key) const {
  if (const Dict* dict = this->dict()) return find_in(*dict, key);
  return space() != nullptr ? find_in(space()->members, key) : nullptr;
}

List Value::items() const {
  if (undefined()) return {};
  if (list() != nullptr) {
    charge(list()->size() * sizeof(Value));
    return *list();
  }
  List parts;
  if (const Dict* dict = this->dict()) {
    for (const auto& [key, value] : *dict) parts.emplace_back(key);
    return parts;
  }
  if (text() != nullptr) charge(text()->size() * sizeof(Value));
  if (text() == nullptr) no("it is not iterable", *this);
  for (const char32_t letter : utf8::code_points(*text())) parts.emplace_back(utf8::encode({&letter, 1}));
  return parts;
}

bool Value::operator==(const Value& other) const {
  charge(sizeof(Value) + (text() != nullptr ? text()->size() : 0));
  if (number() && other.number()) return real() == other.real();
  if (text() != nullptr && other.text() != nullptr) return *text() == *other.text();
  if (list() != nullptr && other.list() != nullptr) return *list() == *other.list();
  if (const Dict *mine = dict(), *theirs = other.dict(); mine != nullptr && theirs != nullptr)
    return mine->size() == theirs->size() && std::all_of(mine->begin(), mine->end(), [&](const auto& entry) {
             const Value* value = other.find(entry.first);
             return value != nullptr && *value == entry.second;
           });
  return (none() && other.none()) || (undefined() && other.undefined());
}

bool less(const Value& a, const Value& b) {
  charge(sizeof(Value) + (a.text() != nullptr ? a.text()->size() : 0));
  if (a.number() && b.number()) return a.real() < b.real();
  if (a.text() != nullptr && b.text() != nullptr)
    return *a.text() < *b.text();  // UTF-8 byte order equals code-point order
  no("it cannot be ordered", a.number() || a.text() != nullptr ? b : a);
}

bool at_most(const Value& a, const Value& b) {
  if (a.number() && b.number()) {
    charge(sizeof(Value));
    return a.real() <= b.real();
  }
  return !less(b, a);
}

bool contains(const Value& whole, const Value& part) {
  if (whole.text() != nullptr) {
    if (part.text() == nullptr) no("only a string can be searched in a string", part);
    charge_search(whole.text()->size(), part.text()->size());
    return whole.text()->find(*part.text()) != std::string::npos;
  }
  const List items = whole.items();
  return std::find(items.begin(), items.end(), part) != items.end();
}

std::string to_json_text(const Value& value, std::int64_t indent) {
  JsonWriter writer(indent);
  writer.write(value, 0);
  return std::move(writer.out);
}

std::string strip(std::string_view text, bool left, bool right, const std::string* letters) {
  const std::u32string all = utf8::code_points(text);
  const std::u32string set = letters != nullptr ? utf8::code_points(*letters) : std::u32string();
  charge(all.size() * (4 + set.size()));
  const auto goes = [&](char32_t letter) {
    return letters != nullptr ? set.find(letter) != set.npos : utf8::is_space(letter);
  };
  std::size_t begin = 0, end = all.size();
  while (left && begin < end && goes(all[begin])) ++begin;
  while (right && end > begin && goes(all[end - 1])) --end;
  return utf8::encode(std::u32string_view(all).substr(begin, end - begin));
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  constexpr std::u32string_view kEnds = U"\n\r\v\f\x1C\x1D\x1E\x85\u2028\u2029";
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded symbol = utf8::decode(text, i);
    const std::size_t end = i;
    i += static_cast<std::size_t>(symbol.size);
    if (kEnds.find(symbol.value) == kEnds.npos) continue;
    if (symbol.value == U'\r' && i < text.size() && text[i] == '\n') ++i;
    lines.push_back(text.substr(begin, (keep_ends ? i : end) - begin));
    begin = i;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace regard::text::jinja

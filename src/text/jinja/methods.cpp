#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/counted.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "text/jinja/builtins.h"
#include "text/jinja/work.h"

namespace regard::text::jinja {
namespace {

[[noreturn]] void unknown(const Value& subject, const std::string& name) {
  throw Error(ErrorKind::bad_file, "chat template: unsupported method")
      .found("\"" + name + "\" of " + subject.type())
      .remedy("Choose a built-in template (--chat-template)");
}

const std::string& text_at(const Arguments& arguments, std::size_t index, const char* method) {
  const Value* found = arguments.find(index, "");
  if (found == nullptr || found->text() == nullptr)
    throw Error(ErrorKind::bad_file, std::string("chat template: wrong argument of ") + method + "()")
        .found(found == nullptr ? "no argument" : found->type())
        .expected("a string");
  return *found->text();
}

std::string upper(const std::string& text) {
  std::string out;
  for (const char32_t letter : utf8::code_points(text))
    utf8::append(out, letter == U'ß'
                          ? U'ß'
                          : static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(letter))));
  return out;
}

bool is_letter(char32_t letter) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(letter));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

// Convert the first letter of each word to upper case, or only the first letter of the text. Convert all
// other letters to lower case.
std::string titled(const std::string& text, bool each_word) {
  std::string out;
  bool begins = true;
  for (const char32_t letter : utf8::code_points(text)) {
    const std::string one = utf8::encode({&letter, 1});
    out += begins ? upper(one) : lower_case(one);
    begins = each_word && !is_letter(letter);
  }
  return out;
}

// Return the position of the last occurrence of `part` in text[begin, end).
std::size_t last_in(const std::string& text, std::size_t begin, std::size_t end, const std::string& part) {
  if (end - begin < part.size()) return std::string::npos;
  const std::size_t at = text.rfind(part, end - part.size());
  return at != std::string::npos && at >= begin ? at : std::string::npos;
}

List split(const std::string& text, const Arguments& arguments, bool from_right) {
  const Value* separator = arguments.find(0, "sep");
  const Value* limit = arguments.find(1, "maxsplit");
  std::int64_t left = limit != nullptr ? limit->integer() : -1;
  List parts;
  if (separator == nullptr || separator->none()) {
    if (left >= 0)
      throw Error(ErrorKind::bad_file, "chat template: split() at white space cannot have a limit")
          .found("maxsplit " + std::to_string(left))
          .expected("no maxsplit, or a separator");
    std::string word;
    for (const char32_t letter : utf8::code_points(text + " ")) {
      if (!utf8::is_space(letter))
        utf8::append(word, letter);
      else if (!word.empty())
        parts.emplace_back(std::exchange(word, {}));
    }
    return parts;
  }
  const std::string between = text_at(arguments, 0, "split");
  if (between.empty())
    throw Error(ErrorKind::bad_file, "chat template: the separator of split() is empty")
        .expected("at least 1 character");
  charge_search(text.size(), between.size());
  // The range that remains to be split is [begin, end).
  std::size_t begin = 0, end = text.size();
  while (left-- != 0) {
    const std::size_t at = from_right ? last_in(text, begin, end, between) : text.find(between, begin);
    if (at == std::string::npos) break;
    if (from_right) {
      parts.emplace_back(text.substr(at + between.size(), end - at - between.size()));
      end = at;
    } else {
      parts.emplace_back(text.substr(begin, at - begin));
      begin = at + between.size();
    }
  }
  parts.emplace_back(text.substr(begin, end - begin));
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

List lines(const std::string& text, const Arguments& arguments) {
  const Value* keep_ends = arguments.find(0, "keepends");
  List parts;
  for (const std::string_view line : split_lines(text, keep_ends != nullptr && keep_ends->truth()))
    parts.emplace_back(std::string(line));
  return parts;
}

std::string replaced(const std::string& text, const Arguments& arguments) {
  const std::string from = text_at(arguments, 0, "replace"), to = text_at(arguments, 1, "replace");
  const Value* limit = arguments.find(2, "count");
  std::int64_t left = limit != nullptr && !limit->none() ? limit->integer() : -1;
  if (from.empty())
    throw Error(ErrorKind::bad_file, "chat template: the text to replace in replace() is empty")
        .expected("at least 1 character");
  charge_search(text.size(), from.size());
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at = 0; left != 0 && (at = text.find(from, begin)) != std::string::npos; --left) {
    charge(to.size());
    out.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  return out.append(text, begin);
}

bool affix(const std::string& text, const Arguments& arguments, bool start) {
  const Value* given = arguments.find(0, "");
  if (given == nullptr)
    throw Error(ErrorKind::bad_file, "chat template: startswith() or endswith() has no argument")
        .expected("a string or a list");
  const List choices = given->list() != nullptr ? *given->list() : List{*given};
  return std::any_of(choices.begin(), choices.end(), [&](const Value& choice) {
    return choice.text() != nullptr &&
           (start ? text.starts_with(*choice.text()) : text.ends_with(*choice.text()));
  });
}

std::int64_t place(const std::string& text, std::size_t byte) {
  return byte == std::string::npos
             ? -1
             : static_cast<std::int64_t>(utf8::count(std::string_view(text).substr(0, byte)));
}

std::int64_t occurrences(const std::string& text, const std::string& part) {
  charge_search(text.size(), part.size());
  std::int64_t count = 0;
  for (std::size_t at = 0; !part.empty() && (at = text.find(part, at)) != std::string::npos;
       at += part.size())
    ++count;
  return count;
}

// The methods of strings, each with its maximum number of arguments.
constexpr std::array<std::pair<std::string_view, std::size_t>, 20> kTextMethods{
    {{"strip", 1},   {"lstrip", 1},     {"rstrip", 1},       {"upper", 0},        {"lower", 0},
     {"title", 0},   {"capitalize", 0}, {"split", 2},        {"rsplit", 2},       {"splitlines", 1},
     {"replace", 3}, {"startswith", 3}, {"endswith", 3},     {"find", 3},         {"rfind", 3},
     {"count", 3},   {"join", 1},       {"removeprefix", 1}, {"removesuffix", 1}, {"isdigit", 0}}};

// Apply a search method, such as find(), only to the part of the text that the arguments `start` and `end`
// select.
Value search_in_part(const Value& subject, const std::string& name, const Arguments& arguments) {
  const auto& given = arguments.positional;
  const Value part = slice_of(subject, given[1], given.size() > 2 ? given[2] : Value(), Value());
  const auto size = static_cast<std::int64_t>(utf8::count(*subject.text()));
  const std::int64_t start = given[1].none() ? 0 : given[1].integer();
  const std::int64_t begin = start < 0 ? std::max<std::int64_t>(0, start + size) : start;
  const bool places = name == "find" || name == "rfind";
  if (begin > size)
    return places ? Value(std::int64_t{-1}) : name == "count" ? Value(std::int64_t{0}) : false;
  Value found = call_method(part, name, {{given[0]}, {}});
  return places && found.integer() >= 0 ? Value(found.integer() + begin) : found;
}

Value text_method(const Value& subject, const std::string& name, const Arguments& arguments) {
  const std::string& text = *subject.text();
  charge(text.size() * 4);
  const auto known = std::find_if(kTextMethods.begin(), kTextMethods.end(),
                                  [&](const auto& method) { return method.first == name; });
  if (known == kTextMethods.end()) unknown(subject, name);
  if (arguments.positional.size() + arguments.named.size() > known->second)
    throw Error(ErrorKind::bad_file, "chat template: too many arguments of " + name + "()")
        .found(counted(arguments.positional.size() + arguments.named.size(), "argument"))
        .expected("at most " + std::to_string(known->second));
  if (known->second == 3 && name != "replace" && arguments.positional.size() > 1)
    return search_in_part(subject, name, arguments);
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const Value* letters = arguments.find(0, "chars");
    return strip(text, name != "rstrip", name != "lstrip", letters != nullptr ? letters->text() : nullptr);
  }
  if (name == "upper") return upper(text);
  if (name == "lower") return lower_case(text);
  if (name == "title" || name == "capitalize") return titled(text, name == "title");
  if (name == "split" || name == "rsplit") return split(text, arguments, name == "rsplit");
  if (name == "splitlines") return lines(text, arguments);
  if (name == "replace") return replaced(text, arguments);
  if (name == "startswith" || name == "endswith") return affix(text, arguments, name == "startswith");
  if (name == "find" || name == "rfind") {
    const std::string& part = text_at(arguments, 0, name.c_str());
    charge_search(text.size(), part.size());
    return place(text, name == "find" ? text.find(part) : text.rfind(part));
  }
  if (name == "count") return occurrences(text, text_at(arguments, 0, "count"));
  if (name == "join") {
    if (arguments.positional.empty())
      throw Error(ErrorKind::bad_file, "chat template: join() has no argument").expected("a list");
    return apply_filter("join", arguments.positional[0], {{subject}, {}});
  }
  if (name == "removeprefix" || name == "removesuffix") {
    const std::string& part = text_at(arguments, 0, name.c_str());
    if (!affix(text, arguments, name == "removeprefix")) return text;
    return name == "removeprefix" ? text.substr(part.size()) : text.substr(0, text.size() - part.size());
  }
  if (name == "isdigit")
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  unknown(subject, name);
}

Value dict_method(const Value& subject, const std::string& name, const Arguments& arguments) {
  if (name == "get") {
    const Value* key = arguments.find(0, "key");
    if (key == nullptr) text_at(arguments, 0, "get");  // throws
    const Value* found = key->text() != nullptr ? subject.find(*key->text()) : nullptr;
    if (found != nullptr) return *found;
    const Value* otherwise = arguments.find(1, "default");
    return otherwise != nullptr ? *otherwise : Value(Value::None{});
  }
  List list;
  for (const auto& [key, value] : *subject.dict()) {
    if (name == "items")
      list.push_back(List{Value(key), value});
    else if (name == "keys")
      list.emplace_back(key);
    else if (name == "values")
      list.push_back(value);
    else
      unknown(subject, name);
  }
  if (!is_dict_method(name)) unknown(subject, name);
  return list;
}

std::u32string letters_of(const std::string& text) {
  charge(text.size() * 4);
  return utf8::code_points(text);
}

// Convert an index, which counts from the end if it is negative, to a position. Returns −1 if the index is
// out of range.
std::int64_t index_in(std::int64_t index, std::int64_t size) {
  if (index < 0) index += size;
  return index >= 0 && index < size ? index : -1;
}

}  // namespace

bool is_dict_method(const std::string& name) {
  return name == "items" || name == "keys" || name == "values" || name == "get";
}

Value call_method(const Value& subject, const std::string& name, const Arguments& arguments) {
  if (subject.text() != nullptr) return text_method(subject, name, arguments);
  if (subject.dict() != nullptr) return dict_method(subject, name, arguments);
  if (subject.list() != nullptr && (name == "count" || name == "index") && !arguments.positional.empty()) {
    const List& list = *subject.list();
    charge(list.size());
    const Value& wanted = arguments.positional[0];
    if (name == "count") return std::int64_t{std::count(list.begin(), list.end(), wanted)};
    const auto found = std::find(list.begin(), list.end(), wanted);
    if (found == list.end())
      throw Error(ErrorKind::bad_file, "chat template: index() did not find the value in the list");
    return std::int64_t{found - list.begin()};
  }
  unknown(subject, name);
}

Value item_of(const Value& subject, const Value& index) {
  if (subject.undefined())
    throw Error(ErrorKind::bad_file, "chat template: subscript of an undefined value")
        .found(subject.type())
        .expected("a mapping, a list or a string");
  if ((subject.dict() != nullptr || subject.space() != nullptr) && index.text() != nullptr) {
    const Value* found = subject.find(*index.text());
    return found != nullptr ? *found : Value(Value::Undefined{*index.text()});
  }
  if (index.integral() && (subject.list() != nullptr || subject.text() != nullptr)) {
    if (subject.text() != nullptr) {
      const std::u32string letters = letters_of(*subject.text());
      const std::int64_t place = index_in(index.integer(), std::ssize(letters));
      if (place >= 0) return utf8::encode({&letters[static_cast<std::size_t>(place)], 1});
    } else if (const std::int64_t place = index_in(index.integer(), std::ssize(*subject.list()));
               place >= 0) {
      return (*subject.list())[static_cast<std::size_t>(place)];
    }
  }
  return Value::Undefined{index.shown()};
}

Value slice_of(const Value& subject, const Value& from, const Value& to, const Value& step) {
  if (subject.list() == nullptr && subject.text() == nullptr)
    throw Error(ErrorKind::bad_file, "chat template: the value cannot be sliced")
        .found(subject.type())
        .expected("a string or a list");
  const std::u32string letters = subject.text() != nullptr ? letters_of(*subject.text()) : std::u32string();
  const List items = subject.text() != nullptr ? List() : subject.items();
  const auto given = [](const Value& value) { return !value.undefined() && !value.none(); };
  const std::int64_t size = std::ssize(items) + std::ssize(letters);
  // Clamp the step to avoid overflow. Every step beyond the length has the same effect.
  const std::int64_t by = std::clamp(given(step) ? step.integer() : 1, -size - 1, size + 1);
  if (by == 0)
    throw Error(ErrorKind::bad_file, "chat template: the step of a slice is 0")
        .expected("a step other than 0");
  const auto bound = [&](const Value& value, std::int64_t otherwise) {
    if (!given(value)) return otherwise;
    const std::int64_t index = value.integer() < 0 ? value.integer() + size : value.integer();
    return by > 0 ? std::clamp<std::int64_t>(index, 0, size) : std::clamp<std::int64_t>(index, -1, size - 1);
  };
  const std::int64_t begin = bound(from, by > 0 ? 0 : size - 1), end = bound(to, by > 0 ? size : -1);
  List part;
  std::u32string text;
  for (std::int64_t i = begin; by > 0 ? i < end : i > end; i += by) {
    if (subject.list() != nullptr)
      part.push_back(items[static_cast<std::size_t>(i)]);
    else
      text += letters[static_cast<std::size_t>(i)];
  }
  return subject.list() != nullptr ? Value(std::move(part)) : Value(utf8::encode(text));
}

}  // namespace regard::text::jinja

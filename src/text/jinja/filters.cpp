#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/parse_number.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "text/jinja/builtins.h"
#include "text/jinja/work.h"

namespace regard::text::jinja {
namespace {

using Filter = Value (*)(const Value&, const Arguments&);

std::string text_argument(const Arguments& arguments, std::size_t index, const char* name,
                          const char* otherwise) {
  const Value* found = arguments.find(index, name);
  return found != nullptr ? found->shown() : otherwise;
}

bool flag_argument(const Arguments& arguments, std::size_t index, const char* name) {
  const Value* found = arguments.find(index, name);
  return found != nullptr && found->truth();
}

// Return the value at a path such as "a.b" in `attribute="a.b"`: member b of member a of the item. A number
// in the path is the index of a list item.
Value attribute_of(Value item, const std::string& path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const auto index = parse_number<std::int64_t>(name);
    item = item_of(item, index && !name.starts_with('-') ? Value(*index) : Value(name));
    begin = end + 1;
  }
  return item;
}

Value key_of(const Value& item, const Arguments& arguments, std::size_t index) {
  const Value* attribute = arguments.find(index, "attribute");
  return attribute == nullptr || attribute->none() ? item : attribute_of(item, attribute->shown());
}

Arguments behind(const Arguments& arguments, std::size_t count) {
  Arguments rest;
  for (std::size_t i = count; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  return rest;
}

// Return the items that pass a test, or the items that fail it if `wanted` is false. Used by the filters
// select, reject, selectattr and rejectattr.
List chosen(const Value& subject, const Arguments& arguments, bool by_attribute, bool wanted) {
  const std::size_t test_at = by_attribute ? 1 : 0;
  const Arguments rest = behind(arguments, test_at + 1);
  List kept;
  for (const Value& item : subject.items()) {
    const Value tested = by_attribute ? attribute_of(item, text_argument(arguments, 0, "", "")) : item;
    const Value* test = arguments.find(test_at, "");
    const bool holds = test == nullptr ? tested.truth() : apply_test(test->shown(), tested, rest);
    if (holds == wanted) kept.push_back(item);
  }
  return kept;
}

Value map_filter(const Value& subject, const Arguments& arguments) {
  List results;
  const Value* attribute = arguments.find(arguments.positional.size(), "attribute");
  const Value* otherwise = arguments.find(arguments.positional.size(), "default");
  for (const Value& item : subject.items()) {
    if (attribute == nullptr) {
      results.push_back(apply_filter(text_argument(arguments, 0, "", ""), item, behind(arguments, 1)));
      continue;
    }
    Value found = attribute_of(item, attribute->shown());
    if (found.undefined() && otherwise != nullptr) found = *otherwise;
    results.push_back(std::move(found));
  }
  return results;
}

Value join_filter(const Value& subject, const Arguments& arguments) {
  const std::string between = text_argument(arguments, 0, "d", "");
  std::string text;
  bool first = true;
  for (const Value& item : subject.items()) {
    if (!std::exchange(first, false)) text += between;
    const std::string part = key_of(item, arguments, 1).shown();
    charge(between.size() + part.size());
    text += part;
  }
  return text;
}

// Return the value by which filters compare an item: a text in lower case, unless `exact` is true.
Value compared(const Value& value, bool exact) {
  return exact || value.text() == nullptr ? value : apply_filter("lower", value, {});
}

Value sort_filter(const Value& subject, const Arguments& arguments) {
  List items = subject.items();
  const bool exact = flag_argument(arguments, 1, "case_sensitive");
  const auto key = [&](const Value& item) { return compared(key_of(item, arguments, 2), exact); };
  // sort so that equal items keep their order, as in Python
  const bool reverse = flag_argument(arguments, 0, "reverse");
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return reverse ? less(key(b), key(a)) : less(key(a), key(b));
  });
  return items;
}

Value dictsort_filter(const Value& subject, const Arguments& arguments) {
  if (subject.dict() == nullptr)
    throw Error(ErrorKind::bad_file, "chat template: wrong operand of the filter dictsort")
        .found(subject.type())
        .expected("a mapping");
  const bool exact = flag_argument(arguments, 0, "case_sensitive");
  const std::string by = text_argument(arguments, 1, "by", "key");
  const bool reverse = flag_argument(arguments, 2, "reverse");
  if (by != "key" && by != "value")
    throw Error(ErrorKind::bad_file, "chat template: wrong argument of the filter dictsort")
        .found("by=" + by)
        .expected("key or value");
  Dict entries = *subject.dict();
  const auto sort_key = [&](const auto& entry) {
    return compared(by == "key" ? Value(entry.first) : entry.second, exact);
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
    return reverse ? less(sort_key(b), sort_key(a)) : less(sort_key(a), sort_key(b));
  });
  List pairs;
  for (const auto& [key, value] : entries) pairs.push_back(List{Value(key), value});
  return pairs;
}

Value indent_filter(const Value& subject, const Arguments& arguments) {
  const Value* width = arguments.find(0, "width");
  const bool first = flag_argument(arguments, 1, "first"), blank = flag_argument(arguments, 2, "blank");
  std::string pad(4, ' ');
  if (width != nullptr)
    pad = width->text() != nullptr
              ? *width->text()
              : std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(width->integer(), 0, 1 << 16)),
                            ' ');
  const std::string text = subject.shown() + "\n";
  std::string out;
  bool at_start = true;
  for (const std::string_view line : split_lines(text, false)) {
    charge(pad.size() + line.size());
    if (!at_start) out += '\n';
    if (at_start ? first : (blank || !line.empty())) out += pad;
    out += line;
    at_start = false;
  }
  return out;
}

std::int64_t whole_of(double number) {
  // 2⁵³; all integers up to this magnitude are exact in double
  constexpr double kLargest = 9007199254740992.0;
  if (!(std::abs(number) <= kLargest))
    throw Error(ErrorKind::bad_file, "chat template: a number is too large for an integer")
        .found(std::to_string(number))
        .expected("at most 2^53 in magnitude");
  return static_cast<std::int64_t>(number);
}

// Return the text of a number as Python's int() and float() read it: without white space at the ends, a plus
// sign, and underscores between digits.
std::string plain_number(const std::string& text) {
  const std::string all = strip(text, true, true);
  const auto digit = [&](std::size_t i) { return i < all.size() && all[i] >= '0' && all[i] <= '9'; };
  std::string out;
  for (std::size_t i = all.starts_with('+') && !all.starts_with("+-") ? 1 : 0; i < all.size(); ++i)
    if (all[i] != '_' || i == 0 || !digit(i - 1) || !digit(i + 1)) out += all[i];
  return out;
}

Value number_filter(const Value& subject, const Arguments& arguments, bool whole) {
  if (const Value* base = arguments.find(1, "base"); whole && base != nullptr && base->integer() != 10)
    throw Error(ErrorKind::bad_file, "chat template: unsupported base of the filter int")
        .found(base->shown())
        .expected("10");
  if (subject.number()) {
    if (!whole) return subject.real();
    return subject.integral() ? subject.integer() : whole_of(subject.real());
  }
  const std::string text = plain_number(subject.shown());
  if (const auto number = parse_number<std::int64_t>(text); whole && number) return *number;
  if (const auto real = parse_number<double>(text); real && (!whole || std::isfinite(*real)))
    return whole ? Value(whole_of(*real)) : Value(*real);
  const Value* otherwise = arguments.find(0, "default");
  return otherwise != nullptr ? *otherwise : whole ? Value(std::int64_t{0}) : Value(0.0);
}

Value extreme(const Value& subject, const Arguments& arguments, bool largest) {
  const List items = subject.items();
  if (items.empty()) return {};
  const bool exact = flag_argument(arguments, 0, "case_sensitive");
  const auto key = [&](const Value& item) { return compared(key_of(item, arguments, 1), exact); };
  const auto before = [&](const Value& a, const Value& b) { return less(key(a), key(b)); };
  return largest ? *std::max_element(items.begin(), items.end(), before)
                 : *std::min_element(items.begin(), items.end(), before);
}

Value sum_filter(const Value& subject, const Arguments& arguments) {
  const Value* start = arguments.find(1, "start");
  double total = start != nullptr ? start->real() : 0.0;
  bool whole = start == nullptr || start->integral();
  for (const Value& item : subject.items()) {
    const Value value = key_of(item, arguments, 0);
    whole = whole && value.integral();
    total += value.real();
  }
  return whole ? Value(whole_of(total)) : Value(total);
}

Value reverse_filter(const Value& subject, const Arguments&) {
  List items = subject.items();
  std::reverse(items.begin(), items.end());
  if (subject.text() == nullptr) return items;
  std::string text;
  for (const Value& item : items) text += item.shown();
  return text;
}

Value unique_filter(const Value& subject, const Arguments& arguments) {
  const bool exact = flag_argument(arguments, 0, "case_sensitive");
  const auto key = [&](const Value& item) { return compared(key_of(item, arguments, 1), exact); };
  List kept;
  for (const Value& item : subject.items())
    if (std::none_of(kept.begin(), kept.end(), [&](const Value& other) { return key(other) == key(item); }))
      kept.push_back(item);
  return kept;
}

Value length_filter(const Value& subject, const Arguments&) {
  if (subject.number() || subject.none() || subject.function() != nullptr || subject.space() != nullptr)
    throw Error(ErrorKind::bad_file, "chat template: wrong operand of the filter length")
        .found(subject.type())
        .expected("a string, a list or a mapping");
  if (subject.list() != nullptr) return std::ssize(*subject.list());
  if (subject.text() != nullptr) return static_cast<std::int64_t>(utf8::count(*subject.text()));
  return subject.dict() != nullptr ? std::ssize(*subject.dict()) : std::int64_t{0};
}

Value json_filter(const Value& subject, const Arguments& arguments) {
  // The arguments have the order of transformers' filter tojson: ensure_ascii, indent, separators, sort_keys.
  const Value* indent = arguments.find(1, "indent");
  const Value* separators = arguments.find(2, "separators");
  const char* const unsupported = flag_argument(arguments, 0, "ensure_ascii")    ? "ensure_ascii"
                                  : separators != nullptr && !separators->none() ? "separators"
                                  : flag_argument(arguments, 3, "sort_keys")     ? "sort_keys"
                                                                                 : nullptr;
  if (unsupported != nullptr)
    throw Error(ErrorKind::bad_file, "chat template: unsupported argument of tojson")
        .found(unsupported)
        .expected("indent or no argument");
  const bool wide = indent != nullptr && !indent->none();
  return to_json_text(subject, wide ? std::clamp<std::int64_t>(indent->integer(), 0, 64) : -1);
}

Value default_filter(const Value& subject, const Arguments& arguments) {
  const bool missing = subject.undefined() || (flag_argument(arguments, 1, "boolean") && !subject.truth());
  if (!missing) return subject;
  const Value* otherwise = arguments.find(0, "default_value");
  return otherwise != nullptr ? *otherwise : Value("");
}

Value end_item(const Value& subject, bool last) {
  const List items = subject.items();
  if (items.empty()) return {};
  return last ? items.back() : items.front();
}

Value absolute(const Value& subject, const Arguments&) {
  if (!subject.integral()) return std::abs(subject.real());
  const std::int64_t number = subject.integer();
  if (number == std::numeric_limits<std::int64_t>::min())
    throw Error(ErrorKind::bad_file, "chat template: the result exceeds the range of 64-bit integers")
        .expected("-2^63 to 2^63 - 1");
  return std::abs(number);
}

Value round_filter(const Value& subject, const Arguments& arguments) {
  const Value* digits = arguments.find(0, "precision");
  const std::string how = text_argument(arguments, 1, "method", "common");
  if (how == "common" && subject.integral() && (digits == nullptr || digits->integer() >= 0))
    return subject.integer();
  const double scale = std::pow(10.0, digits != nullptr ? digits->real() : 0.0);
  const double scaled = subject.real() * scale;
  if (how == "ceil") return std::ceil(scaled) / scale;
  if (how == "floor") return std::floor(scaled) / scale;
  if (how != "common")
    throw Error(ErrorKind::bad_file, "chat template: unsupported rounding method")
        .found(how)
        .expected("common, ceil or floor");
  return std::nearbyint(scaled) / scale;
}

// Convert the first letter of each word to upper case and all others to lower case. Unlike the method
// title(), the filter starts a word only after white space, "-" and opening brackets.
Value title_filter(const Value& subject, const Arguments&) {
  std::string out, word;
  const auto close = [&] { out += call_method(Value(std::exchange(word, {})), "capitalize", {}).shown(); };
  for (const char32_t letter : utf8::code_points(subject.shown())) {
    utf8::append(word, letter);
    if (utf8::is_space(letter) || std::u32string_view(U"-({[<").find(letter) != std::u32string_view::npos)
      close();
  }
  close();
  return out;
}

Value items_filter(const Value& subject, const Arguments&) {
  return subject.undefined() ? Value(List{}) : call_method(subject, "items", {});
}

Value method(const Value& subject, const char* name, const Arguments& arguments) {
  return call_method(Value(subject.shown()), name, arguments);
}

const std::map<std::string, Filter>& filters() {
  using A = Arguments;
  static const std::map<std::string, Filter> table{
      {"abs", absolute},
      {"capitalize", [](const Value& v, const A& a) { return method(v, "capitalize", a); }},
      {"count", length_filter},
      {"d", default_filter},
      {"default", default_filter},
      {"dictsort", dictsort_filter},
      {"first", [](const Value& v, const A&) { return end_item(v, false); }},
      {"float", [](const Value& v, const A& a) { return number_filter(v, a, false); }},
      {"indent", indent_filter},
      {"int", [](const Value& v, const A& a) { return number_filter(v, a, true); }},
      {"items", items_filter},
      {"join", join_filter},
      {"last", [](const Value& v, const A&) { return end_item(v, true); }},
      {"length", length_filter},
      {"list", [](const Value& v, const A&) { return Value(v.items()); }},
      {"lower", [](const Value& v, const A& a) { return method(v, "lower", a); }},
      {"map", map_filter},
      {"max", [](const Value& v, const A& a) { return extreme(v, a, true); }},
      {"min", [](const Value& v, const A& a) { return extreme(v, a, false); }},
      {"reject", [](const Value& v, const A& a) { return Value(chosen(v, a, false, false)); }},
      {"rejectattr", [](const Value& v, const A& a) { return Value(chosen(v, a, true, false)); }},
      {"replace", [](const Value& v, const A& a) { return method(v, "replace", a); }},
      {"reverse", reverse_filter},
      {"round", round_filter},
      {"safe", [](const Value& v, const A&) { return v; }},
      {"select", [](const Value& v, const A& a) { return Value(chosen(v, a, false, true)); }},
      {"selectattr", [](const Value& v, const A& a) { return Value(chosen(v, a, true, true)); }},
      {"sort", sort_filter},
      {"string", [](const Value& v, const A&) { return Value(v.shown()); }},
      {"sum", sum_filter},
      {"title", title_filter},
      {"tojson", json_filter},
      {"trim", [](const Value& v, const A& a) { return method(v, "strip", a); }},
      {"unique", unique_filter},
      {"upper", [](const Value& v, const A& a) { return method(v, "upper", a); }},
  };
  return table;
}

}  // namespace

Value apply_filter(const std::string& name, const Value& subject, const Arguments& arguments) {
  return find_builtin(filters(), name, "filter")(subject, arguments);
}

}  // namespace regard::text::jinja

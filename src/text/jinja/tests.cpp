#include <utf8proc.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "regard/error.h"
#include "text/jinja/builtins.h"

namespace regard::text::jinja {
namespace {

using Test = bool (*)(const Value&, const Arguments&);

const Value& other(const Arguments& arguments) {
  if (arguments.positional.empty())
    throw Error(ErrorKind::bad_file, "chat template: the test has no argument").expected("1 argument");
  return arguments.positional[0];
}

// Return true if the text contains a letter with case, and if `method` ("lower" or "upper") does not change
// it.
bool one_case(const Value& value, const char* method) {
  const std::u32string letters = utf8::code_points(value.shown());
  return std::any_of(letters.begin(), letters.end(),
                     [](char32_t letter) {
                       const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(letter));
                       return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
                     }) &&
         call_method(Value(value.shown()), method, {}) == Value(value.shown());
}

// Return true if Python's `a is b` would be true: both are the same list or mapping, or equal values of the
// same type.
bool same(const Value& a, const Value& b) {
  return a.list() == b.list() && a.dict() == b.dict() && a.integral() == b.integral() &&
         (a.as<bool>() == nullptr) == (b.as<bool>() == nullptr) && a == b;
}

const std::map<std::string, Test>& tests() {
  using A = Arguments;
  constexpr Test equal = [](const Value& v, const A& a) { return v == other(a); };
  constexpr Test unequal = [](const Value& v, const A& a) { return !(v == other(a)); };
  constexpr Test less_than = [](const Value& v, const A& a) { return less(v, other(a)); };
  constexpr Test greater = [](const Value& v, const A& a) { return less(other(a), v); };
  constexpr Test greater_or_equal = [](const Value& v, const A& a) { return at_most(other(a), v); };
  constexpr Test less_or_equal = [](const Value& v, const A& a) { return at_most(v, other(a)); };
  static const std::map<std::string, Test> table{
      {"defined", [](const Value& v, const A&) { return !v.undefined(); }},
      {"undefined", [](const Value& v, const A&) { return v.undefined(); }},
      {"none", [](const Value& v, const A&) { return v.none(); }},
      {"string", [](const Value& v, const A&) { return v.text() != nullptr; }},
      {"number", [](const Value& v, const A&) { return v.number(); }},
      {"integer", [](const Value& v, const A&) { return v.as<std::int64_t>() != nullptr; }},
      {"float", [](const Value& v, const A&) { return v.as<double>() != nullptr; }},
      {"boolean", [](const Value& v, const A&) { return v.as<bool>() != nullptr; }},
      {"true", [](const Value& v, const A&) { return v.as<bool>() != nullptr && v.truth(); }},
      {"false", [](const Value& v, const A&) { return v.as<bool>() != nullptr && !v.truth(); }},
      {"mapping", [](const Value& v, const A&) { return v.dict() != nullptr; }},
      {"sequence",
       [](const Value& v, const A&) {
         return v.list() != nullptr || v.dict() != nullptr || v.text() != nullptr || v.undefined();
       }},
      {"iterable",
       [](const Value& v, const A&) {
         return v.list() != nullptr || v.dict() != nullptr || v.text() != nullptr || v.undefined();
       }},
      {"callable", [](const Value& v, const A&) { return v.function() != nullptr; }},
      {"odd", [](const Value& v, const A&) { return v.integer() % 2 != 0; }},
      {"even", [](const Value& v, const A&) { return v.integer() % 2 == 0; }},
      {"divisibleby",
       [](const Value& v, const A& a) {
         if (other(a).integer() == 0) throw Error(ErrorKind::bad_file, "chat template: division by zero");
         if (other(a).integer() == -1) return true;
         return v.integer() % other(a).integer() == 0;
       }},
      {"lower", [](const Value& v, const A&) { return one_case(v, "lower"); }},
      {"upper", [](const Value& v, const A&) { return one_case(v, "upper"); }},
      {"in", [](const Value& v, const A& a) { return contains(other(a), v); }},
      {"eq", equal},
      {"equalto", equal},
      {"==", equal},
      {"sameas", [](const Value& v, const A& a) { return same(v, other(a)); }},
      {"ne", unequal},
      {"!=", unequal},
      {"lt", less_than},
      {"lessthan", less_than},
      {"<", less_than},
      {"gt", greater},
      {"greaterthan", greater},
      {">", greater},
      {"ge", greater_or_equal},
      {">=", greater_or_equal},
      {"le", less_or_equal},
      {"<=", less_or_equal},
  };
  return table;
}

}  // namespace

bool apply_test(const std::string& name, const Value& subject, const Arguments& arguments) {
  return find_builtin(tests(), name, "test")(subject, arguments);
}

}  // namespace regard::text::jinja

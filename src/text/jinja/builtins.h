// Built-in parts of Jinja: operators, filters, tests, and the methods of strings, lists and mappings.
#pragma once

#include <map>
#include <string>

#include "regard/error.h"
#include "text/jinja/value.h"

namespace regard::text::jinja {

// All functions below throw bad_file for an unsupported feature or a wrong type; the message names the
// feature or the type.
Value apply_filter(const std::string& name, const Value& subject, const Arguments& arguments);
bool apply_test(const std::string& name, const Value& subject, const Arguments& arguments);
Value call_method(const Value& subject, const std::string& name, const Arguments& arguments);

// Return the entry `name` of a table of filters or tests. `kind` is "filter" or "test".
template <class Function>
Function find_builtin(const std::map<std::string, Function>& table, const std::string& name,
                      const std::string& kind) {
  const auto found = table.find(name);
  if (found == table.end())
    throw Error(ErrorKind::bad_file, "chat template: unsupported " + kind)
        .found("\"" + name + "\"")
        .remedy("Choose a built-in template (--chat-template)");
  return found->second;
}

// Arithmetic operators: + - * / // % and ~. Comparisons: == != < <= > >= in and "not in".
Value arithmetic(const std::string& sign, const Value& a, const Value& b);
bool compare(const std::string& sign, const Value& a, const Value& b);

// Return the numbers of range().
Value range(const Arguments& arguments);

// Return true if mappings have a method with that name. Methods take precedence over keys.
bool is_dict_method(const std::string& name);

// Return subject[index], or subject[from:to:step], where omitted parts are undefined values. The result is
// undefined if there is no such item.
Value item_of(const Value& subject, const Value& index);
Value slice_of(const Value& subject, const Value& from, const Value& to, const Value& step);

}  // namespace regard::text::jinja

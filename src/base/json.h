// Parses JSON from untrusted files within limits, and converts its values with type checks. Errors in the
// content have the kind bad_file and name the file, the key, the value found and the expected type.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/namespaces.h"
#include "regard/error.h"

namespace regard::base {

struct JsonLimits {
  std::size_t depth = 128;                   // maximum nesting of arrays and objects
  std::size_t bytes = std::size_t{1} << 30;  // maximum size of the text in bytes
  std::int64_t first_byte = 0;               // offset of the text in the file, in bytes; used in messages
};

// Parse strict JSON (RFC 8259): no comments, NaN, infinity, numbers beyond the range of double, byte-order
// mark, text after the value, or duplicate keys in an object. Throws bad_file with the byte of the first
// error, or if a limit is exceeded.
Json parse_json(std::string_view text, const std::string& file, JsonLimits limits = {});
// Parse a regular file as parse_json() does. Throws io if it cannot be read.
Json read_json(const std::string& path, JsonLimits limits = {});
// As read_json(); throws bad_file if the content is not an object.
Json read_json_object(const std::string& path, JsonLimits limits = {});

// Return a short description of a value for messages: `the string "abc"`, `the number 1.5`, `an object`.
std::string describe(const Json& value);

namespace json_detail {
Error wrong(std::string_view key, const std::string& file, const Json& value, const char* expected);
// Return the value of `key`; null if the key is missing.
const Json* find(const Json& object, std::string_view key, const std::string& file);
[[noreturn]] void missing(std::string_view key, const std::string& file);
bool to_bool(const Json& value, std::string_view key, const std::string& file);
std::int64_t to_int64(const Json& value, std::string_view key, const std::string& file);
std::uint64_t to_uint64(const Json& value, std::string_view key, const std::string& file);
double to_double(const Json& value, std::string_view key, const std::string& file);
std::string to_string(const Json& value, std::string_view key, const std::string& file);
void check_array(const Json& value, std::string_view key, const std::string& file);
Error out_of_range(std::string_view key, const std::string& file, const Json& value, const std::string& low,
                   const std::string& high);

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
}  // namespace json_detail

// Convert `value` to T, which is bool, an integer type, float, double, std::string, Json, or a std::vector of
// these. `key` names the value in messages. A number with a fraction or an exponent is not an integer, and a
// number out of the range of T is refused.
template <class T>
T json_as(const Json& value, std::string_view key, const std::string& file) {
  namespace detail = json_detail;
  if constexpr (std::is_same_v<T, Json>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return detail::to_bool(value, key, file);
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const Wide number = [&] {
      if constexpr (std::is_signed_v<T>) {
        return detail::to_int64(value, key, file);
      } else {
        return detail::to_uint64(value, key, file);
      }
    }();
    using Limits = std::numeric_limits<T>;
    if (!std::in_range<T>(number))
      throw detail::out_of_range(key, file, value, std::to_string(Limits::min()),
                                 std::to_string(Limits::max()));
    return static_cast<T>(number);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto number = static_cast<T>(detail::to_double(value, key, file));
    if (!std::isfinite(number)) throw detail::out_of_range(key, file, value, "-3.4e38", "3.4e38");
    return number;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return detail::to_string(value, key, file);
  } else {
    static_assert(detail::IsVector<T>::value, "json_as does not know this type");
    detail::check_array(value, key, file);
    T items;
    items.reserve(value.size());
    for (std::size_t i = 0; i < value.size(); ++i)
      items.push_back(
          json_as<typename T::value_type>(value[i], std::string(key) + "[" + std::to_string(i) + "]", file));
    return items;
  }
}

// Return the value of `key`. Throws bad_file if the key is missing or its value has another type.
template <class T>
T require(const Json& object, std::string_view key, const std::string& file) {
  const Json* value = json_detail::find(object, key, file);
  if (value == nullptr) json_detail::missing(key, file);
  return json_as<T>(*value, key, file);
}

// Return the value of `key`; std::nullopt if the key is missing or its value is null.
template <class T>
std::optional<T> optional_value(const Json& object, std::string_view key, const std::string& file) {
  const Json* value = json_detail::find(object, key, file);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return json_as<T>(*value, key, file);
}

// Like require(), for a number in [low, high]. Throws bad_file if the number is outside this range.
template <class T>
T require_in(const Json& object, std::string_view key, const std::string& file, T low, T high) {
  const T number = require<T>(object, key, file);
  if (number < low || number > high)
    throw json_detail::out_of_range(key, file, Json(number), std::to_string(low), std::to_string(high));
  return number;
}

}  // namespace regard::base

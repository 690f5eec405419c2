// Errors as values, for programs that do not use exceptions.
//
//   auto model = regard::attempt([] { return regard::load("runs/demo"); });
//   if (!model) return complain(model.error().what());
//   std::puts(model->translate("Good morning.").c_str());
#pragma once

#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

#include "regard/error.h"

namespace regard {

// Holds a value or an Error. Calling value() on an error, or error() on a value, throws
// std::bad_variant_access.
template <class T>
class Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return content_.index() == 0; }
  T& value() { return std::get<0>(content_); }
  const T& value() const { return std::get<0>(content_); }
  T& operator*() { return value(); }
  T* operator->() { return &value(); }
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

// Run `work` and return its result (std::monostate for void), or the error that it throws. No exception
// escapes: exceptions other than Error are converted as caught_error() does.
template <class Work>
auto attempt(Work&& work) noexcept {
  using Returned = std::invoke_result_t<Work>;
  using Held = std::conditional_t<std::is_void_v<Returned>, std::monostate, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      std::forward<Work>(work)();
      return Result<Held>(std::monostate{});
    } else {
      return Result<Held>(std::forward<Work>(work)());
    }
  } catch (...) {
    return Result<Held>(caught_error());
  }
}

}  // namespace regard

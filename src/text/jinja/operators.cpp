#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "regard/error.h"
#include "text/jinja/builtins.h"
#include "text/jinja/work.h"

namespace regard::text::jinja {
namespace {

std::string joined(const std::string& a, const std::string& b) {
  charge(a.size() + b.size());
  return a + b;
}

// remainder_of() returns x % y and floor_quotient() returns x // y, as Python computes them for floats. The
// remainder has the sign of y.
double remainder_of(double x, double y) {
  const double rest = std::fmod(x, y);
  if (rest == 0.0) return std::copysign(0.0, y);
  return (y < 0) != (rest < 0) ? rest + y : rest;
}

double floor_quotient(double x, double y) {
  const double quotient = (x - remainder_of(x, y)) / y;
  if (quotient == 0.0) return std::copysign(0.0, x / y);
  const double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1.0 : down;
}

}  // namespace

Value arithmetic(const std::string& sign, const Value& a, const Value& b) {
  if (sign == "~") return joined(a.shown(), b.shown());
  if (sign == "+" && a.text() != nullptr && b.text() != nullptr) return joined(*a.text(), *b.text());
  if (sign == "+" && a.list() != nullptr && b.list() != nullptr) {
    List whole = a.items();
    charge(b.list()->size() * sizeof(Value));
    whole.insert(whole.end(), b.list()->begin(), b.list()->end());
    return whole;
  }
  if (sign == "*" && a.text() != nullptr && b.integral()) {
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(0, b.integer()));
    if (count == 0 || a.text()->empty()) return "";
    charge_product(a.text()->size(), count);
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += *a.text();
    return out;
  }
  if (!a.number() || !b.number())
    throw Error(ErrorKind::bad_file, "chat template: unsupported operand types")
        .found(a.type() + " " + sign + " " + b.type())
        .expected("two numbers; for +, also two strings or two lists");
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (divides && b.real() == 0.0) throw Error(ErrorKind::bad_file, "chat template: division by zero");
  if (sign == "/" || !a.integral() || !b.integral()) {
    const double x = a.real(), y = b.real();
    if (sign == "+") return x + y;
    if (sign == "-") return x - y;
    if (sign == "*") return x * y;
    if (sign == "/") return x / y;
    return sign == "//" ? floor_quotient(x, y) : remainder_of(x, y);
  }
  const std::int64_t x = a.integer(), y = b.integer();
  std::int64_t result = 0;
  bool fits = true;
  if (sign == "+") fits = !__builtin_add_overflow(x, y, &result);
  if (sign == "-") fits = !__builtin_sub_overflow(x, y, &result);
  if (sign == "*") fits = !__builtin_mul_overflow(x, y, &result);
  if (divides && y == -1) {
    fits = sign == "%" || !__builtin_sub_overflow(std::int64_t{0}, x, &result);
  } else if (divides) {
    const std::int64_t rest = ((x % y) + y) % y;  // the result has the sign of the divisor, as in Python
    result = sign == "%" ? rest : (x - rest) / y;
  }
  if (!fits)
    throw Error(ErrorKind::bad_file, "chat template: the result exceeds the range of 64-bit integers")
        .expected("-2^63 to 2^63 - 1");
  return result;
}

bool compare(const std::string& sign, const Value& a, const Value& b) {
  if (sign == "==") return a == b;
  if (sign == "!=") return !(a == b);
  if (sign == "in") return contains(b, a);
  if (sign == "not in") return !contains(b, a);
  if (sign == "<") return less(a, b);
  if (sign == ">") return less(b, a);
  return sign == "<=" ? at_most(a, b) : at_most(b, a);
}

Value range(const Arguments& arguments) {
  std::int64_t bounds[3] = {0, 0, 1};
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3)
    throw Error(ErrorKind::bad_file, "chat template: wrong number of arguments of range()")
        .found(counted(given.size(), "argument"))
        .expected("1 to 3 numbers");
  for (std::size_t i = 0; i < given.size(); ++i) bounds[given.size() == 1 ? 1 : i] = given[i].integer();
  const auto [begin, end, step] = bounds;
  if (step == 0)
    throw Error(ErrorKind::bad_file, "chat template: the step of range() is 0")
        .expected("a step other than 0");
  List numbers;
  if (step > 0 ? begin >= end : begin <= end) return numbers;
  // The distance from `begin` to `end` is unsigned, because it can exceed the range of std::int64_t.
  const auto distance =
      static_cast<std::uint64_t>(step > 0 ? end : begin) - static_cast<std::uint64_t>(step > 0 ? begin : end);
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const std::uint64_t count = (distance - 1) / stride + 1;
  charge_product(sizeof(Value), count);
  for (std::uint64_t i = 0; i < count; ++i)
    numbers.emplace_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + i * static_cast<std::uint64_t>(step)));
  return numbers;
}

}  // namespace regard::text::jinja

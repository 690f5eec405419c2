#include "text/jinja/work.h"

#include <limits>

#include "regard/error.h"

namespace regard::text::jinja {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
thread_local std::size_t left = kUnlimited;

}  // namespace

WorkLimit::WorkLimit(std::size_t bytes) : before_(left) {
  left = bytes;
}

WorkLimit::~WorkLimit() {
  left = before_;
}

void charge(std::size_t bytes) {
  if (left == kUnlimited) return;
  if (bytes > left)
    throw Error(ErrorKind::bad_file, "chat template: the rendering takes too many steps")
        .remedy("Check the template for an endless loop, or a string that grows in each step");
  left -= bytes;
}

void charge_product(std::size_t bytes, std::size_t count) {
  std::size_t product = 0;
  charge(__builtin_mul_overflow(bytes, count, &product) ? kUnlimited - 1 : product);
}

void charge_search(std::size_t whole, std::size_t part) {
  charge(whole);
  charge_product(whole / 32, part);
}

}  // namespace regard::text::jinja

// Limits the work of a template, which is untrusted code. Memory and time are charged on the rendering thread
// before they are spent; without a WorkLimit nothing is counted.
#pragma once

#include <cstddef>

namespace regard::text::jinja {

// Sets this thread's limit during its lifetime. Unit: one byte, or the time to copy one byte.
class WorkLimit {
 public:
  explicit WorkLimit(std::size_t bytes);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  std::size_t before_;
};

// Throws bad_file if the limit is exceeded.
void charge(std::size_t bytes);

// Charge bytes · count, without overflow.
void charge_product(std::size_t bytes, std::size_t count);

// Charge the search for `part` bytes in `whole` bytes.
void charge_search(std::size_t whole, std::size_t part);

}  // namespace regard::text::jinja

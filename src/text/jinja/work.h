// Limits the memory and time for rendering a template, because templates are untrusted code. Each operation
// is counted on the rendering thread before it runs; without a WorkLimit, there is no limit.
#pragma once

#include <cstddef>

namespace regard::text::jinja {

// Sets the limit of this thread during the lifetime of the object. The unit is one byte, or the time to copy
// one byte.
class WorkLimit {
 public:
  explicit WorkLimit(std::size_t bytes);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  std::size_t before_;
};

// Add `bytes` to the work of this thread. Throws bad_file if the limit is exceeded.
void charge(std::size_t bytes);

// The same as charge(bytes · count), but the product may exceed the range of std::size_t.
void charge_product(std::size_t bytes, std::size_t count);

// Add the work of a search for a string of `part` bytes in a string of `whole` bytes.
void charge_search(std::size_t whole, std::size_t part);

}  // namespace regard::text::jinja

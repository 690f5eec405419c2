// How much a template may do: it is somebody else's program. What costs memory or time is charged for before
// it is done, on the thread that renders; where nothing is rendered, nothing is counted.
#pragma once

#include <cstddef>

namespace regard::text::jinja {

// Sets what may be charged on this thread while it lives, in bytes or what takes about as long as to copy
// one.
class WorkLimit {
 public:
  explicit WorkLimit(std::size_t bytes);
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  std::size_t before_;
};

// Throws bad_file where the limit is passed.
void charge(std::size_t bytes);

// For `count` times as much; no product overflows.
void charge_product(std::size_t bytes, std::size_t count);

// For the search of a part of `part` bytes in `whole` bytes.
void charge_search(std::size_t whole, std::size_t part);

}  // namespace regard::text::jinja

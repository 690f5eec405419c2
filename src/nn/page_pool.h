// PagePool: pages of one size with reference counts. Several sequences may share a page. A page becomes free
// when the last sequence releases it.
//
// The pool grows only by grow(). take(), share() and release() do not allocate memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/namespaces.h"

namespace regard::nn {

class PagePool {
 public:
  explicit PagePool(std::int64_t floats_in_page) : floats_(floats_in_page) {}

  // Grow to at least `pages` pages. A page that was never written uses no physical memory.
  void grow(std::int64_t pages);

  // Make the memory of all pages resident by writing to it. No page may be in use.
  void make_resident();

  std::int64_t size() const { return static_cast<std::int64_t>(pages_.size()); }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t floats() const { return floats_; }

  // Return a page with reference count 1 and undefined content. Requires free() > 0.
  std::int32_t take();
  void share(std::int32_t page) { ++users_[static_cast<std::size_t>(page)]; }
  void release(std::int32_t page);
  std::int32_t users(std::int32_t page) const { return users_[static_cast<std::size_t>(page)]; }
  float* at(std::int32_t page) const { return pages_[static_cast<std::size_t>(page)]; }

 private:
  std::int64_t floats_;
  std::vector<std::unique_ptr<float, void (*)(void*)>> segments_;
  std::vector<float*> pages_;
  std::vector<std::int32_t> users_;
  std::vector<std::int32_t> free_;  // free pages, as a stack: the last page released is taken first
};

}  // namespace regard::nn

// A random order.
#pragma once

#include <utility>
#include <vector>

#include "base/random.h"

namespace regard {

// Every order equally likely (Fisher and Yates).
template <class T>
void shuffle(std::vector<T>& items, RandomStream& random) {
  for (std::size_t left = items.size(); left > 1; --left)
    std::swap(items[left - 1], items[random.next_below(left)]);
}

}  // namespace regard

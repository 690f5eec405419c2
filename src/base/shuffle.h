// Shuffles a vector at random.
#pragma once

#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "base/random.h"

namespace regard::base {

// Shuffle in place with the algorithm of Fisher and Yates; every order is equally likely.
template <class T>
void shuffle(std::vector<T>& items, RandomStream& random) {
  for (std::size_t left = items.size(); left > 1; --left)
    std::swap(items[left - 1], items[random.next_below(left)]);
}

}  // namespace regard::base

// Adds a place to errors that have none.
#pragma once

#include "regard/error.h"

namespace regard {

// Return work(). An Error without a file gets `place` and is rethrown.
template <class Work>
auto placed(const Place& place, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    if (error.file().empty()) error.at(place);
    throw;
  }
}

}  // namespace regard

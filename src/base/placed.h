// Adds a location to errors that have none.
#pragma once

#include "base/namespaces.h"
#include "regard/error.h"

namespace regard::base {

// Return work(). If it throws an Error without a file, add `place` to the error and rethrow it.
template <class Work>
auto placed(const Place& place, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    if (error.file().empty()) error.at(place);
    throw;
  }
}

}  // namespace regard::base

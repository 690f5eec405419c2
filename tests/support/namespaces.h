// The names of src/base, tensor, ops, nn and models are visible in tests without their namespaces.
#pragma once

#include "base/namespaces.h"

namespace regard::testing {
using namespace models;
}

// A test fixture that runs a test with every implementation of the bf16 products: the instructions that the
// processor has, and the emulation.
#pragma once

#include <vector>

#include "kernels/bf16.h"
#include "kernels/isa_fixture.h"
#include "support/namespaces.h"

namespace regard::testing {

class EachBf16Path : public EachIsa {
 protected:
  void TearDown() override {
    kernels::reset_bf16_path();
    EachIsa::TearDown();
  }
  // Call body(path) for every bf16 path of the current instruction set, and for the emulation.
  template <class Body>
  void each_path(Body&& body) {
    std::vector<kernels::Bf16Path> paths = kernels::bf16_paths();
    paths.push_back(kernels::Bf16Path::emulated);
    for (const kernels::Bf16Path path : paths) {
      kernels::set_bf16_path(path);
      SCOPED_TRACE(name_of(path));
      body(path);
    }
  }
};

}  // namespace regard::testing

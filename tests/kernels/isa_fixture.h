// Run a kernel test once for each instruction set that the machine supports.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/isa.h"
#include "support/namespaces.h"

namespace regard::testing {

class EachIsa : public ::testing::TestWithParam<kernels::Isa> {
 protected:
  void SetUp() override {
    before_ = kernels::active();
    kernels::set_active(GetParam());
  }
  void TearDown() override { kernels::set_active(before_); }

 private:
  kernels::Isa before_{};
};

}  // namespace regard::testing

#define REGARD_EACH_ISA(Fixture)                                                             \
  INSTANTIATE_TEST_SUITE_P(Isa, Fixture, ::testing::ValuesIn(regard::kernels::available()),  \
                           [](const ::testing::TestParamInfo<regard::kernels::Isa>& which) { \
                             return std::string(regard::kernels::name_of(which.param));      \
                           })

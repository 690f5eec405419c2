// The choice of an instruction set, also for machines other than this one.
#include "kernels/isa.h"

#include <gtest/gtest.h>

#include "regard/error.h"

namespace regard::kernels {
namespace {

TEST(Choose, AProcessorWithNoneIsToldWhatItLacks) {
  for (const char* cap : {"", "avx2", "a name that is none"}) {
    try {
      choose({}, cap, "AVX, AVX2, FMA");
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with("unsupported processor")) << what;
      EXPECT_NE(what.find("found a processor without AVX, AVX2, FMA"), what.npos) << what;
#if defined(__x86_64__)
      EXPECT_NE(what.find("expected an x86-64-v3 processor: AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE"),
                what.npos)
          << what;
#endif
    }
  }
}

TEST(Choose, TakesTheWidestUpToTheCap) {
  const Isa both[] = {Isa::avx2, Isa::avx512}, narrow[] = {Isa::avx2};
  EXPECT_EQ(choose(both, "", ""), Isa::avx512);
  EXPECT_EQ(choose(both, "amx", ""), Isa::avx512);
  EXPECT_EQ(choose(both, "avx512", ""), Isa::avx512);
  EXPECT_EQ(choose(both, "avx2", ""), Isa::avx2);
  EXPECT_EQ(choose(narrow, "", ""), Isa::avx2);
  EXPECT_EQ(choose(narrow, "avx512", ""), Isa::avx2);
  EXPECT_EQ(choose(both, "neon", ""), Isa::avx2);
  EXPECT_THROW(choose(both, "AVX2", ""), Error);
}

TEST(Available, IsEmptyExactlyIfSomethingIsLacking) {
  EXPECT_EQ(available().empty(), !lacking().empty());
  for (const Isa isa : available()) EXPECT_EQ(choose(available(), name_of(isa), ""), isa);
}

}  // namespace
}  // namespace regard::kernels

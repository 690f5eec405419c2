// The feature cache: features are read as they were written; damaged files and caches of other data are
// detected.
#include "data/feature_cache.h"

#include <gtest/gtest.h>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::data {
namespace {

Tensor numbered(std::int64_t rows, std::int64_t columns, float first) {
  Tensor values = Tensor::empty({rows, columns});
  for (std::int64_t i = 0; i < values.elements(); ++i) values.f32()[i] = first + static_cast<float>(i);
  return values;
}

TEST(FeatureCache, ReadsWhatWasWritten) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path cache = folder / "cache" / "one";
  std::string fault;
  EXPECT_FALSE(open_feature_cache(cache, 7, 3, 2, fault).has_value());
  EXPECT_EQ(fault, "");
  FeatureCacheWriter writer(cache, 7, 3);
  FeatureStore memory(3);
  for (const Tensor& one : {numbered(4, 3, 0.5f), numbered(2, 3, -9.0f)}) writer.add(one), memory.add(one);
  writer.commit();
  const auto found = open_feature_cache(cache, 7, 3, 2, fault);
  ASSERT_TRUE(found.has_value()) << fault;
  ASSERT_EQ(found->size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor a = found->features(i), b = memory.features(i);
    ASSERT_EQ(a.rows(), i == 0 ? 4 : 2);
    ASSERT_EQ(a.rows(), b.rows());
    for (std::int64_t k = 0; k < a.elements(); ++k) EXPECT_EQ(a.f32()[k], b.f32()[k]);
  }
  EXPECT_FALSE(open_feature_cache(cache, 8, 3, 2, fault).has_value());
  EXPECT_NE(fault.find("other data"), std::string::npos) << fault;
  EXPECT_FALSE(open_feature_cache(cache, 7, 3, 3, fault).has_value());
  EXPECT_NE(fault.find("offsets"), std::string::npos) << fault;
}

TEST(FeatureCache, FindsDamage) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path cache = folder / "cache";
  FeatureCacheWriter writer(cache, 7, 3);
  writer.add(numbered(4, 3, 0.5f));
  writer.commit();
  std::string values = testing::file_content(cache / "values"), fault;
  values[5] = static_cast<char>(values[5] ^ 1);
  testing::write_file(cache, "values", values);
  EXPECT_FALSE(open_feature_cache(cache, 7, 3, 1, fault).has_value());
  EXPECT_NE(fault.find("checksum"), std::string::npos) << fault;
  testing::write_file(cache, "values", values.substr(4));
  EXPECT_FALSE(open_feature_cache(cache, 7, 3, 1, fault).has_value());
  EXPECT_NE(fault.find("length"), std::string::npos) << fault;
  testing::write_file(cache, "about.json", "[]");
  EXPECT_FALSE(open_feature_cache(cache, 7, 3, 1, fault).has_value());
  EXPECT_NE(fault, "");
}

}  // namespace
}  // namespace regard::data

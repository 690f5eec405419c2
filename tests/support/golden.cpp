#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "support/shared_data.h"

namespace regard::testing {

Golden::Golden(const std::string& folder, const std::string& name) {
  std::filesystem::path tensors = golden(folder + "/" + name + ".safetensors");
  std::filesystem::path about = golden(folder + "/" + name + ".json");
  if (!std::filesystem::exists(tensors)) {
    tensors = golden(folder + "/" + name + "/golden.safetensors");
    about = golden(folder + "/" + name + "/case.json");
  }
  file_ = formats::SafetensorsFile::open(tensors);
  about_ = read_json(about.string());
}

void expect_close(const Tensor& actual, const Tensor& golden, double tolerance, double floor,
                  const std::string& what) {
  ASSERT_EQ(actual.elements(), golden.elements()) << what;
  const Tensor mine = actual.clone();
  double largest = floor, worst = 0.0;
  bool finite = true;
  for (std::int64_t i = 0; i < golden.elements(); ++i) {
    const double expected = static_cast<double>(golden.f32()[i]), found = static_cast<double>(mine.f32()[i]);
    largest = std::max(largest, std::abs(expected));
    worst = std::max(worst, std::abs(found - expected));
    finite = finite && std::isfinite(found);
  }
  EXPECT_TRUE(finite) << what << " is not finite";
  EXPECT_LE(worst, tolerance * largest) << what << ": relative error " << worst / largest;
  // Record the relative error, so that --gtest_output=xml writes it to the report.
  ::testing::Test::RecordProperty(what, std::to_string(worst / largest));
}

}  // namespace regard::testing

// The reader is compared with the reference library (tests/data/safetensors/manifest.json). Files that the
// library accepts give the same values; files that it rejects or leaves undefined are rejected.
#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/json.h"
#include "base/sha256.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

using testing::golden;
using testing::TemporaryFolder;

const Json& manifest() {
  static const Json value = read_json(golden("safetensors/manifest.json"));
  return value;
}

double expected_number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  return text == "inf" ? INFINITY : text == "-inf" ? -INFINITY : NAN;
}

void expect_same(double found, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << what;
  } else {
    EXPECT_EQ(found, expected) << what;
    EXPECT_EQ(std::signbit(found), std::signbit(expected)) << what;
  }
}

void expect_values(const SafetensorsFile& file, const Json& expected, const std::string& what) {
  const std::string name = expected["name"];
  const TensorEntry* entry = file.find(name);
  ASSERT_NE(entry, nullptr) << what;
  EXPECT_EQ(entry->dtype, expected["dtype"].get<std::string>()) << what;
  EXPECT_EQ(Json(entry->shape), expected["shape"]) << what;
  EXPECT_EQ(entry->size, expected["nbytes"].get<std::uint64_t>()) << what;
  EXPECT_EQ(sha256(file.bytes(*entry)), expected["sha256"].get<std::string>()) << what;
  if (!dtype_of(entry->dtype) || entry->shape.size() > 8) {
    EXPECT_REGARD_ERROR(file.tensor(name), ErrorKind::bad_file, "tensor");
    return;
  }
  const Tensor tensor = file.tensor(name);
  const auto count = tensor.elements();
  if (count == 0) return;
  const Tensor flat = tensor.reshape(Shape{count}).to(DType::f64);
  const Json& first = expected["first"];
  ASSERT_EQ(first.size(), static_cast<std::size_t>(std::min<std::int64_t>(count, 8))) << what;
  for (std::size_t i = 0; i < first.size(); ++i)
    expect_same(flat.f64()[i], expected_number(first[i]), what + " " + name + " " + std::to_string(i));
}

TEST(Safetensors, ReadsWhatTheReferenceReadsAndRefusesTheRest) {
  std::size_t accepted = 0, refused = 0;
  for (const Json& one : manifest()["cases"]) {
    const std::string name = one["file"];
    const auto path = golden("safetensors/" + name);
    if (one["verdict"] != "accept") {
      EXPECT_THROW(SafetensorsFile::open(path), Error) << name << ": " << one["reason"];
      ++refused;
      continue;
    }
    ++accepted;
    try {
      const auto file = SafetensorsFile::open(path);
      EXPECT_EQ(file->header().metadata ? Json(*file->header().metadata) : Json(nullptr), one["metadata"])
          << name;
      EXPECT_EQ(file->entries().size(), one["tensors"].size()) << name;
      for (const Json& tensor : one["tensors"]) expect_values(*file, tensor, name);
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }
  EXPECT_EQ(accepted, 58u);
  EXPECT_EQ(refused, 166u);
}

TEST(Safetensors, EveryErrorIsBadFileAndNamesTheFile) {
  for (const Json& one : manifest()["cases"]) {
    if (one["verdict"] == "accept") continue;
    const auto path = golden("safetensors/" + one["file"].get<std::string>());
    EXPECT_REGARD_ERROR(SafetensorsFile::open(path), ErrorKind::bad_file, path.filename().string());
  }
}

TEST(Safetensors, ConvertsEveryEightBitFloat) {
  const Json values = read_json(golden("safetensors/f8_values.json"));
  for (const auto& [dtype, file_name] :
       {std::pair("F8_E4M3", "f8_e4m3_all256"), {"F8_E5M2", "f8_e5m2_all256"}}) {
    const auto file =
        SafetensorsFile::open(golden(std::string("safetensors/good/") + file_name + ".safetensors"));
    const Tensor converted = file->tensor("x").to(DType::f32);
    const auto codes = file->bytes(file->entries()[0]);
    ASSERT_EQ(codes.size(), 256u);
    for (std::size_t i = 0; i < 256; ++i)
      expect_same(static_cast<double>(converted.f32()[i]),
                  expected_number(values[dtype][std::to_integer<std::size_t>(codes[i])]),
                  std::string(dtype) + " " + std::to_string(i));
  }
}

TEST(Safetensors, ConvertsHalfPrecisionBothWays) {
  const Json values = read_json(golden("safetensors/f16_bf16_values.json"));
  const auto& bits = values["bits"];
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const auto code = bits[i].get<std::uint16_t>();
    const auto f16 = std::bit_cast<float>(values["F16_as_f32_bits"][i].get<std::uint32_t>());
    const auto bf16 = std::bit_cast<float>(values["BF16_as_f32_bits"][i].get<std::uint32_t>());
    expect_same(static_cast<double>(from_f16(code)), static_cast<double>(f16), "f16 " + std::to_string(code));
    expect_same(static_cast<double>(from_bf16(code)), static_cast<double>(bf16),
                "bf16 " + std::to_string(code));
    EXPECT_TRUE(std::isnan(f16) || to_f16(f16) == code) << code;
    EXPECT_TRUE(std::isnan(bf16) || to_bf16(bf16) == code) << code;
  }
}

// py_saved was written by the reference library; writing the same tensors gives the same bytes.
TEST(Safetensors, WritesTheReferencesBytes) {
  const auto path = golden("safetensors/good/py_saved.safetensors");
  const auto file = SafetensorsFile::open(path);
  std::vector<NamedTensor> tensors;
  for (const TensorEntry& entry : file->entries()) tensors.push_back({entry.name, file->tensor(entry.name)});
  std::reverse(tensors.begin(), tensors.end());
  const TemporaryFolder folder;
  const FileDigest digest = write_safetensors(
      folder / "x", tensors, file->header().metadata.value_or(std::map<std::string, std::string>{}));
  EXPECT_EQ(read_file(folder / "x"), read_file(path));
  EXPECT_EQ(digest.size, std::filesystem::file_size(path));
  EXPECT_EQ(digest.xxh3, xxh3(read_file(path)));
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  const TemporaryFolder folder;
  const Tensor wide = Tensor::of({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<NamedTensor> tensors = {{"strided", wide.slice_columns(1, 3)},
                                            {"é \"\n", Tensor::of({1.5f})},
                                            {"half", wide.to(DType::bf16)},
                                            {"none", Tensor::zeros(Shape{0, 3})}};
  write_safetensors(folder / "x", tensors, {{"format", "pt"}});
  const auto file = SafetensorsFile::open(folder / "x");
  EXPECT_EQ(file->header().metadata->at("format"), "pt");
  EXPECT_EQ(file->entries().size(), 4u);
  EXPECT_EQ(file->tensor("strided").at({1, 1}), 7.0);
  EXPECT_EQ(file->tensor("é \"\n").at({0}), 1.5);
  EXPECT_EQ(file->tensor("half").at({1, 3}), 8.0);
  EXPECT_EQ(file->tensor("none").shape(), (Shape{0, 3}));
  EXPECT_EQ(file->find("other"), nullptr);
  EXPECT_REGARD_ERROR(file->tensor("other"), ErrorKind::bad_file, "\"other\" is missing");
  const std::vector<NamedTensor> twice = {{"a", wide}, {"a", wide.to(DType::f64)}};
  EXPECT_REGARD_ERROR(write_safetensors(folder / "y", twice), ErrorKind::usage, "\"a\"");
  EXPECT_FALSE(std::filesystem::exists(folder / "y"));
}

// A tensor view keeps the file mapped after the file handle is destroyed.
TEST(Safetensors, ViewsKeepTheMap) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"a", Tensor::of({1, 2, 3})}};
  write_safetensors(folder / "x", tensors);
  const Tensor view = SafetensorsFile::open(folder / "x")->tensor("a");
  std::filesystem::remove(folder / "x");
  EXPECT_EQ(view.at({2}), 3.0);
}

}  // namespace
}  // namespace regard::formats

// TensorBoard event files: the record format and the scalars, read back with a separate reader. `make
// check-peers` opens them with TensorBoard.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "text/protobuf.h"
#include "train/event_file.h"

namespace regard::train {
namespace {

struct Scalar {
  std::int64_t step = 0;
  std::string tag;
  float value = 0;
  bool operator==(const Scalar&) const = default;
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void expect_checksum(std::string_view data, std::string_view stored) {
  const std::uint32_t masked = static_cast<std::uint32_t>(little_endian(stored)) - 0xa282ead8u;
  EXPECT_EQ(std::rotl(masked, 15), crc32c(data));
}

void add_summary(std::string_view summary, std::int64_t step, std::vector<Scalar>& out) {
  text::ProtobufReader values(summary, "events");
  text::ProtobufField value, part;
  while (values.next(value)) {
    Scalar scalar{.step = step, .tag = {}};
    text::ProtobufReader parts(value.bytes, "events");
    while (parts.next(part)) {
      if (part.number == 1) scalar.tag = std::string(part.bytes);
      if (part.number == 2) scalar.value = part.as_float();
    }
    out.push_back(scalar);
  }
}

// Return the scalars of a file. Step and status of its SessionLog are appended to `sessions`.
std::vector<Scalar> read_events(const std::string& file, std::vector<std::int64_t>* sessions = nullptr) {
  std::vector<Scalar> out;
  std::string_view rest = file;
  while (!rest.empty()) {
    const auto size = static_cast<std::size_t>(little_endian(rest.substr(0, 8)));
    expect_checksum(rest.substr(0, 8), rest.substr(8, 4));
    const std::string_view event = rest.substr(12, size);
    expect_checksum(event, rest.substr(12 + size, 4));
    rest.remove_prefix(16 + size);
    std::int64_t step = 0;
    text::ProtobufReader fields(event, "events");
    text::ProtobufField field;
    while (fields.next(field)) {
      if (field.number == 2) step = static_cast<std::int64_t>(field.value);
      if (field.number == 5) add_summary(field.bytes, step, out);
      if (field.number == 7 && sessions != nullptr) sessions->push_back(step);
    }
  }
  return out;
}

std::string only_file(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path());
  EXPECT_EQ(found.size(), 1u);
  EXPECT_NE(found.at(0).filename().string().find("tfevents"), std::string::npos);
  return regard::testing::file_content(found.at(0));
}

TEST(EventFile, ChecksumsAreThoseOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(EventFile, HoldsTheNumbersOfTrainingAndValidationLines) {
  const regard::testing::TemporaryFolder folder;
  {
    EventFile events(folder.path() / "tensorboard", 6);
    events.write(Json::parse(R"({"step":0,"run":{"threads":3}})"));
    events.write(Json::parse(R"({"step":300,"loss":2.5,"learning_rate":0.001,"time":"t","none":null})"));
    events.write(Json::parse(R"({"step":301,"validation":{"loss":1.25,"signature":"s"},"best":true})"));
    events.write(Json::parse(R"({"step":301,"validation":{"loss":1.0},"averaged":true})"));
  }
  std::vector<std::int64_t> sessions;
  const std::vector<Scalar> expected = {{300, "train/loss", 2.5f},
                                        {300, "train/learning_rate", 0.001f},
                                        {301, "validation/loss", 1.25f},
                                        {301, "average/loss", 1.0f}};
  EXPECT_EQ(read_events(only_file(folder.path() / "tensorboard"), &sessions), expected);
  EXPECT_EQ(sessions, std::vector<std::int64_t>{6});
}

TEST(EventFile, TwoFilesOfOneSecondHaveDifferentNamesInOrder) {
  const regard::testing::TemporaryFolder folder;
  std::vector<std::string> names;
  const EventFile first(folder.path(), 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  const EventFile second(folder.path(), 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().filename().string() != names[0]) names.push_back(entry.path().filename().string());
  ASSERT_EQ(names.size(), 2u);
  EXPECT_LT(names[0], names[1]);
}

// Numbers have seven bits per byte, so 128 is the first of two bytes.
TEST(EventFile, HoldsNumbersOfOneAndTwoBytes) {
  const regard::testing::TemporaryFolder folder;
  std::vector<Scalar> expected;
  {
    EventFile events(folder.path() / "tensorboard", 1);
    for (const std::int64_t step : {1, 127, 128, 129, 16'383, 16'384}) {
      const std::string name(static_cast<std::size_t>(std::min<std::int64_t>(step, 129)), 'x');
      events.write({{"step", step}, {name, 1.0}});
      expected.push_back({step, "train/" + name, 1.0f});
    }
  }
  EXPECT_EQ(read_events(only_file(folder.path() / "tensorboard")), expected);
}

// TensorBoard reads the files of a folder in the order of their names, even if the clock was set back.
TEST(EventFile, ANewFileFollowsFilesOfLaterTimes) {
  const regard::testing::TemporaryFolder folder;
  for (const char* name : {"events.out.tfevents.4000000000.0000.regard", "events.out.tfevents.1.0000.x", "b"})
    regard::testing::write_file(folder.path(), name, "");
  const EventFile file(folder.path(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "events.out.tfevents.4000000000.0001.regard"));
}

}  // namespace
}  // namespace regard::train

// Sound files that are read with libsndfile: a tone of 440 Hz in each format, whole and truncated.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>

#include "base/file.h"
#include "data/sound.h"
#include "data/sound_parts.h"
#include "support/compress.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kRate = 16000;

// Return true if the error is that this build lacks libsndfile. A test is skipped only for this error.
bool lacks_library(const Error& error) {
  return std::string(error.what()).find("build regard with libsndfile") != std::string::npos;
}

class SoundFiles : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      found_ = data::read_sound(testing::golden("sound/files") / GetParam(), kRate, 10.0);
    } catch (const Error& error) {
      ASSERT_TRUE(lacks_library(error)) << error.what();
      GTEST_SKIP() << "built without libsndfile";
    }
  }
  // Return the number of frames of the tone. tone.wav (ADPCM) has eight blocks of 1012 frames.
  static std::int64_t frames() { return std::string(GetParam()) == "tone.wav" ? 8 * 1012 : 8000; }
  std::vector<float> found_;
};

TEST_P(SoundFiles, HoldTheTone) {
  ASSERT_EQ(std::ssize(found_), frames());
  double error = 0.0;
  for (std::int64_t i = 0; i < frames(); ++i) {
    const double expected =
        0.5 * std::sin(2.0 * std::numbers::pi * 440.0 * static_cast<double>(i) / static_cast<double>(kRate));
    error += std::abs(static_cast<double>(found_[static_cast<std::size_t>(i)]) - expected);
  }
  EXPECT_LT(error / static_cast<double>(frames()), 0.02);
}

TEST_P(SoundFiles, TruncatedOnesAreErrors) {
  const std::string whole = read_file(testing::golden("sound/files") / GetParam());
  testing::TemporaryFolder folder;
  for (const double part : {0.1, 0.4, 0.7}) {
    write_file_atomically(
        folder / GetParam(),
        whole.substr(0, static_cast<std::size_t>(part * static_cast<double>(whole.size()))));
    EXPECT_REGARD_ERROR(data::read_sound(folder / GetParam(), kRate, 10.0), ErrorKind::bad_file, GetParam());
  }
}

TEST_P(SoundFiles, AreReadCompressed) {
  const std::string packed = gzip(read_file(testing::golden("sound/files") / GetParam()));
  if (packed.empty()) GTEST_SKIP() << "built without zlib";
  testing::TemporaryFolder folder;
  write_file_atomically(folder / "sound.gz", packed);
  EXPECT_TRUE(data::looks_like_sound(folder / "sound.gz"));
  EXPECT_EQ(data::read_sound(folder / "sound.gz", kRate, 10.0), found_);
}

INSTANTIATE_TEST_SUITE_P(, SoundFiles,
                         ::testing::Values("tone.flac", "tone.ogg", "tone.opus", "tone.mp3", "tone.wav"),
                         [](const auto& about) {
                           return std::string(about.param).substr(std::string("tone.").size());
                         });

// An Ogg file that ends between two pages lacks the page that is marked as the last one.
TEST(OggFiles, WithoutTheirLastPageAreErrors) {
  const std::string whole = read_file(testing::golden("sound/files/tone.ogg"));
  testing::TemporaryFolder folder;
  write_file_atomically(folder / "cut.ogg", whole.substr(0, whole.rfind("OggS")));
  EXPECT_REGARD_ERROR(data::read_sound(folder / "cut.ogg", kRate, 10.0), ErrorKind::bad_file, "cut.ogg");
}

// The last page is marked as the last one and ends too early.
TEST(OggFiles, WithAShortLastPageAreErrors) {
  const std::string whole = read_file(testing::golden("sound/files/tone.ogg"));
  const std::size_t page = whole.rfind("OggS");
  testing::TemporaryFolder folder;
  for (const std::size_t size : {page + 20, page + 27, page + 28, whole.size() - 1}) {
    write_file_atomically(folder / "cut.ogg", whole.substr(0, size));
    EXPECT_REGARD_ERROR(data::read_sound(folder / "cut.ogg", kRate, 10.0), ErrorKind::bad_file, "cut.ogg");
  }
}

// Some programs write a long chunk, such as a picture, before the chunk "fmt ". The chunk of this test has
// 200,000 bytes, more than one read of the stream returns.
TEST(AdpcmFiles, MayHaveALongChunkBeforeTheFormat) {
  const std::string whole = read_file(testing::golden("sound/files/tone.wav"));
  std::vector<float> expected;
  try {
    expected = data::read_sound(testing::golden("sound/files/tone.wav"), kRate, 10.0);
  } catch (const Error& error) {
    ASSERT_TRUE(lacks_library(error)) << error.what();
    GTEST_SKIP() << "built without libsndfile";
  }
  const std::uint32_t size = 200000, riff = static_cast<std::uint32_t>(whole.size()) + size;
  const auto bytes = [](std::uint32_t number) {
    std::string text;
    for (int i = 0; i < 4; ++i) text += static_cast<char>(number >> (8 * i) & 0xFF);
    return text;
  };
  testing::TemporaryFolder folder;
  write_file_atomically(folder / "long.wav", "RIFF" + bytes(riff) + "WAVEJUNK" + bytes(size) +
                                                 std::string(size, '\0') + whole.substr(12));
  EXPECT_EQ(data::read_sound(folder / "long.wav", kRate, 10.0), expected);
}

// Return the bytes of a number, the most significant one first.
std::string big(std::uint32_t number, int count = 4) {
  std::string text;
  for (int i = count; i-- > 0;) text += static_cast<char>(number >> (8 * i) & 0xFF);
  return text;
}

// The following functions return the header of a sound file with one channel of 16-bit samples. `size` is the
// size of the samples in bytes that the header declares. The test writes 200 bytes of samples.
std::string aiff_header(std::uint32_t size) {
  return "FORM" + big(size + 46) + "AIFFCOMM" + big(18) + big(1, 2) + big(100) + big(16, 2) +
         std::string("\x40\x0c\xfa\0\0\0\0\0\0\0", 10) + "SSND" + big(size + 8) + big(0) + big(0);
}
std::string au_header(std::uint32_t size) {
  return ".snd" + big(24) + big(size) + big(3) + big(kRate) + big(1);
}
std::string wave64_header(std::uint32_t size) {
  const auto little = [](std::uint32_t number, int count) {
    const std::string text = big(number);
    return std::string(text.rbegin(), text.rbegin() + std::min(count, 4)) +
           std::string(static_cast<std::size_t>(std::max(count - 4, 0)), '\0');
  };
  const std::string id("\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a", 12);
  return std::string("riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0", 16) + little(size + 104, 8) +
         "wave" + id + "fmt " + id + little(40, 8) + little(1, 2) + little(1, 2) + little(kRate, 4) +
         little(2 * kRate, 4) + little(2, 2) + little(16, 2) + "data" + id + little(size + 24, 8);
}

// libsndfile reads a truncated file of these formats without an error. A very large size is valid, because a
// program that writes to a pipe does not know the size of the samples.
TEST(UncompressedFiles, WithoutTheirLastSamplesAreErrors) {
  testing::TemporaryFolder folder;
  const std::string samples(200, '\1');
  const auto frames = [&](const std::string& header) {
    write_file_atomically(folder / "sound", header + samples);
    return data::read_sound(folder / "sound", kRate, 10.0).size();
  };
  try {
    EXPECT_EQ(frames(au_header(200)), 100u);
  } catch (const Error& error) {
    ASSERT_TRUE(lacks_library(error)) << error.what();
    GTEST_SKIP() << "built without libsndfile";
  }
  EXPECT_EQ(frames(aiff_header(200)), 100u);
  EXPECT_EQ(frames(wave64_header(200)), 100u);
  EXPECT_EQ(frames(aiff_header(0x7F000000)), 100u);
  EXPECT_EQ(frames(aiff_header(0xFFFF0000)), 100u);
  EXPECT_EQ(frames(au_header(0xFFFFFFFF)), 100u);
  for (const std::string& header : {aiff_header(202), au_header(202), wave64_header(202)})
    EXPECT_REGARD_ERROR(frames(header), ErrorKind::bad_file, "the file is truncated");
}

// libsndfile refuses these files. A file that is too short for a header has no known end.
TEST(UncompressedFiles, WithoutAWholeHeaderHaveNoKnownEnd) {
  testing::TemporaryFolder folder;
  const auto ends_within = [&](const std::string& bytes) {
    write_file_atomically(folder / "sound", bytes);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen((folder / "sound").c_str(), "rb"),
                                                               std::fclose);
    return data::ends_within_samples(file.get());
  };
  for (const std::string& header : {aiff_header(200), au_header(200), wave64_header(200)}) {
    EXPECT_TRUE(ends_within(header));
    for (std::size_t bytes = 0; bytes < 16; ++bytes)
      EXPECT_FALSE(ends_within(header.substr(0, bytes))) << header.substr(0, 4) << " " << bytes;
  }
}

}  // namespace
}  // namespace regard::testing

// Reading plain and compressed input.
#include "base/input_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/line_reader.h"
#include "support/compress.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using namespace std::string_view_literals;

// Return some megabytes of text that does not compress well.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 2654435761u) + "\n";
  return text;
}

class Input : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  }
  testing::TemporaryFolder folder;
};

struct Packer {
  const char* name;
  std::string (*pack)(std::string_view);
};
class CompressedInput : public Input, public ::testing::WithParamInterface<Packer> {
 protected:
  void SetUp() override {
    if (pack("x").empty()) GTEST_SKIP() << "this build cannot read " << GetParam().name;
  }
  std::string pack(std::string_view bytes) { return GetParam().pack(bytes); }
};
INSTANTIATE_TEST_SUITE_P(Formats, CompressedInput,
                         ::testing::Values(Packer{"gzip", testing::gzip}, Packer{"zstd", testing::zstd}),
                         [](const auto& packer) { return packer.param.name; });

TEST_F(Input, ShortFilesThatBeginAsCompressedOnesAreText) {
  for (const std::string text : {"", "(", "P", "P\n", "\x1F", "PK\x03\x04", "\x28\xB5\x2F", "(b)\n"})
    EXPECT_EQ(read_decompressed(file("t", text)), text);
}

TEST_F(Input, MissingFilesAndFoldersAreIoErrors) {
  EXPECT_REGARD_ERROR(read_decompressed(folder / "none"), ErrorKind::io, "none");
  EXPECT_REGARD_ERROR(read_decompressed(folder.path()), ErrorKind::io, "Is a directory");
}

TEST_F(Input, LengthIsLimited) {
  EXPECT_EQ(read_decompressed(file("t", "12345"), 5), "12345");
  EXPECT_REGARD_ERROR(read_decompressed(file("t", "12345"), 4), ErrorKind::bad_file,
                      "t: the file is too long (expected at most 4 bytes after decompression)");
}

TEST_F(Input, OnlyRegularFilesCanBeReadAgain) {
  EXPECT_TRUE(can_be_read_again(file("t", "")));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path : {folder / "pipe", folder.path(), folder / "none"})
    EXPECT_FALSE(can_be_read_again(path)) << path;
}

TEST_P(CompressedInput, EqualsTheOriginal) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("a\0b\n", 4), long_text()})
    EXPECT_TRUE(read_decompressed(file("t", pack(text))) == text) << text.size();
}

TEST_P(CompressedInput, ConcatenatedPartsAreOneStream) {
  const std::string text = long_text();
  EXPECT_TRUE(read_decompressed(file("t", pack("a") + pack("") + pack(text) + pack("b"))) ==
              "a" + text + "b");
}

TEST_P(CompressedInput, EveryTruncationIsAnError) {
  const std::string packed = pack("one two three four five, one two three four five");
  for (std::size_t size = 4; size < packed.size(); ++size)
    EXPECT_REGARD_ERROR(read_decompressed(file("t", packed.substr(0, size))), ErrorKind::bad_file,
                        "is truncated");
}

TEST_P(CompressedInput, EveryCorruptByteIsAnErrorOrHarmless) {
  const std::string text = "one two three four five, one two three four five", packed = pack(text);
  for (std::size_t at = 0; at < packed.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string bad = packed;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      try {
        read_decompressed(file("t", bad), 1 << 20);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
      }
    }
}

TEST_P(CompressedInput, TrailingBytesAreAnError) {
  EXPECT_REGARD_ERROR(read_decompressed(file("t", pack("one") + "rubbish")), ErrorKind::bad_file, "corrupt");
}

// As in the program gzip, zero bytes may follow a member of a file.
TEST_F(Input, ZeroBytesAfterAGzipMemberAreIgnored) {
  const std::string packed = testing::gzip("one"), zeros(1 << 20, '\0');
  if (packed.empty()) GTEST_SKIP() << "this build cannot read gzip";
  EXPECT_EQ(read_decompressed(file("t", packed + zeros)), "one");
  EXPECT_EQ(read_decompressed(file("t", packed + zeros + packed)), "oneone");
  EXPECT_REGARD_ERROR(read_decompressed(file("t", packed + zeros + "rubbish")), ErrorKind::bad_file,
                      "corrupt");
}

TEST_P(CompressedInput, LinesAreReadWithoutKeepingTheExpandedData) {
  // A small compressed file with 64 MiB of lines is read to the end.
  std::string block;
  for (int i = 0; i < 1 << 16; ++i) block += std::string(255, 'x') + "\n";
  std::string packed;
  const std::string once = pack(block);
  for (int i = 0; i < 4; ++i) packed += once;
  LineReader reader(file("lines", packed));
  std::int64_t lines = 0;
  for (std::string line; reader.next(line);) lines += line.size() == 255 ? 1 : 0;
  EXPECT_EQ(lines, 4 << 16);
}

TEST_P(CompressedInput, AnEndlessLineIsRefused) {
  const std::string packed = pack(std::string(LineReader::kMaxLine + (1 << 20), 'x'));
  EXPECT_LT(packed.size(), 1u << 20);
  LineReader reader(file("bomb", packed));
  std::string line;
  EXPECT_REGARD_ERROR(reader.next(line), ErrorKind::bad_file, "the line is too long");
}

TEST_P(CompressedInput, AByteOrderMarkInsideIsRemoved) {
  LineReader reader(file("t", pack("\uFEFFone\r\ntwo")));
  std::string line;
  EXPECT_TRUE(reader.next(line) && line == "one" && reader.line_end() == "\r\n"sv);
  EXPECT_TRUE(reader.next(line) && line == "two" && reader.line_end() == ""sv);
  EXPECT_FALSE(reader.next(line));
}

}  // namespace
}  // namespace regard::testing

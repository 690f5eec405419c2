// PyTorch's older file format, written by hand: five pickles, then the storages. Also the numbers and
// containers of a pickle.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "formats/torch_file.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

using namespace std::string_literals;
using pickle::Object;
using pickle::Pickle;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255u);
  return text;
}

std::string text(const std::string& value) {
  return "X" + number(value.size(), 4) + value;
}

// A tensor of four f32 values in the storage with this key.
std::string tensor(const std::string& key) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text(key) +
         text("cpu") + "K\4NtQK\0(K\4t(K\1t\x89)tR"s;
}

struct OlderFile {
  std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"s;
  std::string protocol = "M\xe9\3"s, system = "}";
  std::string object = "}" + text("w") + tensor("0") + "s";
  std::string keys = "]" + text("0") + "a";
  std::string storages = number(4, 8) + floats(4);

  static std::string floats(int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
      bytes += number(std::bit_cast<std::uint32_t>(0.5f * static_cast<float>(i)), 4);
    return bytes;
  }
  std::string pickles() const {
    std::string all;
    for (const std::string& part : {magic, protocol, system, object, keys}) all += "\x80\2" + part + ".";
    return all;
  }
};

class OlderTorchFile : public ::testing::Test {
 protected:
  std::shared_ptr<const TorchFile> open(const OlderFile& file) {
    write_file_atomically(folder_ / "x.bin", file.pickles() + file.storages);
    return TorchFile::open(folder_ / "x.bin");
  }
  testing::TemporaryFolder folder_;
};

TEST_F(OlderTorchFile, ReadsItsTensors) {
  const auto file = open({});
  EXPECT_EQ(file->path(), folder_ / "x.bin");
  EXPECT_TRUE(file->metadata().empty());
  ASSERT_EQ(file->entries().size(), 1u);
  const TensorEntry& entry = file->entries()[0];
  EXPECT_EQ(entry.begin, OlderFile().pickles().size() + 8);
  EXPECT_EQ(entry.size, 16u);
  file->release(entry);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(file->tensor("w").at({i}), 0.5 * static_cast<double>(i));
  EXPECT_NO_THROW(open({.system = "}" + text("little_endian") + "\x88s"}));
  EXPECT_NO_THROW(open({.storages = number(5, 8) + OlderFile::floats(5)})) << "a storage may be longer";
}

TEST_F(OlderTorchFile, NamesWhatIsWrongBeforeTheStorages) {
  EXPECT_REGARD_ERROR(open({.magic = "K\1"}), ErrorKind::bad_file, "neither a ZIP archive nor");
  EXPECT_REGARD_ERROR(open({.magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x18"s}),
                      ErrorKind::bad_file, "neither a ZIP archive nor");
  EXPECT_REGARD_ERROR(
      open({.protocol = "M\xea\3"}), ErrorKind::bad_file,
      "unknown version of PyTorch's legacy format (expected version 1001, found version 1002)");
  EXPECT_REGARD_ERROR(open({.protocol = "N"}), ErrorKind::bad_file, "found a value that is not an integer");
  EXPECT_REGARD_ERROR(open({.system = "}" + text("little_endian") + "\x89s"}), ErrorKind::bad_file,
                      "unsupported byte order (expected little, found big)");
  EXPECT_REGARD_ERROR(open({.object = "]"}), ErrorKind::bad_file,
                      "the file does not contain a dictionary of tensors");
  EXPECT_REGARD_ERROR(open({.object = "}K\1" + tensor("0") + "s"}), ErrorKind::bad_file,
                      "not a named tensor (found a key that is not a string)");
  EXPECT_REGARD_ERROR(open({.object = "}" + text("w") + tensor("0") + "s" + text("w") + tensor("0") + "s"}),
                      ErrorKind::bad_file, "tensor \"w\" is duplicated");
}

TEST_F(OlderTorchFile, NamesTheStorageThatIsWrong) {
  const std::string three = OlderFile::floats(3), at = std::to_string(OlderFile().pickles().size()),
                    after = std::to_string(OlderFile().pickles().size() + 8);
  EXPECT_REGARD_ERROR(open({.storages = number(3, 8) + three}), ErrorKind::bad_file,
                      "the storage of tensor \"w\" is shorter than declared (expected 4 elements of 4 bytes, "
                      "found 12 bytes)");
  EXPECT_REGARD_ERROR(open({.storages = number(4, 8) + three}), ErrorKind::bad_file,
                      "x.bin (byte " + after +
                          "): storage \"0\" is truncated (expected 4 elements of 4 bytes, "
                          "found 12 bytes)");
  EXPECT_REGARD_ERROR(open({.storages = number(std::uint64_t{1} << 62, 8) + three}), ErrorKind::bad_file,
                      "is truncated (expected 4611686018427387904 elements of 4 bytes");
  EXPECT_REGARD_ERROR(
      open({.storages = number(4, 7)}), ErrorKind::bad_file,
      "x.bin (byte " + at + "): a storage in the file belongs to no tensor, or its size is missing");
  EXPECT_REGARD_ERROR(open({.keys = "]" + text("1") + "a"}), ErrorKind::bad_file, "belongs to no tensor");
  EXPECT_REGARD_ERROR(open({.keys = "]K\1a"}), ErrorKind::bad_file, "belongs to no tensor");
  EXPECT_REGARD_ERROR(open({.keys = "]"}), ErrorKind::bad_file,
                      "the storage of tensor \"w\" is missing (expected a storage with the key \"0\")");
}

// Return the object that these instructions leave on the stack.
Object object(const std::string& instructions) {
  return *Pickle(bytes_of("\x80\2" + instructions + "."), "x.bin").root();
}

TEST(Pickle, ReadsNumbersOfEverySize) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::pair<std::string, std::int64_t> integers[] = {{"K\xFF"s, 255},
                                                           {"K\0"s, 0},
                                                           {"M\xFE\xFF"s, 65534},
                                                           {"J\xFE\xFF\xFF\xFF"s, -2},
                                                           {"J\1\2\3\4"s, 0x04030201},
                                                           {"\x8A\0"s, 0},
                                                           {"\x8A\1\xFF"s, -1},
                                                           {"\x8A\2\0\x80"s, -32768},
                                                           {"\x8A\2\xFF\x7F"s, 32767},
                                                           {"\x8A\x08" + number(kMost, 8), kMost},
                                                           {"\x8A\x08" + number(~std::uint64_t{0}, 8), -1}};
  for (const auto& [code, value] : integers) {
    EXPECT_EQ(object(code).kind, Object::Kind::integer) << value;
    EXPECT_EQ(object(code).integer, value);
  }
  EXPECT_EQ(object("\x8A\x09" + number(5, 9)).kind, Object::Kind::large);
  EXPECT_EQ(object("\x8A\x09" + number(5, 9)).text, number(5, 9));
  EXPECT_EQ(object("\x88").kind, Object::Kind::boolean);
  EXPECT_EQ(object("\x88").integer, 1);
  EXPECT_EQ(object("\x89").integer, 0);
  EXPECT_EQ(object("N").kind, Object::Kind::none);
  const auto bits = std::bit_cast<std::uint64_t>(-2.5);
  EXPECT_EQ(object("G" + number(__builtin_bswap64(bits), 8)).kind, Object::Kind::real);
  EXPECT_EQ(object("G" + number(__builtin_bswap64(bits), 8)).real, -2.5);
  EXPECT_EQ(object("\x95" + number(1, 8) + "K\7").integer, 7) << "a frame";
}

TEST(Pickle, FillsContainersInOrder) {
  const auto read = [](const std::string& code) { return Pickle(bytes_of("\x80\2" + code + "."), "x.bin"); };
  const auto integers = [&](const std::string& code) {
    const Pickle pickle = read(code);
    std::string all;
    for (const pickle::Ref item : pickle.root()->items) all += std::to_string(item->integer) + " ";
    return all;
  };
  EXPECT_EQ(integers("K\1K\2K\3\x87"), "1 2 3 ");
  EXPECT_EQ(integers("(K\1K\2K\3K\4t"), "1 2 3 4 ");
  EXPECT_EQ(integers("]K\1a(K\2K\3e"), "1 2 3 ");
  EXPECT_EQ(integers("K\7q\5h\5\x86"), "7 7 ");
  EXPECT_EQ(integers("K\7r\5\1\0\0j\5\1\0\0\x86"s), "7 7 ");
  EXPECT_EQ(integers("K\7\x94h\0\x86"s), "7 7 ");
  const Pickle pickle = read("}K\1K\2s(K\3K\4K\5K\6u");
  const Object& dictionary = *pickle.root();
  ASSERT_EQ(dictionary.members.size(), 3u);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto& [key, value] = dictionary.members[static_cast<std::size_t>(i)];
    EXPECT_EQ(key->integer, 2 * i + 1);
    EXPECT_EQ(value->integer, 2 * i + 2);
  }
}

TEST(Pickle, CountsItsBytesFromTheFile) {
  EXPECT_EQ(Pickle(bytes_of("\x80\2N.rest"s), "x.bin").size(), 4u);
  EXPECT_REGARD_ERROR(Pickle(bytes_of("\x80\2NZ."s), "x.bin", 100), ErrorKind::bad_file,
                      "x.bin (byte 103): ");
  EXPECT_REGARD_ERROR(Pickle(bytes_of("\x80\2NZ."s), "x.bin", 100), ErrorKind::bad_file, "found code 90");
  EXPECT_REGARD_ERROR(Pickle(bytes_of("\x80\2K"s), "x.bin", 100), ErrorKind::bad_file,
                      "x.bin (byte 103): invalid or unsupported pickle data: unexpected end");
  for (const char protocol : {'\1', '\6'})
    EXPECT_REGARD_ERROR(Pickle(bytes_of("\x80"s + protocol + "N."), "x.bin"), ErrorKind::bad_file,
                        "unknown protocol (found " + std::to_string(protocol) + ")");
  for (const char protocol : {'\2', '\5'})
    EXPECT_NO_THROW(Pickle(bytes_of("\x80"s + protocol + "N."), "x.bin"));
}

}  // namespace
}  // namespace regard::formats

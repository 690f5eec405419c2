// pytorch_model.bin files written with Python's pickle and zipfile (tools/make_torch_fixtures.py), and
// handwritten pickles that must be rejected.
#include "formats/torch_file.h"

#include <gtest/gtest.h>

#include "formats/weights.h"
#include "formats/zip.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

using testing::golden;
using testing::TemporaryFolder;

std::filesystem::path fixture(const std::string& name) {
  return golden("torch/" + name);
}

void expect_the_model(const TorchFile& file) {
  EXPECT_EQ(file.entries().size(), 8u);
  const Tensor dense = file.tensor("dense"), transposed = file.tensor("transposed");
  ASSERT_EQ(dense.shape(), (Shape{3, 4}));
  ASSERT_EQ(transposed.shape(), (Shape{4, 3}));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(dense.at({i, j}), 0.5 * static_cast<double>(4 * i + j));
      EXPECT_EQ(transposed.at({j, i}), dense.at({i, j}));
    }
  EXPECT_EQ(file.tensor("part").at({0}), 4.0);
  EXPECT_EQ(file.tensor("half").dtype(), DType::f16);
  EXPECT_EQ(file.tensor("half").at({0, 1}), -2.0);
  EXPECT_EQ(file.tensor("brain").at({2}), 3.140625);
  EXPECT_EQ(file.tensor("scalar").to(DType::f64).f64()[0], 7.0);
  EXPECT_EQ(file.tensor("flags").at({1}), 0.0);
  EXPECT_EQ(file.tensor("none").shape(), (Shape{0, 5}));
  EXPECT_REGARD_ERROR(file.tensor("other"), ErrorKind::bad_file, "\"other\" is missing");
}

TEST(TorchFile, ReadsArchives) {
  expect_the_model(*TorchFile::open(fixture("archive.bin")));
}

TEST(TorchFile, ReadsTheOlderForm) {
  expect_the_model(*TorchFile::open(fixture("older.bin")));
}

TEST(TorchFile, ServesAsAFoldersWeights) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "pytorch_model.bin", read_file(fixture("archive.bin")));
  EXPECT_EQ(Weights::open(folder.path()).tensor("part").at({3}), 5.5);
}

TEST(TorchFile, RefusesWhatIsNoDictionaryOfTensors) {
  const struct {
    const char *file, *part;
  } kCases[] = {{"compressed.bin", "compressed"},
                {"big_endian.bin", "expected little, found big"},
                {"missing_storage.bin", "the storage of tensor"},
                {"evil.bin", "system\""},
                {"nested.bin", "\"epoch\""}};
  for (const auto& one : kCases)
    EXPECT_REGARD_ERROR(TorchFile::open(fixture(one.file)), ErrorKind::bad_file, one.part);
  EXPECT_FALSE(std::filesystem::exists("executed"));
}

// In the checkpoint {"model": {}} of the older format, the entry "model" is not a tensor. The message names
// this entry and not the storage "0", to which no tensor refers.
TEST(TorchFile, NamesAnEntryOfTheOlderFormThatIsNoTensor) {
  using namespace std::string_literals;
  const std::string text = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s + "\x80\2M\xe9\3."s +
                           "\x80\2}."s + "\x80\2}X\5\0\0\0model}s."s +
                           "\x80\2]X\1\0\0\0"
                           "0a."s +
                           "\1\0\0\0\0\0\0\0\0\0\0\0"s;
  const TemporaryFolder folder;
  write_file_atomically(folder / "x.bin", text);
  EXPECT_REGARD_ERROR(TorchFile::open(folder / "x.bin"), ErrorKind::bad_file,
                      "not a named tensor (found \"model\")");
}

// A truncated file gives an error. A changed file gives an error or tensors that can be read.
TEST(TorchFile, SurvivesDamage) {
  const TemporaryFolder folder;
  for (const char* name : {"archive.bin", "older.bin"}) {
    const std::string content = read_file(fixture(name));
    const auto open_and_read = [&](const std::string& bytes) {
      write_file_atomically(folder / "x.bin", bytes);
      try {
        const auto file = TorchFile::open(folder / "x.bin");
        for (const TensorEntry& entry : file->entries()) file->tensor(entry.name).to(DType::f64);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
        return false;
      }
      return true;
    };
    EXPECT_TRUE(open_and_read(content));
    for (std::size_t size = 0; size < content.size(); size += 7)
      EXPECT_FALSE(open_and_read(content.substr(0, size)));
    for (std::size_t i = 0; i < content.size(); i += 3) {
      std::string changed = content;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      open_and_read(changed);
    }
  }
}

void read_pickle(std::string_view bytes) {
  pickle::Pickle(bytes_of(bytes), "x.bin");
}

using namespace std::string_view_literals;

TEST(Pickle, RefusesEveryOtherInstruction) {
  // The supported opcodes build numbers, strings, containers and tensors: those in `known`, and those in
  // `made` that are not ASCII. All other opcodes are tested.
  const std::string_view known = ".(qrhjNKMJGX}])taesucQRb"sv;
  for (int code = 0; code < 256; ++code) {
    const bool made = known.find(static_cast<char>(code)) != known.npos || code == 0x80 || code == 0x95 ||
                      code == 0x94 || code == 0x88 || code == 0x89 || code == 0x8A || code == 0x8C ||
                      code == 0x93 || (code >= 0x85 && code <= 0x87);
    if (made) continue;
    const std::string bytes = "\x80\x02" + std::string(1, static_cast<char>(code)) + "x\nx\n.";
    EXPECT_REGARD_ERROR(read_pickle(bytes), ErrorKind::bad_file, "an instruction that");
  }
}

TEST(Pickle, RefusesEveryOtherName) {
  for (const char* global : {"os\nsystem\n", "posix\nsystem\n", "builtins\neval\n", "__builtin__\nexec\n",
                             "torch.hub\nload\n", "torch\nload\n", "collections\nOrderedDict2\n", "\n\n"})
    EXPECT_REGARD_ERROR(read_pickle("\x80\x02"
                                    "c" +
                                    std::string(global) + ")R."),
                        ErrorKind::bad_file, "it refers to a class");
  EXPECT_REGARD_ERROR(read_pickle("\x80\x04\x8C\x02os\x8C\x06system\x93."sv), ErrorKind::bad_file,
                      "os system");
}

TEST(Pickle, RefusesBrokenStacks) {
  const std::string_view broken[] = {
      "\x80\x02."sv,            // empty stack
      "\x80\x02K\x01K\x02."sv,  // two objects on the stack
      "\x80\x02K"sv,            // truncated
      "\x80\x02t."sv,           // missing mark
      "\x80\x02(."sv,           // a mark left on the stack
      "\x80\x02\x85."sv,        // a tuple from an empty stack
      "\x80\x02K\x01(\x85."sv,  // a tuple that reaches below a mark
      "\x80\x02h\x05."sv,       // get of an unset memo index
      "\x80\x02q\x01."sv,       // put from an empty stack
      "\x80\x02}K\x01s."sv,     // a dictionary item without its key
      "\x80\x02}(K\x01u."sv,    // a key without a value
      "\x80\x02K\x01(K\x01"
      "e."sv,           // append to an object that is not a list
      "\x80\x02)Q."sv,  // an empty persistent id
      "\x80\x02"
      "ccollections\nOrderedDict\nK\x01R."sv,  // call arguments that are not a tuple
      "\x80\x02"
      "ctorch\nFloatStorage\n)R."sv,            // a class that cannot be called
      "\x80\x02]}b."sv,                         // state for a list
      "\x80\x09N."sv,                           // an unknown protocol version
      "\x80\x02X\x02\x00\x00\x00\xFF\xFEN."sv,  // not UTF-8
  };
  for (const std::string_view bytes : broken)
    EXPECT_REGARD_ERROR(read_pickle(bytes), ErrorKind::bad_file, "x.bin");
}

TEST(Pickle, LimitsItsMemory) {
  std::string many = "\x80\x02]("sv.data();
  many.append(600'000, 'N');
  EXPECT_REGARD_ERROR(read_pickle(many + "e."), ErrorKind::bad_file, "too many objects");
  const std::string stored = "\x80\x04N" + std::string((1 << 19) + 1, '\x94') + ".";
  EXPECT_REGARD_ERROR(read_pickle(stored), ErrorKind::bad_file, "it stores too many objects");
  EXPECT_REGARD_ERROR(read_pickle("\x80\x04" + std::string((1 << 19) + 1, '(')), ErrorKind::bad_file,
                      "too many marks");
  std::string used = "\x80\x04N\x94";
  for (int i = 0; i <= 1 << 22; ++i) used.append("h\0", 2);
  EXPECT_REGARD_ERROR(read_pickle(used), ErrorKind::bad_file, "too often");
}

// Return a pickle that contains one tensor. Its storage has four elements and the key `key`.
std::string tensor_pickle(const std::string& offset, const std::string& shape, const std::string& stride,
                          const std::string& key = "0") {
  const std::string key_size{static_cast<char>(key.size() % 256), static_cast<char>(key.size() / 256), 0, 0};
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n((X\x07" +
         std::string(3, '\0') + "storagectorch\nFloatStorage\nX" + key_size + key + "X\x03" +
         std::string(3, '\0') + "cpuK\x04tQ" + offset + "(" + shape + "t(" + stride + "t\x89)tR.";
}

TEST(Pickle, TensorsLieInsideTheirStorage) {
  const auto small = [](int value) { return "K" + std::string(1, static_cast<char>(value)); };
  const std::string huge = "\x8A\x08" + std::string(7, '\0') + "\x40", minus = "J\xFF\xFF\xFF\xFF";
  EXPECT_NO_THROW(read_pickle(tensor_pickle(small(0), small(2) + small(2), small(2) + small(1))));
  EXPECT_NO_THROW(read_pickle(tensor_pickle(small(3), small(1), small(1))));
  const std::string wrong[] = {
      tensor_pickle(small(1), small(2) + small(2), small(2) + small(1)),  // past the end of the storage
      tensor_pickle(small(4), small(1), small(1)),
      tensor_pickle(minus, small(1), small(1)),
      tensor_pickle(small(0), minus, small(1)),
      tensor_pickle(small(0), small(2), minus),
      tensor_pickle(small(0), small(2), huge),                    // the index of the last element overflows
      tensor_pickle(small(0), huge + huge, small(0) + small(0)),  // the number of elements overflows
      tensor_pickle(small(0), small(100), small(0)),              // stride 0: one element repeated 100 times
      tensor_pickle(small(0), small(2), ""),                      // missing stride
      tensor_pickle("N", small(2), small(1)),
  };
  for (const std::string& bytes : wrong)
    EXPECT_REGARD_ERROR(read_pickle(bytes), ErrorKind::bad_file, "invalid or unsupported pickle data");
}

// Each tensor stores a copy of its shape and key. Many tensors of a pickle can refer to one shape or key, so
// the sizes of both are limited.
TEST(Pickle, LimitsThePartsOfATensor) {
  const auto ones = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += "K\x01";
    return all;
  };
  const std::string zero("K\0", 2);
  EXPECT_NO_THROW(read_pickle(tensor_pickle(zero, ones(64), ones(64), std::string(256, '1'))));
  EXPECT_REGARD_ERROR(read_pickle(tensor_pickle(zero, ones(65), ones(65))), ErrorKind::bad_file,
                      "too many dimensions");
  EXPECT_REGARD_ERROR(read_pickle(tensor_pickle(zero, ones(1), ones(1), std::string(257, '1'))),
                      ErrorKind::bad_file, "the key of a storage is too long");
}

}  // namespace
}  // namespace regard::formats

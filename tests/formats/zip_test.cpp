// ZIP archives that are built here, member by member: zip64 fields, and damage in each record.
#include "formats/zip.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "formats/torch_file.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255u);
  return text;
}

constexpr std::uint64_t k32 = 0xFFFFFFFF, k16 = 0xFFFF;

// One stored member. `size`, `stored` and `local` are the fields of the directory; by default the real ones.
struct Member {
  std::string name = {}, content = {}, local_extra = {}, extra = {};
  std::uint64_t flags = 0, method = 0;
  std::optional<std::uint64_t> size = {}, stored = {}, local = {};
};

class Archive {
 public:
  std::uint64_t add(const Member& member) {
    const std::uint64_t at = text.size(), size = member.content.size();
    text += "PK\3\4" + little(20, 2) + little(member.flags, 2) + little(member.method, 2) + little(0, 8) +
            little(size, 4) + little(size, 4) + little(member.name.size(), 2) +
            little(member.local_extra.size(), 2) + member.name + member.local_extra + member.content;
    directory += "PK\1\2" + little(20, 2) + little(20, 2) + little(member.flags, 2) +
                 little(member.method, 2) + little(0, 8) + little(member.stored.value_or(size), 4) +
                 little(member.size.value_or(size), 4) + little(member.name.size(), 2) +
                 little(member.extra.size(), 2) + little(3, 2) + little(0, 8) +
                 little(member.local.value_or(at), 4) + member.name + member.extra + "...";
    ++members;
    return at;
  }
  std::string end(std::uint64_t count, std::uint64_t size, std::uint64_t begin,
                  const std::string& comment) const {
    return "PK\5\6" + little(0, 4) + little(count, 2) + little(count, 2) + little(size, 4) +
           little(begin, 4) + little(comment.size(), 2) + comment;
  }
  std::string finished(const std::string& comment = "") const {
    return text + directory + end(members, directory.size(), text.size(), comment);
  }
  // Return the archive with a zip64 end record and its locator.
  std::string finished_wide(const std::string& mark = "PK\6\6", std::uint64_t shift = 0) const {
    const std::uint64_t record = text.size() + directory.size();
    return text + directory + mark + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
           little(members, 8) + little(members, 8) + little(directory.size(), 8) + little(text.size(), 8) +
           "PK\6\7" + little(0, 4) + little(record + shift, 8) + little(1, 4) + end(k16, k32, k32, "");
  }
  std::string text, directory;
  std::uint64_t members = 0;
};

std::map<std::string, ZipMember> read(const std::string& archive) {
  return read_zip(std::as_bytes(std::span(archive)), "x.zip");
}

// Return the content of each member, as "name=content;".
std::string contents(const std::string& archive) {
  std::string all;
  for (const auto& [name, place] : read(archive))
    all += name + "=" + archive.substr(place.begin, place.size) + ";";
  return all;
}

Archive two_members() {
  Archive archive;
  archive.add({.name = "b", .content = "second"});
  archive.add({.name = "folder/a",
               .content = "first",
               .local_extra = "12345",
               .extra = little(7, 2) + little(2, 2) + "xy"});
  return archive;
}

TEST(Zip, ReadsMembersBehindNamesAndExtraFields) {
  EXPECT_EQ(contents(two_members().finished()), "b=second;folder/a=first;");
  EXPECT_EQ(contents(Archive().finished()), "");
}

TEST(Zip, ReadsAnArchiveWithAComment) {
  EXPECT_EQ(contents(two_members().finished("made by hand")), "b=second;folder/a=first;");
  EXPECT_EQ(contents(two_members().finished(std::string(0xFFFF, 'c'))), "b=second;folder/a=first;");
  EXPECT_REGARD_ERROR(read(two_members().finished() + std::string(0x10000, 'c')), ErrorKind::bad_file,
                      "its end record is missing");
}

// A zip64 field contains only the numbers that are 0xFFFFFFFF in the directory, in this order: size, stored
// size, position.
TEST(Zip, ReadsZip64Fields) {
  const std::string other = little(9, 2) + little(3, 2) + "abc";
  for (int wide = 0; wide < 8; ++wide)
    for (const std::string& before : {std::string(), other}) {
      Archive archive;
      archive.add({.name = "a", .content = "0123456789"});
      Member member{.name = "b", .content = "the second"};
      std::string values;
      if ((wide & 1) != 0) member.size = k32, values += little(10, 8);
      if ((wide & 2) != 0) member.stored = k32, values += little(10, 8);
      if ((wide & 4) != 0) member.local = k32, values += little(archive.text.size(), 8);
      member.extra = before + little(1, 2) + little(values.size(), 2) + values + other;
      archive.add(member);
      EXPECT_EQ(contents(archive.finished()), "a=0123456789;b=the second;") << wide;
      EXPECT_EQ(contents(archive.finished_wide()), "a=0123456789;b=the second;") << wide;
    }
}

TEST(Zip, RefusesDamagedZip64Records) {
  const auto with_extra = [](const std::string& extra) {
    Archive archive;
    archive.add({.name = "a", .content = "0123456789", .extra = extra, .size = k32});
    return archive.finished();
  };
  EXPECT_REGARD_ERROR(read(with_extra(little(1, 2) + little(7, 2) + "1234567")), ErrorKind::bad_file,
                      "a zip64 field is truncated");
  EXPECT_REGARD_ERROR(read(with_extra(little(1, 2) + little(9, 2) + little(10, 8))), ErrorKind::bad_file,
                      "an extra field is truncated");
  EXPECT_REGARD_ERROR(read(with_extra(little(1, 2) + little(1, 2))), ErrorKind::bad_file,
                      "an extra field is truncated");
  EXPECT_REGARD_ERROR(read(with_extra("")), ErrorKind::bad_file, "sizes of a stored member differ");
  const Archive archive = two_members();
  EXPECT_REGARD_ERROR(read(archive.finished_wide("PK\6\5")), ErrorKind::bad_file,
                      "its zip64 end record is missing");
  EXPECT_REGARD_ERROR(read(archive.finished_wide("PK\6\6", 1)), ErrorKind::bad_file,
                      "its zip64 end record is missing");
  EXPECT_REGARD_ERROR(read(archive.finished_wide("PK\6\6", 1000)), ErrorKind::bad_file,
                      "the archive is truncated");
}

TEST(Zip, RefusesWhatItCannotRead) {
  const auto with = [](const Member& member) {
    Archive archive;
    archive.add(member);
    return archive.finished();
  };
  EXPECT_REGARD_ERROR(read(with({.name = "a", .flags = 1})), ErrorKind::bad_file,
                      "x.zip (byte 31): not a usable ZIP archive: a member is encrypted");
  EXPECT_REGARD_ERROR(read(with({.name = "a", .method = 8})), ErrorKind::bad_file,
                      "x.zip (byte 31): not a usable ZIP archive: a member is compressed");
  EXPECT_REGARD_ERROR(read(with({.name = "a", .content = "12", .stored = 1})), ErrorKind::bad_file,
                      "the compressed and uncompressed sizes of a stored member differ");
  EXPECT_REGARD_ERROR(read(with({.name = "a", .content = "12", .local = 1})), ErrorKind::bad_file,
                      "x.zip (byte 1): not a usable ZIP archive: a member is not at the position");
  EXPECT_REGARD_ERROR(read(with({.name = "a", .content = "12", .local = 1000})), ErrorKind::bad_file,
                      "x.zip (byte 1000): not a usable ZIP archive: the archive is truncated");
  EXPECT_REGARD_ERROR(read(with({.name = "a", .size = 200, .stored = 200})), ErrorKind::bad_file,
                      "the archive is truncated");
  Archive twice;
  twice.add({.name = "a"});
  twice.add({.name = "a"});
  EXPECT_REGARD_ERROR(read(twice.finished()), ErrorKind::bad_file, "duplicate member name");
}

TEST(Zip, RefusesADamagedDirectory) {
  const Archive archive = two_members();
  const std::uint64_t begin = archive.text.size(), size = archive.directory.size();
  const auto ended = [&](const std::string& end) { return archive.text + archive.directory + end; };
  EXPECT_EQ(contents(ended(archive.end(2, size, begin, ""))), "b=second;folder/a=first;");
  EXPECT_REGARD_ERROR(read(ended(archive.end(3, size, begin, ""))), ErrorKind::bad_file,
                      "its directory has fewer members than declared");
  EXPECT_REGARD_ERROR(read(ended(archive.end(2, size - 1, begin, ""))), ErrorKind::bad_file,
                      "its directory is truncated");
  EXPECT_REGARD_ERROR(read(ended(archive.end(2, size, begin + 1, ""))), ErrorKind::bad_file,
                      "its directory has fewer members than declared");
  EXPECT_REGARD_ERROR(read(ended(archive.end(2, size + 1000, begin, ""))), ErrorKind::bad_file,
                      "the archive is truncated");
  std::string disks = archive.end(2, size, begin, "");
  disks[4] = 1;
  EXPECT_REGARD_ERROR(read(ended(disks)), ErrorKind::bad_file, "it spans several disks");
  EXPECT_REGARD_ERROR(read("PK\3\4"), ErrorKind::bad_file, "too short");
  const std::string whole = archive.finished();
  for (std::size_t left = 0; left < whole.size(); ++left)
    EXPECT_THROW(read(whole.substr(0, left)), Error) << left;
}

TEST(Zip, IsKnownByItsFirstBytes) {
  const auto is_zip = [](const std::string& text) { return looks_like_zip(std::as_bytes(std::span(text))); };
  EXPECT_TRUE(is_zip("PK\3\4"));
  EXPECT_TRUE(is_zip(two_members().finished()));
  for (const char* text : {"", "PK\3", "PK\3\5", "PK\5\6", "xPK\3\4"}) EXPECT_FALSE(is_zip(text)) << text;
}

TEST(TorchArchive, HasOneDataFile) {
  const testing::TemporaryFolder folder;
  const auto open = [&](std::initializer_list<const char*> names) {
    Archive archive;
    for (const char* name : names) archive.add({.name = name, .content = "\x80\2}."});
    write_file_atomically(folder / "x.bin", archive.finished());
    return TorchFile::open(folder / "x.bin")->entries().size();
  };
  EXPECT_EQ(open({"archive/data.pkl", "data.pkl", "archive/more/data.pkl", "archive/data"}), 0u);
  EXPECT_REGARD_ERROR(open({"data.pkl", "a/b/data.pkl"}), ErrorKind::bad_file,
                      "the ZIP archive has no data.pkl");
  EXPECT_REGARD_ERROR(open({"a/data.pkl", "b/data.pkl"}), ErrorKind::bad_file,
                      "the archive contains more than one data.pkl");
}

}  // namespace
}  // namespace regard::formats

// Read labelled images from IDX files, folders and tables of pixels; damaged files are refused.
#include "data/labelled_images.h"

#include <gtest/gtest.h>

#include "data/picture_rows.h"
#include "support/compress.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

using namespace std::string_literals;

const std::string kImages = "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02\x01\x02\x03\x04"s;
const std::string kLabels = "\0\0\x08\x01\0\0\0\x02\x07\x00"s;

class LabelledImage : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  }
  testing::TemporaryFolder folder;
};

TEST_F(LabelledImage, IdxFilesComeInPairs) {
  const LabelledImages set = read_idx_images(file("images", kImages), file("labels", kLabels));
  ASSERT_EQ(set.images.size(), 2u);
  EXPECT_EQ(set.images[1].at(0, 1)[2], 4);
  EXPECT_EQ(set.labels, (std::vector<std::string>{"7", "0"}));
  if (testing::gzip("x").empty()) return;
  EXPECT_EQ(
      read_idx_images(file("i.gz", testing::gzip(kImages)), file("l.gz", testing::gzip(kLabels))).labels,
      set.labels);
  EXPECT_TRUE(looks_like_image(folder / "i.gz"));
}

TEST_F(LabelledImage, DamagedIdxFilesAreRefused) {
  const std::string images = file("images", kImages);
  EXPECT_REGARD_ERROR(read_idx_images(images, file("l", kLabels.substr(0, 9))), ErrorKind::bad_file,
                      "l: the length of the IDX file does not match");
  EXPECT_REGARD_ERROR(read_idx_images(images, images), ErrorKind::bad_file, "not an IDX file of labels");
  EXPECT_REGARD_ERROR(read_idx_images(images, file("l", "\0\0\x08\x01\0\0\0\x01\x07"s)), ErrorKind::bad_file,
                      "found 1 label");
}

// The folder of a label may be a symbolic link. Links that form a cycle do not repeat images.
TEST_F(LabelledImage, LinksToFoldersAreFollowed) {
  const std::string pixel = "P2 1 1 255 7";
  file("set/cat/a.pgm", pixel), file("other/b.pgm", pixel);
  std::filesystem::create_directory_symlink(folder / "other", folder / "set/dog");
  std::filesystem::create_directory_symlink("..", folder / "set/cat/loop");
  std::filesystem::create_directory_symlink(folder / "set/cat", folder / "other/cat");
  std::filesystem::create_directory_symlink(folder / "other", folder / "set/cat/other");
  std::filesystem::create_symlink("self", folder / "set/cat/self");
  const ImageFolder set = list_image_folder(folder / "set");
  EXPECT_EQ(set.labels, (std::vector<std::string>{"cat", "dog"}));
  std::vector<std::string> files;
  for (const ImageFile& one : set.files)
    files.push_back(one.path.lexically_relative(folder / "set").string());
  EXPECT_EQ(files, (std::vector<std::string>{"cat/a.pgm", "cat/other/b.pgm", "dog/b.pgm", "dog/cat/a.pgm"}));
}

TEST_F(LabelledImage, FoldersNameTheLabels) {
  const std::string pixel = "P2 1 1 255 7";
  file("set/dog/b.pgm", pixel), file("set/dog/a.pgm", pixel), file("set/cat/old/c.pgm", pixel);
  file("set/cat/notes.txt", "no image"), file("set/top.pgm", pixel), file("set/.hidden/x.pgm", pixel);
  const ImageFolder set = list_image_folder(folder / "set");
  EXPECT_EQ(set.labels, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(set.files.size(), 3u);
  EXPECT_EQ(set.files[0].label, "cat");
  EXPECT_EQ(set.files[1].path.filename(), "a.pgm");
  EXPECT_EQ(set.report.total_skipped(), 2);
  file("bad/\xff/a.pgm", pixel);
  EXPECT_REGARD_ERROR(list_image_folder(folder / "bad"), ErrorKind::bad_file, "is not UTF-8");
  EXPECT_REGARD_ERROR(list_image_folder(folder / "none"), ErrorKind::io, "none");
  std::filesystem::create_directory(folder / "empty");
  EXPECT_REGARD_ERROR(list_image_folder(folder / "empty"), ErrorKind::bad_file, "no labelled image");
}

TEST_F(LabelledImage, TablesOfPixels) {
  const std::string path = file("t.csv", "0,16,8,4,one\n16,0,0,0,two\n");
  const LabelledImages set = read_pixel_table({.file = path, .highest = 16});
  ASSERT_EQ(set.images.size(), 2u);
  EXPECT_EQ(set.images[0].height, 2);
  EXPECT_EQ(set.images[0].at(0, 1)[0], 255);
  EXPECT_EQ(set.images[0].at(1, 0)[1], 128);
  EXPECT_EQ(set.labels[1], "two");
  EXPECT_EQ(read_pixel_table({.file = path, .height = 1, .width = 4, .highest = 16}).images[0].width, 4);
  EXPECT_REGARD_ERROR(read_pixel_table({.file = path, .highest = 15}), ErrorKind::bad_file,
                      "t.csv:1: column 2: the pixel is out of range (expected 0 to 15, found 16)");
  EXPECT_REGARD_ERROR(read_pixel_table({.file = path, .height = 3, .width = 1}), ErrorKind::bad_file,
                      "does not fit the size");
  EXPECT_REGARD_ERROR(read_pixel_table({.file = path, .label_column = 1}), ErrorKind::bad_file,
                      "t.csv:1: column 5: wrong value (expected an integer, found the string \"one\")");
  EXPECT_EQ(read_pixel_table({.file = path, .highest = 15, .malformed = Faulty::skip}).report.total_skipped(),
            2);
}

TEST_F(LabelledImage, DescriptionsOfTablesOfPixelsHaveLimits) {
  const std::string path = file("t.csv", "65535,0,257,128,9\n");
  const LabelledImages set = read_pixel_table({.file = path, .highest = 65535});
  EXPECT_EQ(set.images.at(0).pixels, (std::vector<std::uint8_t>{255, 255, 255, 0, 0, 0, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(read_pixel_table({.file = path, .label_column = 2, .highest = 65535}).labels,
            (std::vector<std::string>{"0"}));
  EXPECT_REGARD_ERROR(read_pixel_table({.file = path, .label_column = 6, .highest = 65535}),
                      ErrorKind::bad_file, "the row has no column for the label (found 5 columns)");
  EXPECT_EQ(read_pixel_table({.file = file("one.csv", "1,one\n"), .highest = 1}).images.at(0).height, 1);
  EXPECT_REGARD_ERROR(read_pixel_table({.file = file("none.csv", "one\n")}), ErrorKind::bad_file,
                      "the row has no pixels");
  EXPECT_REGARD_ERROR(read_pixel_table({.file = path, .height = 2, .highest = 65535}), ErrorKind::usage,
                      "invalid description of a table of pixels (expected maximum 1 to 65535, height and "
                      "width both above 0 or both 0, label column at least 0, found maximum 65535, height 2, "
                      "width 0, label column 0)");
  for (const PixelTable& wrong :
       {PixelTable{.file = path, .highest = 0}, PixelTable{.file = path, .highest = 65536},
        PixelTable{.file = path, .height = -2, .width = -2}, PixelTable{.file = path, .width = 2},
        PixelTable{.file = path, .label_column = -1}})
    EXPECT_REGARD_ERROR(read_pixel_table(wrong), ErrorKind::usage, "invalid description");
}

TEST_F(LabelledImage, FilesAreImagesAndLabelsInTurnOrFolders) {
  TableOptions table{.files = {file("images", kImages), file("labels", kLabels), file("more", kImages)}};
  EXPECT_REGARD_ERROR(
      read_picture_rows(table), ErrorKind::usage,
      "each file of images requires a file of labels (expected a folder, pairs of IDX files "
      "(images, labels), or a .tsv, .csv or .jsonl table of paths and labels, found 3 files)");
  table.files.push_back(table.files[1]);
  const PictureRows rows = read_picture_rows(table);
  ASSERT_EQ(rows.rows.size(), 4u);
  EXPECT_EQ(rows.rows[1].source, 0u);
  EXPECT_EQ(rows.rows[2].source, 1u);
  EXPECT_EQ(rows.rows[3].place.line, 2);
  EXPECT_EQ(rows.rows[3].name(), "image 2 of more");
  EXPECT_EQ(rows.rows[3].text, "0");
  EXPECT_EQ(rows.rows[3].read().at(0, 1)[0], 4);
  EXPECT_EQ(rows.report.records, 4);
  table.files = {folder.path().string(), table.files[0]};
  EXPECT_REGARD_ERROR(read_picture_rows(table), ErrorKind::usage,
                      "folders of images and files of images cannot be mixed (expected only folders, or only "
                      "files, found " +
                          table.files[1] + ")");
  std::filesystem::create_directory(folder / "cat");
  file("cat/a.pgm", "P2 1 1 255 7");
  table.files = {folder.path().string(), folder.path().string()};
  const PictureRows folders = read_picture_rows(table);
  ASSERT_EQ(folders.rows.size(), 2u);
  EXPECT_EQ(folders.rows[1].source, 1u);
  EXPECT_EQ(folders.rows[1].text, "cat");
  EXPECT_EQ(folders.rows[1].name(), "cat/a.pgm");
  EXPECT_EQ(folders.report.records, 2);
}

// All columns are read in order, and the names in the header are not searched. Therefore, names may repeat,
// and a wide table is read in linear time.
TEST_F(LabelledImage, TheColumnsOfATableOfPixelsMayHaveEqualNames) {
  std::string names, values;
  for (int i = 0; i < 10000; ++i) names += "pixel,", values += "7,";
  const std::string path = file("t.csv", names + "label\n" + values + "cat\n");
  const LabelledImages set = read_pixel_table({.file = path, .header = true});
  ASSERT_EQ(set.images.size(), 1u);
  EXPECT_EQ(set.images[0].width, 100);
  EXPECT_EQ(set.labels[0], "cat");
}

TEST_F(LabelledImage, TablesOfPixelsHaveTheOptionsOfTables) {
  TableOptions table{.files = {file("t.csv", "1;2;3;4;seven\n\xff;2;3;4;eight\n")},
                     .format = TableFormat::csv,
                     .delimiter = ';',
                     .bad_utf8 = Faulty::skip};
  const PictureRows set = read_picture_rows(table, 16);
  ASSERT_EQ(set.rows.size(), 1u);
  EXPECT_EQ(set.rows[0].text, "seven");
  EXPECT_EQ(set.report.count(SkipReason::bad_utf8), 1);
}

TEST_F(LabelledImage, RowsWithoutAPathAreSkipped) {
  file("a.pgm", "P2 1 1 255 7");
  TableOptions table{.files = {file("t.jsonl",
                                    "{\"image\": null, \"text\": \"dog\"}\n"
                                    "{\"image\": \"a.pgm\", \"text\": \"cat\"}\n")},
                     .format = TableFormat::jsonl,
                     .columns = {"image", "text"},
                     .malformed = Faulty::skip};
  const PictureRows set = read_picture_rows(table);
  ASSERT_EQ(set.rows.size(), 1u);
  EXPECT_EQ(set.rows[0].text, "cat");
  EXPECT_EQ(set.report.records, 1);
  EXPECT_EQ(set.report.count(SkipReason::malformed), 1);
}

// Column 0 is an error. PixelTable::label_column differs: there, 0 selects the last column.
TEST_F(LabelledImage, TheLabelColumnOfPixelsIsANumberFrom1) {
  TableOptions table{.files = {file("t.csv", "7,1,2,3,4\n")}, .format = TableFormat::csv, .columns = {"1"}};
  EXPECT_EQ(read_picture_rows(table, 16).rows.at(0).text, "7");
  for (const char* wrong : {"0", "00", "label", "9999999999"}) {
    table.columns = {wrong};
    EXPECT_REGARD_ERROR(read_picture_rows(table, 16), ErrorKind::usage, "the number of the label column");
  }
}

}  // namespace
}  // namespace regard::data

// Commands that write folders: convert, quantize, demo --export.
#include <gtest/gtest.h>

#include <future>
#include <map>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using testing::file_content;
using testing::golden;
using testing::ProgramResult;
using testing::run_program;
using testing::TemporaryFolder;

std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& item : fs::directory_iterator(folder))
    files[item.path().filename().string()] = file_content(item.path());
  return files;
}

// The written folders equal the golden folders, which transformers can open (tests/data/convert/make.py).
TEST(ConvertCommand, WritesARunFolderForTransformers) {
  const TemporaryFolder folder;
  for (const std::string name : {"gpt2", "llama", "marian-two"}) {
    const std::string run = (golden("convert") / name / "run").string();
    const ProgramResult result = run_program({"convert", run, name}, folder.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "wrote " + name + "\n");
    EXPECT_TRUE(files_in(folder / name) == files_in(golden("convert") / name / "converted")) << name;
  }
}

TEST(ConvertCommand, DoesNotOverwriteAFolder) {
  const TemporaryFolder folder;
  const std::string run = golden("convert/gpt2/run").string();
  testing::write_file(folder / "out", "mine.txt", "mine");
  const ProgramResult result = run_program({"convert", run, "out"}, folder.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("the output path exists already"), std::string::npos) << result.err;
  EXPECT_EQ(files_in(folder / "out").size(), 1u);
}

// If two processes write the same folder, one succeeds, the other one fails, and the folder is complete.
TEST(QuantizeCommand, OneOfTwoWritersOfAFolderWins) {
  const TemporaryFolder folder;
  const std::string model = golden("hf-more/st-mean").string();
  ASSERT_EQ(run_program({"quantize", model, "-o", "alone", "-q"}, folder.path()).exit_code, 0);
  for (int i = 0; i < 5; ++i) {
    const std::string name = "both" + std::to_string(i);
    const auto start = [&] {
      return std::async(std::launch::async, [&] {
        return run_program({"quantize", model, "-o", name, "-q"}, folder.path());
      });
    };
    auto first = start(), second = start();
    const ProgramResult a = first.get(), b = second.get();
    ASSERT_EQ(a.exit_code + b.exit_code, 2) << a.err << b.err;
    EXPECT_NE((a.err + b.err).find("the output path exists already"), std::string::npos) << a.err << b.err;
    EXPECT_TRUE(files_in(folder / name) == files_in(folder / "alone"));
  }
  // No temporary folders are left.
  for (const auto& item : fs::directory_iterator(folder.path()))
    EXPECT_TRUE(item.path().filename().string().starts_with("both") || item.path().filename() == "alone")
        << item.path();
}

TEST(Demo, ExportsItsPhrasebookAndARunFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_program({"demo", "--export", "book", "--steps", "2", "-q"}, folder.path()).exit_code, 0);
  const auto files = files_in(folder / "book");
  ASSERT_EQ(files.size(), 7u);
  for (const std::string part : {"train", "held-out"})
    for (const char* other : {".hi", ".align"})
      EXPECT_EQ(testing::lines_of(files.at(part + ".en")).size(),
                testing::lines_of(files.at(part + other)).size());
  EXPECT_GT(testing::lines_of(files.at("train.en")).size(), 4000u);
  const ProgramResult trained = run_program(
      {"train", "book/run.toml", "--set", "validation.max_sentences=2", "-t", "2"}, folder.path());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.err.find("ends at step 2: max_steps"), std::string::npos) << trained.err;
  EXPECT_TRUE(fs::exists(folder / "runs/phrasebook/latest/model.safetensors"));
  EXPECT_EQ(run_program({"demo", "--export", "book"}, folder.path()).exit_code, 2);
  EXPECT_EQ(run_program({"demo", "--export", ""}, folder.path()).exit_code, 2);
  EXPECT_EQ(run_program({"demo", "--export", "other", "--folder", "run"}, folder.path()).exit_code, 2);
  EXPECT_EQ(run_program({"demo", "--export", "other", "--retrain"}, folder.path()).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder / "runs/demo"));
}

}  // namespace
}  // namespace regard::testing

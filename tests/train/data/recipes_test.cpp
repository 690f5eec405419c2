// Dry runs of the recipes for translation models: each recipe can read its data. The results of the recipes
// are in docs/results.md.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

TEST(Recipes, OfTranslatorsBegin) {
  REGARD_NEEDS_SHARED();
  const TemporaryFolder folder;
  ASSERT_EQ(run_program({"demo", "--export", "phrasebook"}, folder.path()).exit_code, 0);
  std::string pairs;
  const auto english = lines_of(file_content(folder / "phrasebook/train.en"));
  const auto hindi = lines_of(file_content(folder / "phrasebook/train.hi"));
  ASSERT_EQ(english.size(), hindi.size());
  for (std::size_t i = 0; i < english.size(); ++i) pairs += english[i] + "\t" + hindi[i] + "\n";
  write_file(folder / "phrasebook", "train.tsv", pairs);
  ::setenv("PHRASEBOOK", (folder / "phrasebook").c_str(), 1);
  ::setenv("REGARD_SHARED", shared_folder().c_str(), 1);
  for (const char* name : {"multi30k-en-de.toml", "multi30k-en-fr.toml", "enhi-tatoeba.toml", "enhi.toml"}) {
    const auto recipe = (source_folder() / "recipes" / name).string();
    // Most of the time of a dry run is the first step of the training; a smaller batch shortens it.
    const ProgramResult result = run_program(
        {"train", recipe, "--dry-run", "--set", "training.batch_tokens=500", "-t", "1"}, folder.path());
    EXPECT_EQ(result.exit_code, 0) << name << "\n" << result.err;
    EXPECT_NE((result.out + result.err).find("parameters: "), std::string::npos) << name << "\n"
                                                                                 << result.out;
  }
}

}  // namespace
}  // namespace regard::testing

// regard/study.h: results equal those of `regard study`, and wrong arguments throw.
#include "regard/study.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

class Studies : public ::testing::Test {
 protected:
  static Model opened(const std::filesystem::path& folder) {
    testing::write_text_model(folder, "gpt", 64);
    return load(folder);
  }
  std::string by_program(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"study", "gpt", "--json", "-q"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const testing::ProgramResult result = testing::run_program(all, folder_.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  testing::TemporaryFolder folder_;
  Model model_ = opened(folder_ / "gpt");
};

TEST_F(Studies, EqualThoseOfTheProgram) {
  if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
  const Study kinds = study(model_, "kinds", {.text = "the fox is quick"});
  EXPECT_EQ(format(kinds, "json"), by_program({"--view", "kinds", "--text", "the fox is quick"}));
  EXPECT_FALSE(kinds.rows.empty());
  EXPECT_EQ(kinds.rows[0].size(), kinds.columns.size());
  EXPECT_EQ(format(study(model_, "tokens", {.text = "the fox", .answer = "o", .steps = 8}), "json"),
            by_program({"--view", "tokens", "--text", "the fox", "--answer", "o", "--steps", "8"}));
  EXPECT_EQ(format(study(model_, "induction", {.length = 5, .sequences = 2, .seed = 3}), "json"),
            by_program({"--view", "induction", "--length", "5", "--sequences", "2", "-s", "3"}));
  EXPECT_EQ(format(study(model_, "heads", {.text = "the fox", .off = {{Kind::decoder, 0, 1}}}), "json"),
            by_program({"--view", "heads", "--text", "the fox", "--off", "decoder.0.1"}));
}

// The view "tokens" opens the model again, with the same adapter.
TEST_F(Studies, OfTokensUseTheAdapter) {
  namespace fs = std::filesystem;
  fs::copy(testing::golden("lora/vit-all-linear"), folder_ / "vit", fs::copy_options::recursive);
  fs::copy(testing::golden("tasks/alpha.png"), folder_ / "image.png");
  auto settings =
      nlohmann::json::parse(testing::file_content(testing::golden("tasks/preprocessor_config.json")));
  settings["size"] = {{"height", 8}, {"width", 8}};
  testing::write_file(folder_ / "vit", "preprocessor_config.json", settings.dump());
  const auto rows = [&](const LoadOptions& options) {
    return study(load(folder_ / "vit", {}, options), "tokens",
                 {.text = (folder_ / "image.png").string(), .answer = "LABEL_0"})
        .rows;
  };
  const auto adapted = rows({.adapter = folder_ / "vit" / "adapter"});
  EXPECT_NE(adapted, rows({}));
  if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
  const auto printed = nlohmann::json::parse(
      testing::run_program({"study", "vit", "--view", "tokens", "--text", "image.png", "--answer", "LABEL_0",
                            "--adapter", "vit/adapter", "--json", "-q"},
                           folder_.path())
          .out);
  ASSERT_EQ(printed["rows"].size(), adapted.size());
  EXPECT_EQ(printed["rows"][1]["integrated"], std::get<double>(adapted[1].back()));
}

TEST_F(Studies, AreFormatted) {
  const Study heads = study(model_, "heads", {.text = "the fox"});
  EXPECT_EQ(heads.view, "heads");
  EXPECT_NE(format(heads, "text", 1).find(heads.columns[0]), std::string::npos);
  EXPECT_EQ(format(heads, "csv").find(heads.columns[0]), 0u);
  EXPECT_EQ(format(heads, "svg").find("<svg"), 0u);
  EXPECT_REGARD_ERROR(format(heads, "xml"), ErrorKind::usage, "xml");
  Study broken = heads;
  broken.rows[0].pop_back();
  EXPECT_REGARD_ERROR(format(broken, "csv"), ErrorKind::usage, "cells");
}

// The fraction is 0 until the first loss without a head is known.
TEST_F(Studies, OfHeadsReportTheCompletedFraction) {
  std::vector<double> shares;
  const auto progress = [&](double share) {
    if (share > 0.0) shares.push_back(share);
    return true;
  };
  const auto expect_one_for_each_row = [&](const Study& heads) {
    ASSERT_EQ(shares.size(), heads.rows.size());
    for (std::size_t i = 0; i < shares.size(); ++i)
      EXPECT_DOUBLE_EQ(shares[i], static_cast<double>(i + 1) / static_cast<double>(shares.size()));
  };
  expect_one_for_each_row(study(model_, "heads", {.text = "the fox", .progress = progress}));
  const std::size_t heads = shares.size();
  shares.clear();
  study(model_, "sets", {.text = "the fox", .most = 2, .progress = progress});
  ASSERT_EQ(shares.size(), 2 * heads - 1) << "the second step measures one head fewer";
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_DOUBLE_EQ(shares[heads - 1], 0.5);
  EXPECT_DOUBLE_EQ(shares.back(), 1.0);
  shares.clear();
  const std::string images = testing::golden("pictures").string() + "/";
  testing::write_file(folder_.path(), "pairs.tsv",
                      images + "deep.png\ta cat\n" + images + "lossy.webp\ta dog\n");
  const Model clip = load(testing::golden("hf-more/clip-words"));
  expect_one_for_each_row(study(clip, "heads", {.data = folder_ / "pairs.tsv", .progress = progress}));
  EXPECT_EQ(shares.size(), 4u);
  const auto until_half = [](double share) { return share < 0.5; };
  EXPECT_REGARD_ERROR(study(clip, "heads", {.data = folder_ / "pairs.tsv", .progress = until_half}),
                      ErrorKind::cancelled, "");
}

TEST_F(Studies, RefuseWrongArguments) {
  EXPECT_REGARD_ERROR(study(model_, "dreams"), ErrorKind::usage, "dreams");
  EXPECT_REGARD_ERROR(study(model_, "heads"), ErrorKind::usage, "the view heads needs data or text");
  EXPECT_REGARD_ERROR(study(model_, "heads", {.data = "/nowhere"}), ErrorKind::io, "/nowhere");
  EXPECT_REGARD_ERROR(study(model_, "heads", {.text = "\xff"}), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(study(model_, "heads", {.text = "the fox", .off = {{Kind::decoder, 9, 0}}}),
                      ErrorKind::usage, "decoder.9.0");
  EXPECT_REGARD_ERROR(study(model_, "heads", {.text = "the fox", .progress = [](double) { return false; }}),
                      ErrorKind::cancelled, "");
  Model moved = std::move(model_);
  EXPECT_REGARD_ERROR(study(model_, "kinds", {.text = "the fox"}), ErrorKind::usage, "moved");
}

}  // namespace
}  // namespace regard::testing

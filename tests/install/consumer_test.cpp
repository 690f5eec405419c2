// The installed library used by a program outside the source tree: headers, find_package, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "regard/model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

struct Ran {
  int status = -1;
  std::string output;
};

Ran shell(const std::string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> block{};
  while (const std::size_t read = std::fread(block.data(), 1, block.size(), pipe))
    ran.output.append(block.data(), read);
  ran.status = pclose(pipe);
  return ran;
}

TEST(Install, AProgramOutsideFindsAndUsesTheLibrary) {
  const TemporaryFolder folder;
  const std::string root = folder.path().string(), source = (source_folder() / "tests/consumer").string();
  const Ran installed =
      shell("cmake --install '" + build_folder().string() + "' --prefix '" + root + "/prefix'");
  ASSERT_EQ(installed.status, 0) << installed.output;
  const Ran configured =
      shell("cmake -G Ninja -S '" + source + "' -B '" + root + "/build' -DCMAKE_PREFIX_PATH='" + root +
            "/prefix' -DCMAKE_BUILD_TYPE=Release");
  ASSERT_EQ(configured.status, 0) << configured.output;
  const Ran built = shell("cmake --build '" + root + "/build'");
  ASSERT_EQ(built.status, 0) << built.output;

  write_text_model(folder / "model", "translator");
  const Ran ran = shell("'" + root + "/build/consumer' '" + root + "/model' 'the quick fox'");
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("there is no such folder"), std::string::npos) << ran.output;
  const std::string expected = load(folder / "model").translate("the quick fox");
  EXPECT_NE(ran.output.find("\n" + expected + "\n["), std::string::npos) << ran.output;

  for (const std::string kind : {"translator", "llama"}) {
    write_text_model(folder / kind, kind);
    const Ran several =
        shell("'" + root + "/build/sessions' '" + root + "/" + kind + "' 'the fox' 'a dog' 'it'");
    ASSERT_EQ(several.status, 0) << several.output;
    const Model model = load(folder / kind);
    for (const char* text : {"the fox", "a dog", "it"}) {
      const DecodingOptions options{.beam = 1, .max_new = 24};
      const std::string written =
          kind == "llama" ? model.generate(text, options) : model.translate(text, options);
      EXPECT_NE(several.output.find("finished: " + written + "\n"), std::string::npos) << several.output;
    }
    EXPECT_NE(several.output.find("\ncancelled: \n"), std::string::npos) << several.output;
    EXPECT_NE(several.output.find("refused: "), std::string::npos) << several.output;
    const Ran wrote = shell("'" + root + "/build/write' '" + root + "/" + kind + "' 'the fox'");
    ASSERT_EQ(wrote.status, 0) << wrote.output;
    EXPECT_NE(wrote.output.find(kind == "llama" ? "answer: " : "3 lines, 100 % done"), std::string::npos)
        << wrote.output;
  }

  const auto task = [&](const std::string& words, const std::string& model) {
    return shell("'" + root + "/build/tasks' " + words.substr(0, words.find(' ')) + " '" +
                 golden(model).string() + "' " + words.substr(words.find(' ') + 1));
  };
  const Ran embedded = task("embed 'Green.' 'Green.' 'Water on new day?'", "hf-more/st-mean");
  EXPECT_EQ(embedded.output.substr(0, 14), "1.0000 Green.\n") << embedded.output;
  const Ran labelled = task("classify 'Makesness sings has.'", "hf-more/bert-multilabel");
  EXPECT_EQ(labelled.status, 0) << labelled.output;
  const Ran answered = task("answer 'who sings?' 'Maria sings.'", "hf-more/bert-qa-stride");
  EXPECT_EQ(std::count(answered.output.begin(), answered.output.end(), '\n'), 3) << answered.output;
  const Ran filled = task("fill 'no mask'", "tasks/roberta-fill");
  EXPECT_NE(filled.status, 0);
  EXPECT_NE(filled.output.find("<mask>"), std::string::npos) << filled.output;

  const Ran version = shell("'" + root + "/prefix/bin/regard' --version");
  EXPECT_EQ(version.status, 0) << version.output;
}

// add_subdirectory() in a project that has targets of the same names and sets no C++ standard. Building the
// whole library takes minutes, so the program of the outer project is only compiled, not linked.
TEST(Install, AsPartOfAnotherProjectNothingCollides) {
  const TemporaryFolder folder;
  const std::string build = (folder / "build").string();
  const Ran configured =
      shell("cmake -G Ninja -S '" + (source_folder() / "tests/consumer/subproject").string() + "' -B '" +
            build + "' -DREGARD_SOURCE='" + source_folder().string() + "'");
  ASSERT_EQ(configured.status, 0) << configured.output;
  const Ran compiled = shell("ninja -C '" + build + "' CMakeFiles/outer.dir/main.cpp.o");
  EXPECT_EQ(compiled.status, 0) << compiled.output;
  const Ran installed =
      shell("cmake --install '" + build + "' --prefix '" + (folder / "prefix").string() + "'");
  EXPECT_FALSE(std::filesystem::exists(folder / "prefix/include/regard")) << installed.output;
  EXPECT_FALSE(std::filesystem::exists(folder / "build/CPackConfig.cmake"));
  const Ran commands = shell("ninja -C '" + build + "' -t commands regard");
  EXPECT_EQ(commands.output.find("-Werror"), std::string::npos);
}

// Public headers must cause no warnings in users' code. g++ compiles each header alone as C++20. regard.h,
// which includes all others, is also compiled by the installed versions of clang, and as C++23.
TEST(Install, PublicHeadersCompileWithoutWarnings) {
  const TemporaryFolder folder;
  // With paths relative to this folder, a compiler cache recognizes the headers in any checkout.
  std::filesystem::copy(source_folder() / "include", folder / "include",
                        std::filesystem::copy_options::recursive);
  const std::string cache = shell("command -v ccache").status == 0
                                ? "CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime ccache "
                                : "";
  const auto compiles = [&](const std::string& compiler, const std::string& header) {
    write_file(folder.path(), "alone.cpp", "#include <regard/" + header + ">\n");
    const Ran ran = shell("cd '" + folder.path().string() + "' && " + cache + compiler +
                          " -c -Wpedantic -Wall -Wextra -Wconversion -Wshadow -Werror -Iinclude alone.cpp");
    EXPECT_EQ(ran.status, 0) << compiler << " " << header << "\n" << ran.output;
  };
  for (const auto& entry : std::filesystem::directory_iterator(folder / "include/regard"))
    compiles("g++ -std=c++20", entry.path().filename().string());
  compiles("g++ -std=c++23", "regard.h");
  for (const std::string compiler : {"clang++-16", "clang++"}) {
    if (shell("command -v " + compiler).status != 0) continue;
    compiles(compiler + " -std=c++20", "regard.h");
    compiles(compiler + " -std=c++2b", "regard.h");
  }
}

}  // namespace
}  // namespace regard::testing

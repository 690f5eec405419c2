// Groups of pages whose commands are run together in one folder, in this order.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "support/document.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {

struct DocumentGroup {
  std::string name;
  std::vector<std::string> pages;  // relative to the source folder
};

inline std::vector<DocumentGroup> document_groups() {
  return {{"Readme", {"README.md"}},
          {"Training", {"docs/training.md", "docs/attend.md", "docs/looking.md", "docs/scaling.md"}},
          {"Models", {"docs/models.md"}},
          {"Tokenizers", {"docs/tokenizers.md"}},
          {"Others",
           {"docs/tasks.md", "docs/quantization.md", "docs/convert.md", "docs/pictures-and-sound.md",
            "docs/transcription.md", "docs/serving.md"}}};
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string read_page(const std::string& page) {
  return read_file(source_folder() / page);
}

inline std::vector<std::string> all_pages() {
  std::vector<std::string> pages{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "docs"))
    if (entry.path().extension() == ".md")
      pages.push_back(std::filesystem::relative(entry.path(), source_folder()).string());
  return pages;
}

// Run the pages of a group in a new folder and compare their outputs, or update the pages
// (REGARD_UPDATE_DOCS=1). `prepare` is called first, with the folder.
inline void check_documents(const DocumentGroup& group, bool slow,
                            const std::function<void(const std::filesystem::path&)>& prepare = {}) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the pages show the output of an x86-64 machine";
#endif
  const TemporaryFolder sandbox;
  make_sandbox(sandbox.path());
  if (prepare) prepare(sandbox.path());
  for (const std::string& name : group.pages) {
    const std::string page = read_page(name);
    const std::vector<DocumentCommand> commands = document_commands(page);
    const std::vector<CommandResult> results = run_document(commands, sandbox.path(), slow);
    if (std::getenv("REGARD_UPDATE_DOCS") != nullptr) {
      std::ofstream(source_folder() / name) << updated_page(page, commands, results);
      continue;
    }
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const DocumentCommand& command = commands[i];
      if (!results[i].ran) continue;
      const std::string where = name + ":" + std::to_string(command.line) + ": $ " + command.text;
      if (!command.compared) {
        EXPECT_EQ(results[i].status, 0) << where << results[i].output;
        continue;
      }
      const bool varies = command.mode == DocumentCommand::Mode::varies;
      EXPECT_EQ(compare_document_output(command.output, results[i].output, varies), "")
          << where << "REGARD_UPDATE_DOCS=1 with this test rewrites the page";
    }
  }
}

}  // namespace regard::testing

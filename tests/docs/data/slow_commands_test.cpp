// The commands of the documentation that take minutes ("<!-- test: slow -->").
#include "docs/document_case.h"
#include "support/namespaces.h"
#include "support/trained_demo.h"

namespace regard::testing {
namespace {

class SlowCommands : public ::testing::TestWithParam<DocumentGroup> {};

TEST_P(SlowCommands, PrintWhatThePageShows) {
  // The page's commands use the run folder runs/demo, which `make demo` trains.
  check_documents(GetParam(), true, [](const std::filesystem::path& sandbox) {
    std::filesystem::create_directories(sandbox / "runs");
    std::filesystem::copy(trained_demo().folder, sandbox / "runs/demo",
                          std::filesystem::copy_options::recursive);
  });
}

INSTANTIATE_TEST_SUITE_P(Documents, SlowCommands, ::testing::ValuesIn(std::vector{document_groups()[0]}),
                         [](const auto& group) { return group.param.name; });

}  // namespace
}  // namespace regard::testing

// The commands of the documentation that take minutes ("<!-- test: slow -->").
#include "docs/document_case.h"

namespace regard::testing {
namespace {

class SlowCommands : public ::testing::TestWithParam<DocumentGroup> {};

TEST_P(SlowCommands, PrintWhatThePageShows) {
  check_documents(GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(Documents, SlowCommands, ::testing::ValuesIn(std::vector{document_groups()[0]}),
                         [](const auto& group) { return group.param.name; });

}  // namespace
}  // namespace regard::testing

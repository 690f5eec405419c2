// A loaded model refuses end tokens outside the vocabulary and prompts longer than its positions.
#include "infer/loaded_model.h"

#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(LoadedModel, AnEndTokenIsBelowTheSizeOfTheVocabulary) {
  const TemporaryFolder place;
  write_text_model(place / "gpt", "gpt");
  const std::int64_t size = infer::LoadedModel::open(place / "gpt").model->vocabulary();
  const auto open = [&](std::int64_t end) {
    return infer::LoadedModel::open(place / "gpt", {.values = {{"eos_token_id", end}}});
  };
  EXPECT_EQ(open(size - 1).options.end_tokens,
            std::vector<std::int32_t>{static_cast<std::int32_t>(size - 1)});
  EXPECT_REGARD_ERROR(open(size), ErrorKind::usage,
                      "eos_token_id has an id outside the model's vocabulary (expected ids from 0 to " +
                          std::to_string(size - 1) + ", found " + std::to_string(size) + ")");
}

TEST(LoadedModel, ATruncatedPromptKeepsItsEnd) {
  const TemporaryFolder place;
  write_text_model(place / "gpt", "gpt");
  const auto loaded = infer::LoadedModel::open(place / "gpt");
  const auto limit = static_cast<std::size_t>(loaded.model->max_positions());
  ASSERT_GT(limit, 0u);
  // Append letters until the prompt has as many tokens as the model has positions.
  std::string text;
  const auto ids_of = [&] { return loaded.encode_prompt(text); };
  while (ids_of().size() < limit) text += "aeb "[text.size() % 4];
  ASSERT_EQ(ids_of().size(), limit);
  EXPECT_EQ(loaded.read(text).ids, ids_of());
  EXPECT_EQ(loaded.read(text, true).ids, ids_of());
  while (ids_of().size() < limit + 3) text += "eba "[text.size() % 4];
  const std::vector<std::int32_t> ids = ids_of();
  EXPECT_EQ(loaded.read(text, true).ids,
            std::vector<std::int32_t>(ids.end() - static_cast<std::ptrdiff_t>(limit), ids.end()));
  EXPECT_REGARD_ERROR(loaded.read(text), ErrorKind::invalid_input,
                      "the text is too long for the model (expected at most " + std::to_string(limit) +
                          ", found " + std::to_string(ids.size()) + " tokens). Split the text");
}

}  // namespace
}  // namespace regard::testing

// Token ids on disk are read as they were written, and damaged files are refused.
#include "data/token_cache.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

constexpr TokenCacheKey kKey{.content = 7, .stores = 2, .vocabulary_size = 1000};

class TokenCaches : public ::testing::Test {
 protected:
  void write() {
    TokenCacheWriter writer(cache, kKey);
    for (TokenStore* store : {&source, &target}) {
      RandomStream random({store == &source ? 1u : 2u, 0, 0});
      for (int i = 0; i < 500; ++i) {
        std::vector<std::int32_t> ids(random.next_below(40));
        for (auto& id : ids) id = static_cast<std::int32_t>(random.next_below(1000));
        store->add(ids);
        writer.add(store == &source ? 0 : 1, ids);
      }
    }
    writer.add_text({"a \n\u00E9", "b"});
    writer.commit({{"records", 500}});
  }
  std::optional<TokenCache> open(const TokenCacheKey& key = kKey) {
    return open_token_cache(cache, key, fault);
  }
  testing::TemporaryFolder folder;
  std::filesystem::path cache = folder / "runs/cache/key";
  TokenStore source, target;
  std::string fault;
};

TEST_F(TokenCaches, AreReadBackAsWritten) {
  write();
  const auto opened = open();
  ASSERT_TRUE(opened) << fault;
  EXPECT_EQ(opened->stores[0].fingerprint(), source.fingerprint());
  EXPECT_EQ(opened->stores[1].fingerprint(), target.fingerprint());
  ASSERT_EQ(opened->stores[1].size(), target.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto now = opened->stores[1][i], then = target[i];
    EXPECT_TRUE(std::equal(now.begin(), now.end(), then.begin(), then.end())) << i;
  }
  EXPECT_EQ(opened->texts, (std::vector<std::vector<std::string>>{{"a \n\u00E9", "b"}}));
  EXPECT_EQ(opened->about, (Json{{"records", 500}}));
}

TEST_F(TokenCaches, OfOtherDataAreNotUsed) {
  EXPECT_FALSE(open());
  EXPECT_EQ(fault, "");
  write();
  EXPECT_FALSE(open({.content = 8, .stores = 2, .vocabulary_size = 1000}));
  EXPECT_NE(fault.find("other data"), std::string::npos) << fault;
  EXPECT_FALSE(open({.content = 7, .stores = 1, .vocabulary_size = 1000}));
  EXPECT_FALSE(open({.content = 7, .stores = 2, .vocabulary_size = 999}));
  EXPECT_NE(fault.find("outside the vocabulary"), std::string::npos) << fault;
}

TEST_F(TokenCaches, AppearWholeOrNotAtAll) {
  {
    TokenCacheWriter writer(cache, kKey);
    writer.add(0, std::vector<std::int32_t>{1, 2});
    EXPECT_FALSE(std::filesystem::exists(cache));
  }
  EXPECT_FALSE(std::filesystem::exists(cache));
  EXPECT_TRUE(std::filesystem::is_empty(cache.parent_path())) << "no temporary files stay";
  write();
  EXPECT_REGARD_ERROR(TokenCacheWriter(cache, kKey), ErrorKind::usage, "key");
}

TEST_F(TokenCaches, WithAnyDamageAreNotUsed) {
  write();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(cache)) files.push_back(entry.path());
  EXPECT_EQ(files.size(), 6u);
  for (const auto& path : files) {
    SCOPED_TRACE(path.filename());
    const std::string whole = testing::file_content(path);
    const auto damaged = [&](const std::string& content) {
      testing::write_file(path.parent_path(), path.filename().string(), content);
      const bool about = path.filename() == "about.json";
      const bool opened = open().has_value();
      EXPECT_TRUE(!opened || about) << "only a byte of about.json may be of no importance";
    };
    damaged(whole.substr(0, whole.size() - 1));
    damaged("");
    damaged(whole + std::string(8, '\0'));
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 50) {
      std::string content = whole;
      content[at] = static_cast<char>(content[at] ^ 0x20);
      damaged(content);
    }
    std::filesystem::remove(path);
    EXPECT_FALSE(open());
    EXPECT_NE(fault, "");
    testing::write_file(path.parent_path(), path.filename().string(), whole);
    EXPECT_TRUE(open()) << fault;
  }
}

TEST_F(TokenCaches, ContentHashIsOfTheBytes) {
  const auto one = testing::write_file(folder.path(), "a", std::string(3 << 20, 'x'));
  EXPECT_EQ(content_hash(one), xxh3(std::string(3 << 20, 'x')));
  EXPECT_REGARD_ERROR(content_hash(folder / "none"), ErrorKind::io, "none");
  EXPECT_REGARD_ERROR(content_hash(folder.path()), ErrorKind::io, "Is a directory");
}

}  // namespace
}  // namespace regard::data

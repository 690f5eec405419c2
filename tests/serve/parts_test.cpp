// Parts of the server that need no connection.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "base/plain_text.h"
#include "serve/access.h"
#include "serve/batcher.h"
#include "serve/edit_turn.h"
#include "serve/fair_queue.h"
#include "serve/file_store.h"
#include "serve/form.h"
#include "serve/http_delivery.h"
#include "serve/http_text.h"
#include "serve/json_schema.h"
#include "serve/outgoing_bytes.h"
#include "serve/translation.h"

namespace regard::serve {
namespace {

TEST(FairQueue, GivesClientsTurns) {
  FairQueue<int> queue;
  for (int i = 0; i < 3; ++i) queue.push("a", i);
  queue.push("b", 10), queue.push("c", 20), queue.push("b", 11);
  std::vector<int> order;
  queue.remove_if([](int item) { return item == 1; });
  EXPECT_EQ(queue.size(), 5u);
  while (!queue.empty()) order.push_back(queue.pop());
  EXPECT_EQ(order, (std::vector{0, 10, 20, 2, 11}));
}

// A request may have half a million generations with one callback each. The callback of a generation is
// removed when the generation ends.
TEST(Delivery, RemovesACallbackThatIsNoLongerNeeded) {
  const auto delivery = std::make_shared<Delivery>();
  int calls = 0;
  auto removed = delivery->call_when_gone([&] { calls += 100; });
  const auto kept = delivery->call_when_gone([&] { ++calls; });
  removed.reset();
  EXPECT_EQ(delivery->when_gone.size(), 1u);
  delivery->leave();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(delivery->call_when_gone([&] { ++calls; }), nullptr);
  EXPECT_EQ(calls, 2);
}

TEST(Batcher, JoinsCallsAndIsolatesErrors) {
  std::atomic<std::size_t> largest{0};
  Batcher<int, int> batcher(
      [&](std::vector<int> inputs) {
        largest = std::max(largest.load(), inputs.size());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::vector<int> outputs;
        for (const int input : inputs) {
          if (input < 0) throw HttpError(400, "negative");
          outputs.push_back(input * input);
        }
        return outputs;
      },
      [](int) { return 1; }, 16);
  const auto later = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::atomic<int> wrong{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (batcher.run({t, i}, std::to_string(t), later) != std::vector{t * t, i * i}) ++wrong;
        try {
          batcher.run({i, -1}, std::to_string(t), later);
          ++wrong;
        } catch (const HttpError&) {
          ++refused;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(refused, 160);
  EXPECT_GT(largest, 2u);
  EXPECT_LE(largest, 16u);
}

TEST(Batcher, EndsBetweenBatchesForAClientThatIsGone) {
  std::atomic<int> computed{0};
  Batcher<int, int> batcher(
      [&](std::vector<int> inputs) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return ++computed, inputs;
      },
      [](int) { return 1; }, 1);
  const auto status = [&](auto deadline, const std::function<bool()>& gone) {
    try {
      batcher.run(std::vector<int>(1000, 1), "a", deadline, gone);
    } catch (const HttpError& error) {
      return error.status();
    }
    return 200;
  };
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(status(now + std::chrono::minutes(1), [&] { return computed >= 3; }), 503);
  EXPECT_EQ(computed, 3);
  EXPECT_EQ(status(now, {}), 504);
  EXPECT_EQ(computed, 3);
  EXPECT_EQ(batcher.waiting(), 0u);
}

TEST(EditTurn, ComesInTheOrderOfTheRequests) {
  EditTurn turn;
  const auto later = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  ASSERT_TRUE(turn.begin(later, [] { return false; }));
  std::string order;
  std::atomic<bool> gives_up{false};
  std::vector<std::thread> threads;
  for (char name = 'a'; name < 'i'; ++name) {
    threads.emplace_back([&, name] {
      if (!turn.begin(later, [&] { return name == 'c' && gives_up; })) return;
      order += name;
      turn.end();
    });
    while (turn.waiting() < threads.size()) std::this_thread::yield();
  }
  gives_up = true;
  while (turn.waiting() == 8) std::this_thread::yield();
  turn.end();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "abdefgh");
}

TEST(OutgoingBytes, JoinsSmallPartsAndDividesLargeOnes) {
  OutgoingBytes outgoing(10);
  std::string sent;
  std::size_t pieces = 0;
  const auto send_all = [&] {
    while (true) {
      const std::string_view piece = outgoing.next();
      if (piece.empty()) return;
      EXPECT_LE(piece.size(), 10u);
      outgoing.add("");
      sent += piece, ++pieces;
      outgoing.taken(piece.size());
    }
  };
  for (const char* part : {"abc", "def", "ghijk", "l"}) outgoing.add(part);
  send_all();
  EXPECT_EQ(sent, "abcdefghijkl");
  EXPECT_EQ(pieces, 2u);
  const std::string large(1003, 'x');
  outgoing.add(large), outgoing.add("end");
  const char* const begin = outgoing.next().data();
  outgoing.taken(10);
  EXPECT_EQ(outgoing.next().data(), begin + 10) << "the rest is not moved";
  sent.clear();
  send_all();
  EXPECT_EQ(sent, large.substr(10) + "end");
}

TEST(Html, EntitiesAreReadInOnePass) {
  const std::string ampersands(1 << 20, '&');
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(html_unescaped(ampersands), ampersands);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  EXPECT_EQ(html_unescaped("&amp;&#65;&#x42;&nothing;&#00000000065;&lt;a"), "&AB&nothing;&#00000000065;<a");
}

TEST(Form, ReadsBothEncodings) {
  const auto parts = parse_url_encoded("q=a+b%26c&empty=&flag&q=2");
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].value, "a b&c");
  EXPECT_EQ(parts[2].name, "flag");
  EXPECT_THROW(parse_url_encoded("q=%4"), HttpError);
  const auto multipart = parse_multipart(
      "preamble\r\n--B\r\nContent-Disposition: form-data; name=\"a\\\"b\"; "
      "filename=\"x;y.txt\"\r\n\r\n1\r\n2\r\n--B--\r\n",
      "multipart/form-data; charset=utf-8; boundary=\"B\"");
  ASSERT_EQ(multipart.size(), 1u);
  EXPECT_EQ(multipart[0].name, "a\"b");
  EXPECT_EQ(multipart[0].file_name, "x;y.txt");
  EXPECT_EQ(multipart[0].value, "1\r\n2");
  for (const char* bad :
       {"", "--B", "--B\r\n\r\n--B--", "--B\r\nContent-Disposition: form-data\r\n\r\n\r\n--B--"})
    EXPECT_THROW(parse_multipart(bad, "multipart/form-data; boundary=B"), HttpError) << bad;
}

// The parsers of forms and request targets accept random bytes or throw HttpError; they do not crash.
TEST(Form, SurvivesRandomBytes) {
  std::mt19937 random(7);
  const std::string pieces[] = {"--B",
                                "\r\n",
                                "\r\n\r\n",
                                "Content-Disposition: form-data; name=\"a\"",
                                "; ",
                                "=",
                                "\"",
                                "%",
                                "&",
                                "--",
                                "filename=",
                                "\\",
                                std::string(1, '\0'),
                                "\xff"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n) text += pieces[random() % std::size(pieces)];
    try {
      parse_multipart(text, "multipart/form-data; boundary=B");
    } catch (const HttpError&) {
    }
    try {
      parse_multipart("--B\r\n", text);
    } catch (const HttpError&) {
    }
    try {
      parse_url_encoded(text);
    } catch (const HttpError&) {
    }
    split_target(text);
    host_name(text);
    html_parts(text);
    html_unescaped("&" + text + ";");
  }
}

TEST(JsonSchema, NamesTheFirstViolation) {
  using namespace schema;
  const Json rule = object({{"name", text(3)},
                            {"count", integer(1, 5)},
                            {"list", any_of({text(), array(boolean(), 1, 2)})},
                            {"kind", one_of({"a", "b"})}},
                           {"name"});
  const auto message = [&](const char* json) {
    const auto bad = violation_of(rule, Json::parse(json));
    return bad ? bad->place + "|" + bad->message : std::string();
  };
  EXPECT_EQ(message(R"({"name":"abc","count":5,"list":[true],"kind":null,"other":1})"), "");
  EXPECT_EQ(message(R"({"name":"abc","count":2.0})"), "");
  EXPECT_EQ(message(R"({})"), "|expected a member \"name\", found none");
  EXPECT_EQ(message(R"({"name":null})").substr(0, 21), "name|expected string,");
  EXPECT_EQ(message(R"({"name":"abcd"})"), "name|expected at most 3 characters, found 4");
  EXPECT_EQ(message(R"({"name":"a","count":6})"), "count|expected at most 5, found 6");
  EXPECT_EQ(message(R"({"name":"a","count":1.5})").substr(0, 14), "count|expected");
  EXPECT_EQ(message(R"({"name":"a","list":[true,1]})").substr(0, 24), "list[1]|expected boolean");
  EXPECT_EQ(message(R"({"name":"a","kind":"c"})").substr(0, 21), "kind|expected one of ");
}

TEST(HttpText, ReadsTargetsAndHosts) {
  EXPECT_EQ(split_target("/a%20b?x=1")->path, "/a b");
  EXPECT_EQ(split_target("/a%20b?x=1")->query, "x=1");
  EXPECT_EQ(split_target("http://host/a")->path, "/a");
  EXPECT_FALSE(split_target("a"));
  EXPECT_FALSE(split_target("/%4"));
  EXPECT_EQ(head_of({.type = "a\r\nX: b"}, {}).find("\nX:"), std::string::npos);
  EXPECT_EQ(*host_name("[::1]:80"), "::1");
  EXPECT_EQ(*host_name("Example.ORG:80"), "example.org");
  for (const char* bad : {"", ":80", "[::1", "a:b", "a:1234567"}) EXPECT_FALSE(host_name(bad)) << bad;
  EXPECT_TRUE(is_loopback("127.8.9.1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
}

TEST(FileStore, DropsTheOldest) {
  FileStore store(10);
  const std::string first = store.keep("12345678", "a.txt"), second = store.keep("abcd", "b.html/../c");
  EXPECT_TRUE(first.ends_with(".txt"));
  EXPECT_EQ(second.size(), 32u) << "no odd endings";
  EXPECT_FALSE(store.find(first));
  EXPECT_EQ(store.find(second), "abcd");
  const std::string large = store.keep(std::string(11, 'x'), "c");
  EXPECT_FALSE(store.find(second));
  EXPECT_TRUE(store.find(large)) << "a file is not dropped before its client can fetch it";
}

TEST(Html, KeepsMarkup) {
  EXPECT_EQ(html_parts("<p>a</p>b<!-- <i> -->"),
            (std::vector<std::string>{"<p>", "a", "</p>", "b", "<!-- <i> -->"}));
  EXPECT_EQ(html_parts("a<style>b</style>"), (std::vector<std::string>{"", "a", "<style>b</style>"}));
  EXPECT_EQ(html_parts("a<STYLE a=b>b</p></styles></Style >c"),
            (std::vector<std::string>{"", "a", "<STYLE a=b>b</p></styles></Style >", "c"}));
  EXPECT_EQ(html_parts("<style-guide>a</style-guide>b<script>c</"),
            (std::vector<std::string>{"<style-guide>", "a", "</style-guide>", "b", "<script>c</"}));
  EXPECT_EQ(html_parts("a < b<br>1<2<"), (std::vector<std::string>{"", "a < b", "<br>", "1<2<"}));
  EXPECT_EQ(html_parts("<<p>a</p>"), (std::vector<std::string>{"", "<", "<p>", "a", "</p>"}));
  EXPECT_EQ(html_parts("<a title = \"1 > 0\" b='>'>c</a>"),
            (std::vector<std::string>{"<a title = \"1 > 0\" b='>'>", "c", "</a>"}));
  EXPECT_EQ(html_parts("<p a=it's>b<!DOCTYPE \">c"),
            (std::vector<std::string>{"<p a=it's>", "b", "<!DOCTYPE \">", "c"}));
  EXPECT_EQ(html_parts("<p a='>b"), (std::vector<std::string>{"<p a='>b"}));
  EXPECT_EQ(html_parts(" <p> <b>\n</b>c </p>\t"),
            (std::vector<std::string>{" <p> <b>\n</b>", "c ", "</p>\t"}));
  EXPECT_EQ(html_parts("a<p> b", 2).size(), 4u);
  EXPECT_THROW(html_parts("a<p>b<p>c", 2), HttpError);
  EXPECT_EQ(html_unescaped("a&amp;&lt;&#65;&#x42;&unknown;&"), "a&<AB&unknown;&");
  EXPECT_EQ(html_escaped("a<b&c>"), "a&lt;b&amp;c&gt;");
}

}  // namespace
}  // namespace regard::serve

// Parts of HTTP messages: heads, targets, forms, schemas, and the bodies of errors.
#include <gtest/gtest.h>

#include "base/json_text.h"
#include "serve/access.h"
#include "serve/file_store.h"
#include "serve/form.h"
#include "serve/http_error.h"
#include "serve/http_text.h"
#include "serve/json_schema.h"
#include "serve/language_names.h"
#include "serve/large_bodies.h"
#include "serve/memory_file.h"
#include "serve/route.h"
#include "serve/translation.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::serve {
namespace {

// Return the head without its date, after a check of the date's format.
std::string head_without_date(const HttpResponse& response, const HeadOptions& options) {
  std::string head = head_of(response, options);
  const std::size_t at = head.find("Date: "), end = head.find("\r\n", at);
  EXPECT_EQ(end - at, std::string("Date: Sun, 06 Nov 1994 08:49:37 GMT").size()) << head;
  std::tm time{};
  EXPECT_NE(::strptime(head.substr(at, end - at).c_str(), "Date: %a, %d %b %Y %H:%M:%S GMT", &time), nullptr);
  const int day = time.tm_wday;
  const std::time_t seconds = ::timegm(&time);
  EXPECT_EQ(time.tm_wday, day) << head;
  EXPECT_NEAR(static_cast<double>(seconds), static_cast<double>(std::time(nullptr)), 100.0) << head;
  return head.erase(at, end + 2 - at);
}

TEST(HttpParts, HeadsAreComplete) {
  const std::string end = "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  EXPECT_EQ(head_without_date({.status = 404, .body = "12345", .fields = {{"Allow", "a\r\nb\x7f!\x1f"}}}, {}),
            "HTTP/1.1 404 Not Found\r\nServer: regard\r\nContent-Type: application/json\r\nContent-Length: "
            "5\r\nAllow: a  b ! \r\n" +
                end + "Connection: keep-alive\r\n\r\n");
  EXPECT_EQ(head_without_date({.status = 204, .type = ""}, {.keep_alive = false}),
            "HTTP/1.1 204 No Content\r\nServer: regard\r\n" + end + "Connection: close\r\n\r\n");
  EXPECT_EQ(head_without_date({.status = 200, .type = ""}, {.chunked = true}),
            "HTTP/1.1 200 OK\r\nServer: regard\r\nTransfer-Encoding: chunked\r\n" + end +
                "Connection: keep-alive\r\n\r\n");
  EXPECT_EQ(head_without_date({.status = 200, .type = ""}, {.keep_alive = false, .to_end = true}),
            "HTTP/1.1 200 OK\r\nServer: regard\r\n" + end + "Connection: close\r\n\r\n");
  EXPECT_EQ(chunk_of(std::string(26, 'x')), "1a\r\n" + std::string(26, 'x') + "\r\n");
  for (const auto& [status, reason] :
       {std::pair{417, "Expectation Failed"}, {422, "Unprocessable Content"}, {299, "Unknown"}})
    EXPECT_STREQ(reason_of(status), reason);
}

TEST(HttpParts, PercentSequencesAreDecoded) {
  EXPECT_EQ(percent_decoded("%41%4a%4F%7e", false), "AJO~");
  EXPECT_EQ(percent_decoded("%00%fF", false), std::string("\0\xff", 2));
  EXPECT_EQ(percent_decoded("a+b%2b", true), "a b+");
  EXPECT_EQ(percent_decoded("a+b", false), "a+b");
  EXPECT_EQ(percent_decoded("", false), "");
  for (const char* bad : {"%", "%4", "a%", "a%4", "%4g", "%g4", "%/0", "%0:", "%@0", "%0`", "% 1"})
    EXPECT_FALSE(percent_decoded(bad, false)) << bad;
}

TEST(HttpParts, TargetsAreSplit) {
  const auto split = [](std::string_view target) {
    const auto found = split_target(target);
    return found ? found->path + "|" + found->query : "none";
  };
  EXPECT_EQ(split("/"), "/|");
  EXPECT_EQ(split("/a?b?c"), "/a|b?c");
  EXPECT_EQ(split("/a?%zz"), "/a|%zz");
  EXPECT_EQ(split("http://host"), "/|");
  EXPECT_EQ(split("https://host:80/a%41?x"), "/aA|x");
  EXPECT_EQ(split("ftp://host/a"), "none");
  EXPECT_EQ(split(""), "none");
  EXPECT_EQ(split("*"), "none");
}

TEST(HttpParts, AmbiguousFieldsAreNamed) {
  const auto why = [](const HttpFields& fields, int minor) {
    return ambiguity_of(fields, minor).value_or("");
  };
  EXPECT_EQ(why({{"host", "a"}, {"content-length", "5"}}, 1), "");
  EXPECT_EQ(why({{"host", "a"}, {"transfer-encoding", "Chunked"}}, 1), "");
  EXPECT_EQ(why({}, 0), "");
  EXPECT_EQ(why({}, 1), "expected a Host field, found none");
  EXPECT_EQ(why({{"host", "a"}, {"host", "a"}}, 0), "expected one Host, found several");
  EXPECT_EQ(why({{"content-length", "5x"}}, 0), "expected a number in Content-Length");
  EXPECT_EQ(why({{"content-length", "5"}, {"content-length", "5"}}, 0),
            "expected one Content-Length, found several");
  EXPECT_EQ(why({{"transfer-encoding", "gzip"}}, 0),
            "expected the transfer coding chunked, found another one");
  EXPECT_EQ(why({{"transfer-encoding", "chunked"}, {"transfer-encoding", "chunked"}}, 1),
            "expected one Transfer-Encoding, found several");
  EXPECT_EQ(why({{"transfer-encoding", "chunked"}, {"content-length", "5"}}, 1),
            "expected Content-Length or Transfer-Encoding, found both");
  EXPECT_EQ(why({{"transfer-encoding", "chunked"}}, 0), "expected no Transfer-Encoding in HTTP/1.0");
}

TEST(HttpParts, ErrorsHaveTheFormatOfTheirProtocol) {
  const auto openai = [](int status, const char* parameter) {
    return error_body(Protocol::openai, HttpError(status, "m", "c", parameter));
  };
  for (const auto& [status, type] : {std::pair{400, "invalid_request_error"},
                                     {401, "authentication_error"},
                                     {403, "permission_error"},
                                     {404, "invalid_request_error"},
                                     {429, "rate_limit_error"},
                                     {499, "invalid_request_error"},
                                     {500, "server_error"},
                                     {503, "server_error"}})
    EXPECT_EQ(openai(status, "p"),
              (Json{{"error", {{"message", "m"}, {"type", type}, {"param", "p"}, {"code", "c"}}}}));
  EXPECT_EQ(openai(400, "")["error"]["param"], Json());
  EXPECT_EQ(error_body(Protocol::openai, HttpError(400, "m"))["error"]["code"], Json());
  for (const auto& [status, type] : {std::pair{400, "validation"},
                                     {404, "validation"},
                                     {413, "validation"},
                                     {422, "validation"},
                                     {429, "overloaded"},
                                     {499, "validation"},
                                     {500, "backend"},
                                     {503, "unhealthy"},
                                     {504, "backend"}})
    EXPECT_EQ(error_body(Protocol::embeddings, HttpError(status, "m")),
              (Json{{"error", "m"}, {"error_type", type}}));
  for (const auto& [status, kind] : {std::pair{400, "usage"},
                                     {404, "usage"},
                                     {413, "invalid_input"},
                                     {429, "resource_exhausted"},
                                     {499, "usage"},
                                     {500, "internal"},
                                     {501, "usage"},
                                     {502, "internal"},
                                     {503, "cancelled"},
                                     {504, "resource_exhausted"}})
    for (const Protocol protocol : {Protocol::regard, Protocol::libretranslate})
      EXPECT_EQ(error_body(protocol, HttpError(status, "m")), (Json{{"error", "m"}, {"kind", kind}}))
          << status;
}

TEST(HttpParts, ErrorsOfTheLibraryHaveAStatus) {
  const auto converted = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      return caught_http_error();
    }
  };
  const auto text = [&](ErrorKind kind) {
    const HttpError error = converted(Error(kind, "m"));
    EXPECT_EQ(error.kind, kind);
    EXPECT_EQ(error.message(), "m");
    return std::to_string(error.status()) + " " + error.code();
  };
  EXPECT_EQ(text(ErrorKind::usage), "400 invalid_request");
  EXPECT_EQ(text(ErrorKind::invalid_input), "400 invalid_request");
  EXPECT_EQ(text(ErrorKind::resource_exhausted), "400 request_too_large");
  EXPECT_EQ(text(ErrorKind::cancelled), "503 cancelled");
  for (const ErrorKind kind : {ErrorKind::bad_file, ErrorKind::io, ErrorKind::numeric, ErrorKind::internal})
    EXPECT_EQ(text(kind), "500 internal_error");
  const HttpError same = converted(HttpError(404, "m", "c", "p"));
  EXPECT_EQ(same.status(), 404);
  EXPECT_STREQ(same.what(), "m");
  EXPECT_EQ(converted(std::runtime_error("x")).status(), 500);
}

TEST(HttpParts, FormsHaveALimitOfFields) {
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 400);
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(parse_url_encoded("a=1&&b", 2).size(), 2u);
  EXPECT_EQ(message([] { parse_url_encoded("a&b&c", 2); }),
            "expected at most 2 fields in the form, found more");
  EXPECT_EQ(message([] { parse_url_encoded("a=%zz"); }), "the form has a malformed % sequence");
  const auto parts = [](int count, std::size_t most, const std::string& type = "a; boundary=B") {
    std::string body;
    for (int i = 0; i < count; ++i) body += "--B\r\ncontent-disposition: form-data; name=x\r\n\r\n\r\n";
    return parse_multipart(body + "--B--", type, most);
  };
  EXPECT_EQ(parts(2, 2).size(), 2u);
  EXPECT_EQ(parts(2, 2)[1].name, "x");
  EXPECT_EQ(parts(2, 2)[1].value, "");
  EXPECT_EQ(message([&] { parts(3, 2); }), "expected at most 2 parts in the form, found more");
  const std::string boundary = "expected a boundary of 1 to 70 characters in the Content-Type";
  for (const std::string& type : {std::string("a"), std::string("a; boundary="), std::string("a; boundary"),
                                  "a; boundary=" + std::string(71, 'B')})
    EXPECT_EQ(message([&] { parts(1, 2, type); }), boundary) << type;
  EXPECT_EQ(message([&] { parts(1, 2, "a; boundary=" + std::string(70, 'C')); }),
            "the form does not contain its boundary");
  EXPECT_EQ(message([] { parse_multipart("--B\r\nname: a\r\n\r\n\r\n--B--", "a; boundary=B"); }),
            "a part of the form has no name");
  EXPECT_EQ(message([] { parse_multipart("--B\r\nname: a\r\n--B--", "a; boundary=B"); }),
            "a part of the form has no header");
  EXPECT_EQ(message([] { parse_multipart("--Bx", "a; boundary=B"); }), "a boundary of the form is malformed");
  EXPECT_EQ(message([] { parse_multipart("--B\r\nx", "a; boundary=B"); }),
            "the form has no closing boundary");
  const std::string names =
      "--B\r\nX: y\r\nContent-Disposition: form-data; NAME = \"a;\\\"b\" ; filename= c d "
      "\r\nno colon\r\n\r\nv\r\n--B--";
  const auto found = parse_multipart(names, "a; x=\"1;2\"; boundary=B").at(0);
  EXPECT_EQ(found.name + "|" + found.file_name + "|" + found.value, "a;\"b|c d|v");
}

TEST(HttpParts, SchemasHaveLimits) {
  using namespace schema;
  const auto message = [](const Json& rule, const Json& value) {
    const auto bad = violation_of(rule, value);
    return bad ? bad->place + "|" + bad->message : std::string();
  };
  EXPECT_EQ(message(integer(1, 5), 1) + message(integer(1, 5), 5), "");
  EXPECT_EQ(message(integer(1, 5), 0), "|expected at least 1, found 0");
  EXPECT_EQ(message(number(0, 0.5), 0.5) + message(number(0, 0.5), 0), "");
  EXPECT_EQ(message(number(0, 0.5), 0.75), "|expected at most 0.5, found 0.75");
  EXPECT_EQ(message(array(boolean(), 1, 2), Json::array()), "|expected at least 1 items, found 0");
  EXPECT_EQ(message(array(boolean(), 1, 2), {true, true, true}), "|expected at most 2 items, found 3");
  EXPECT_EQ(message(text(2), "\u00e9\u00e9"), "") << "characters, not bytes";
  EXPECT_EQ(message({{"minLength", 2}}, "\u00e9"), "|expected at least 2 characters, found 1");
  const Json members{{"type", "object"}, {"additionalProperties", number(0, 1)}, {"maxProperties", 2}};
  EXPECT_EQ(message(members, {{"a", 1}, {"b", 0}}), "");
  EXPECT_EQ(message(members, {{"a", 1}, {"b", 2}}), "b|expected at most 1.0, found 2");
  EXPECT_EQ(message(members, {{"a", 1}, {"b", 1}, {"c", 1}}), "|expected at most 2 members, found 3");
  Json closed = object({{"a", object({{"b", boolean()}}, {"b"})}});
  closed["additionalProperties"] = false;
  EXPECT_EQ(message(closed, {{"a", {{"b", true}}}}), "");
  EXPECT_EQ(message(closed, {{"a", {{"b", 1}}}}), "a.b|expected boolean, found the number 1");
  EXPECT_EQ(message(closed, {{"c", 1}}), "c|unknown member");
  EXPECT_EQ(message(closed, {{"a", nullptr}}), "");
  EXPECT_EQ(message({{"type", {"string", "integer", "null"}}}, true),
            "|expected string or integer, found true");
  const Json any = any_of({text(), array(object({{"a", text()}}, {"a"}), 0, 2)});
  EXPECT_EQ(message(any, Json::parse(R"([{"a":"x"},{"a":1}])")), "[1].a|expected string, found the number 1");
  EXPECT_EQ(object({{"a", one_of({"x"})}, {"b", any_of({text(3)})}, {"c", boolean()}}, {"c"}),
            Json::parse(R"({"type":"object","properties":{
              "a":{"type":["string","null"],"enum":["x",null]},
              "b":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]},
              "c":{"type":"boolean"}},"required":["c"]})"));
}

TEST(HttpParts, HostsAndOriginsAreCompared) {
  EXPECT_TRUE(host_allowed("Example.org:80", {"example.ORG"}));
  EXPECT_FALSE(host_allowed("example.org.evil", {"example.org"}));
  EXPECT_TRUE(host_allowed("[fe80::1]:80", {}));
  EXPECT_FALSE(host_allowed("[::1]x", {}));
  EXPECT_FALSE(host_allowed("[localhost", {}));
  EXPECT_FALSE(host_allowed("", {}));
  EXPECT_EQ(host_name("a:12345"), "a");
  EXPECT_FALSE(host_name("a:123456"));
  EXPECT_TRUE(origin_allowed("http://a", "b", {"http://a"}));
  EXPECT_FALSE(origin_allowed("http://a", "b", {"http://b"}));
  EXPECT_TRUE(origin_allowed("http://a", "b", {"*"}));
  EXPECT_TRUE(origin_allowed("https://A:80", "a:80", {}));
  EXPECT_FALSE(origin_allowed("http://a:80", "a", {}));
  EXPECT_FALSE(origin_allowed("a", "a", {}));
  for (const char* address : {"localhost", "::1", "127.0.0.1"}) EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"128.0.0.1", "126.0.0.1", "a", "::2"}) EXPECT_FALSE(is_loopback(address));
}

TEST(HttpParts, KeysAreReadFromFileAndFields) {
  const testing::TemporaryFolder folder;
  const auto file = testing::write_file(folder.path(), "keys",
                                        "\n# comment\n0123456789abcdef \r\nsecond-key-of-23-chars\n");
  const ApiKeys keys(file);
  EXPECT_TRUE(keys.needed());
  EXPECT_EQ(keys.find("0123456789abcdef"), 0u);
  EXPECT_EQ(keys.find("second-key-of-23-chars"), 1u);
  EXPECT_FALSE(keys.find("0123456789abcdef "));
  EXPECT_FALSE(keys.find(""));
  testing::write_file(folder.path(), "short", "0123456789abcdef\n0123456789abcde\n");
  EXPECT_REGARD_ERROR(ApiKeys(folder / "short"), ErrorKind::bad_file, "short:2: an API key is too short");
  EXPECT_REGARD_ERROR(ApiKeys(folder / "short"), ErrorKind::bad_file,
                      "(expected at least 16 characters, found 15 characters)");
  testing::write_file(folder.path(), "empty", "# none\n");
  EXPECT_REGARD_ERROR(ApiKeys(folder / "empty"), ErrorKind::bad_file, "the file has no API key");
  const auto key = [](const char* name, const char* value) {
    HttpRequest request;
    request.fields = {{"x-api-key", "x"}, {name, value}};
    return std::string(key_of(request));
  };
  EXPECT_EQ(key("authorization", "bEARER k"), "k");
  EXPECT_EQ(key("authorization", "Bearer "), "x");
  EXPECT_EQ(key("authorization", "Basic abc"), "x");
}

TEST(HttpParts, FilesHaveUnpredictableNames) {
  FileStore store(100);
  const std::string name = store.keep("a", "letter.1234567");
  EXPECT_TRUE(name.ends_with(".1234567")) << name;
  EXPECT_EQ(name.size(), 40u);
  for (const std::size_t at : {0, 8, 16, 24}) EXPECT_NE(name.substr(at, 8), "00000000");
  EXPECT_EQ(store.keep("a", "letter.12345678").size(), 32u);
  EXPECT_EQ(store.keep("a", "letter").size(), 32u);
  for (const char* ending : {".a-b", ".a/b", ".a:b", ".a@b", ".a[b", ".a`b", ".a{b"})
    EXPECT_EQ(store.keep("a", ending).size(), 32u) << ending;
  EXPECT_TRUE(store.keep("a", "x.azAZ09").ends_with(".azAZ09"));
  // Exactly the limit is kept.
  FileStore small(4);
  const std::string first = small.keep("ab", ""), second = small.keep("cd", "");
  EXPECT_EQ(small.find(first), "ab");
  const std::string third = small.keep("e", "");
  EXPECT_FALSE(small.find(first));
  EXPECT_EQ(small.find(second), "cd");
  EXPECT_EQ(small.find(third), "e");
}

TEST(HttpParts, LargeBodiesShareALimit) {
  const auto bodies = std::make_shared<LargeBodies>(std::size_t{3} << 20);
  EXPECT_EQ(bodies->reserve(LargeBodies::kLarge).value(), nullptr) << "a small body needs no reservation";
  auto first = bodies->reserve(LargeBodies::kLarge + 1);
  ASSERT_TRUE(first && *first);
  EXPECT_FALSE(bodies->reserve((std::size_t{2} << 20)));
  auto second = bodies->reserve((std::size_t{2} << 20) - 1);
  ASSERT_TRUE(second) << "exactly the limit";
  first.reset(), second.reset();
  EXPECT_TRUE(bodies->reserve(std::size_t{9} << 20)) << "alone, a body may exceed the limit";
}

TEST(HttpParts, EntitiesAndNames) {
  EXPECT_EQ(html_unescaped("&#9;&#X41;&#x;&#;&quot;&apos;&nbsp;&gt;"), "\tA&#x;&#;\"'\u00a0>");
  EXPECT_EQ(html_unescaped("&#0000000065;&#00000000065;"), "A&#00000000065;") << "at most 13 bytes";
  EXPECT_EQ(language_name("hi"), "Hindi");
  EXPECT_EQ(language_name("zh"), "Chinese");
  EXPECT_EQ(language_name("xx"), "xx");
  std::string content(100000, 'x');
  content += "end";
  const MemoryFile file(content);
  EXPECT_EQ(testing::file_content(file.path()), content);
}

}  // namespace
}  // namespace regard::serve

// Invalid run files and data files: each gives a message with its location, and nothing is written. Each line
// of tests/data/wrong-runs/cases.jsonl is a case:
// - "task": folder with a valid run;
// - "replace": changes of its run file;
// - "files": other files, as content, {"hex": bytes}, "DIR" (create a folder) or null (remove the file);
// - "says": the expected message.
#include <fstream>
#include <set>

#include "run_case.h"

namespace regard::train {
namespace {

const fs::path kCases = testing::golden("wrong-runs");

std::string bytes_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  const auto hex = content["hex"].get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

void make_run(const Json& one, const fs::path& folder) {
  fs::copy(kCases / one["task"].get<std::string>(), folder, fs::copy_options::recursive);
  std::string run = file_content(folder / "run.toml");
  for (const Json& change : one.value("replace", Json::array())) {
    const auto from = change[0].get<std::string>(), to = change[1].get<std::string>();
    const std::size_t at = run.find(from);
    ASSERT_NE(at, std::string::npos) << one.dump();
    run.replace(at, from.size(), to);
  }
  std::ofstream(folder / "run.toml") << run;
  const Json files = one.value("files", Json::object());
  for (const auto& [name, content] : files.items()) {
    if (content.is_null())
      fs::remove(folder / name);
    else if (content == "DIR")
      fs::create_directory(folder / name);
    else
      std::ofstream(folder / name, std::ios::binary) << bytes_of(content);
  }
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    names.insert(entry.path().string());
  return names;
}

// Return the message on standard error, with paths relative to `folder`.
std::string message_of(std::string text, const fs::path& folder) {
  const std::string prefix = fs::canonical(folder).string() + "/";
  for (std::size_t at = 0; (at = text.find(prefix, at)) != text.npos;) text.erase(at, prefix.size());
  return text;
}

TEST(WrongRuns, AreRefusedWithTheirPlaceAndNothingIsWritten) {
  std::ifstream lines(kCases / "cases.jsonl");
  int cases = 0;
  for (std::string line; std::getline(lines, line); ++cases) {
    const regard::testing::TemporaryFolder place;
    const fs::path folder = fs::canonical(place.path()) / "case";
    const Json one = Json::parse(line);
    make_run(one, folder);
    const std::set<std::string> before = names_in(folder);
    const ProgramResult result = run_program({"train", "run.toml"}, folder);
    EXPECT_TRUE(result.exit_code >= 2 && result.exit_code <= 4) << result.exit_code << " " << line;
    const std::string message = message_of(result.err, folder);
    EXPECT_NE(message.find(one["says"].get<std::string>()), std::string::npos) << message << line;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
    EXPECT_EQ(names_in(folder), before) << line;
  }
  EXPECT_GE(cases, 200);
}

// Negative control: every run file is valid before a case changes it.
TEST(WrongRuns, ChangeRunsThatAreRight) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kCases)) {
    if (!entry.is_directory()) continue;
    const regard::testing::TemporaryFolder place;
    fs::copy(entry.path(), place / "case", fs::copy_options::recursive);
    const ProgramResult result = run_program({"train", "run.toml", "-q"}, place / "case");
    EXPECT_EQ(result.exit_code, 0) << entry.path() << result.err;
  }
}

}  // namespace
}  // namespace regard::train

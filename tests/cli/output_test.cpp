// Destinations of results and output files: full and closed streams, devices, FIFOs, symbolic links,
// permissions.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "train/tiny_task.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

class Output : public ::testing::Test {
 protected:
  Output() { write_file(folder_.path(), "text", "one two\nthree\n"); }

  // Run a bash script in the folder, with the program as $R. Return its exit code, or 128 + signal if a
  // signal ended it.
  int script(const std::string& text) const {
    const std::string command = "cd '" + folder_.path().string() + "' && R='" + program_path() + "'; " + text;
    const int status = std::system(("bash -c '" + quoted(command) + "'").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Run the program with arguments, which may end with redirections.
  int shell(const std::string& arguments) const { return script("$R " + arguments); }
  static std::string quoted(const std::string& text) {
    std::string quoted;
    for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return quoted;
  }
  std::string embed(const std::string& output) const { return "embed " + model_ + " text -q -o " + output; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }
  std::string said() const { return file_content(folder_ / "said"); }

  const std::string model_ = golden("hf-more/st-mean").string();
  TemporaryFolder folder_;
};

TEST_F(Output, ResultsThatCannotBeWrittenAreExitCodeFour) {
  train::testing_task::write_run(folder_.path());
  ASSERT_EQ(shell("train run.toml -q --set training.max_steps=2"), 0);
  for (const std::string call :
       {"--help", "--version", "--help-all", "help train", "info", "info run", "train --help-config",
        "translate run -i train.en", "translate run -i train.en --json", "evaluate run valid.en valid.de",
        "tokenizer encode -T run text", "attend run one", "explain one", "train run.toml --dry-run"})
    for (const std::string where : {" > /dev/full", " >&-"}) {
      EXPECT_EQ(shell(call + where + " 2> said"), 4) << call << where;
      EXPECT_NE(said().find("cannot write"), std::string::npos) << call << where << said();
    }
}

// Every command prints through the same functions. Output printed in another way would not be checked for
// errors.
TEST_F(Output, EveryCommandPrintsThroughOneDoor) {
  for (const auto& entry : fs::directory_iterator(source_folder() / "src/cli")) {
    const std::string name = entry.path().filename().string(), text = file_content(entry.path());
    if (name == "output.cpp") continue;
    for (const char* call :
         {"fmt::print(", "std::cout", "std::cerr", "printf(", "std::fputs(", "std::fwrite("})
      EXPECT_EQ(text.find(call), std::string::npos)
          << name << ": " << call << "; use print_result() or print_message()";
  }
}

TEST_F(Output, AClosedPipeEndsQuietlyAndLeavesNoOutputFile) {
  train::testing_task::write_run(folder_.path());
  ASSERT_EQ(shell("train run.toml -q --set training.max_steps=2"), 0);
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "one two three\n";
  write_file(folder_.path(), "many", lines);
  for (const std::string call : {"tokenizer encode -T run many", "translate run -i many --attend attended"}) {
    EXPECT_EQ(shell(call + " 2> said | head -n 1 > first; exit ${PIPESTATUS[0]}"), 128 + SIGPIPE) << call;
    EXPECT_EQ(said(), "") << call;
    EXPECT_EQ(lines_of(file_content(folder_ / "first")).size(), 1u) << call;
  }
  EXPECT_FALSE(fs::exists(folder_ / "attended"));
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(is_leftover(entry.path())) << entry.path();
}

TEST_F(Output, StandardErrorDoesNotEndARun) {
  train::testing_task::write_run(folder_.path());
  ASSERT_EQ(shell("train run.toml -t 1 2> said"), 0);
  const std::string weights = file_content(folder_ / "run/latest/model.safetensors");
  ASSERT_FALSE(weights.empty());
  for (const std::string where : {"2> /dev/full", "2>&-", "0<&- 1>&- 2>&-", "2> >(true)"}) {
    fs::remove_all(folder_ / "run");
    EXPECT_EQ(shell("train run.toml -t 1 " + where), 0) << where;
    EXPECT_EQ(file_content(folder_ / "run/latest/model.safetensors"), weights) << where;
  }
  EXPECT_EQ(shell("nonsense 2> /dev/full"), 2);
  EXPECT_EQ(shell("info nowhere 2>&-"), 4);
}

// A file that is opened later must not become a standard stream.
TEST_F(Output, NothingIsWrittenIntoAFileInTheNumberOfAClosedStream) {
  ASSERT_EQ(shell(embed("right")), 0);
  const std::string right = file_content(folder_ / "right");
  for (const std::string closed : {"0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"}) {
    EXPECT_EQ(shell("embed " + model_ + " text -o output " + closed), 0) << closed;
    EXPECT_EQ(file_content(folder_ / "output"), right) << closed;
  }
  EXPECT_EQ(shell("embed " + model_ + " <&- 2> said"), 4) << "a closed standard input has no lines";
  EXPECT_NE(said().find("standard input: cannot read"), std::string::npos) << said();
}

TEST_F(Output, DevicesAndFifosAreWrittenInPlace) {
  ASSERT_EQ(shell(embed("right")), 0);
  const std::string right = file_content(folder_ / "right");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(script("timeout 60 cat fifo > read & $R " + embed("fifo") + " && wait"), 0);
  EXPECT_EQ(file_content(folder_ / "read"), right);
  EXPECT_TRUE(fs::is_fifo(folder_ / "fifo"));
  if (::mknod((folder_ / "null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0 &&
      ::access((folder_ / "null").c_str(), W_OK) == 0) {
    EXPECT_EQ(shell(embed("null")), 0);
    EXPECT_TRUE(fs::is_character_file(folder_ / "null"));
  }
  EXPECT_EQ(shell(embed("/dev/full") + " 2> said"), 4);
  EXPECT_NE(said().find("No space left"), std::string::npos) << said();
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  for (const std::string standard_output : {"/dev/stdout", "-", "/dev/fd/1"}) {
    EXPECT_EQ(shell(embed(standard_output) + " > file"), 0);
    EXPECT_EQ(file_content(folder_ / "file"), right) << standard_output;
    EXPECT_EQ(shell(embed(standard_output) + " | cat > file"), 0);
    EXPECT_EQ(file_content(folder_ / "file"), right) << standard_output;
  }
  write_file(folder_.path(), "file", "kept");
  EXPECT_EQ(shell(embed("/dev/stdout") + " >> file"), 0);
  EXPECT_EQ(file_content(folder_ / "file"), "kept" + right);
}

TEST_F(Output, LinksAndPermissionsStay) {
  ASSERT_EQ(shell(embed("right")), 0);
  const std::string right = file_content(folder_ / "right");
  fs::create_directory(folder_ / "elsewhere");
  write_file(folder_.path(), "elsewhere/target", "old");
  ASSERT_EQ(::chmod((folder_ / "elsewhere/target").c_str(), 0640), 0);
  ASSERT_EQ(::symlink("elsewhere/target", (folder_ / "link").c_str()), 0);
  ASSERT_EQ(::symlink("elsewhere/new", (folder_ / "dangling").c_str()), 0);
  for (const char* name : {"link", "dangling"}) {
    EXPECT_EQ(shell(embed(name)), 0) << name;
    EXPECT_TRUE(fs::is_symlink(folder_ / name)) << name;
    EXPECT_EQ(file_content(folder_ / name), right) << name;
  }
  EXPECT_EQ(fs::status(folder_ / "link").permissions(), fs::perms(0640));
  EXPECT_EQ(script("umask 027; $R " + embed("masked")), 0);
  EXPECT_EQ(fs::status(folder_ / "masked").permissions(), fs::perms(0640));
}

TEST_F(Output, JsonReplacesBytesOfPathsThatAreNotUtf8) {
  const std::string model = "m\xFF", run = "r\xFF", tokenizer = "t\xFF.json";
  fs::copy(model_, folder_ / model, fs::copy_options::recursive);
  train::testing_task::write_run(folder_.path());
  ASSERT_EQ(shell("train run.toml -q --set training.max_steps=2"), 0);
  fs::rename(folder_ / "run", folder_ / run);
  for (const std::vector<std::string>& call : std::vector<std::vector<std::string>>{
           {"attend", model, "one two"},
           {"context", model, "one", "one two", "one three"},
           {"prune", run},
           {"tokenizer", "train", "-o", tokenizer, "text", "--vocab-size", "300"}}) {
    std::vector<std::string> arguments = call;
    arguments.push_back("--json");
    const ProgramResult result = run_program(arguments, folder_.path());
    ASSERT_EQ(result.exit_code, 0) << call[0] << result.err;
    EXPECT_NE(parse_json(result.out, "out").dump().find("\uFFFD"), std::string::npos) << call[0];
  }
}

TEST_F(Output, LongNamesAreWritten) {
  for (const std::size_t size : {236u, 240u, 255u}) {
    const std::string name(size, 'n');
    EXPECT_EQ(shell(embed(name)), 0) << size;
    EXPECT_TRUE(fs::exists(folder_ / name)) << size;
    EXPECT_EQ(shell("convert " + model_ + " m" + name.substr(1) + " -q"), 0) << size;
    fs::remove_all(folder_ / ("m" + name.substr(1)));
  }
}

// The path of an output file is checked before the data and the model are read.
TEST_F(Output, PathsThatCannotBeWrittenAreErrorsBeforeTheComputation) {
  const std::string commands[] = {"evaluate " + model_ + " none.tsv --task embedding -o",
                                  "evaluate none none.tsv -o", "attend none text --html",
                                  "attend none text --svg"};
  for (const std::string& command : commands) {
    EXPECT_EQ(shell(command + " folder/output 2> said"), 4) << command;
    EXPECT_NE(said().find("folder/output: cannot create"), std::string::npos) << command << "\n" << said();
  }
  EXPECT_EQ(entries(), 2u);  // the files "text" and "said"
}

// Each way to open a model for an evaluation warns once about a damaged checkpoint.
TEST_F(Output, EvaluateWarnsAboutADamagedCheckpoint) {
  train::testing_task::write_run(folder_.path());
  ASSERT_EQ(shell("train run.toml -q --set training.max_steps=4 --set validation.every_steps=2"), 0);
  write_file(folder_ / "run/best", "model.safetensors", "damaged");
  write_file(folder_.path(), "pairs.tsv", "one\ttwo\t1\ntwo\ttwo\t2\nsix\tone\t3\n");
  for (const std::string data : {"valid.en valid.de", "pairs.tsv --task embedding"}) {
    EXPECT_EQ(shell("evaluate run " + data + " -q > results 2> said"), 0) << said();
    EXPECT_EQ(lines_of(said()).size(), 1u) << data << "\n" << said();
    EXPECT_NE(said().find("the best checkpoint is unusable"), std::string::npos) << data << "\n" << said();
  }
}

// Exceeding `ulimit -f` is handled like a full disk; SIGXFSZ does not kill the program.
TEST_F(Output, BeyondTheLimitOfAFilesSizeIsAnErrorThatLeavesNothing) {
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "one two three\n";
  write_file(folder_.path(), "many", lines);
  write_file(folder_.path(), "output", "old");
  EXPECT_EQ(script("ulimit -f 4; $R embed " + model_ + " many -q -o output 2> said"), 4);
  EXPECT_NE(said().find("File too large"), std::string::npos) << said();
  EXPECT_EQ(file_content(folder_ / "output"), "old");
  EXPECT_EQ(entries(), 4u);  // the files "text", "many", "output" and "said"
}

// The --attend file may be the input file: it is replaced after all input was read.
TEST_F(Output, AnInputMayBeReplacedByTheOutput) {
  ASSERT_EQ(shell("embed " + model_ + " text -q --attend right > results"), 0);
  ASSERT_EQ(lines_of(file_content(folder_ / "right")).size(), 2u);
  EXPECT_EQ(shell("embed " + model_ + " text -q --attend text > results"), 0);
  EXPECT_EQ(file_content(folder_ / "text"), file_content(folder_ / "right"));
}

// The pipe is open but nobody reads it: the program blocks in write(), and Ctrl-C ends it.
TEST_F(Output, AnInterruptEndsTheWaitForAReader) {
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "one two three\n";
  write_file(folder_.path(), "many", lines);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const std::string command = "exec 9<> pipe; $R embed " + model_ +
                              " many -q > pipe 2> said & program=$!; read line <&9; sleep 1; " +
                              "kill -INT $program; wait $program";
  EXPECT_EQ(script(command), 130) << said();
  EXPECT_EQ(said(), "");
}

// If the program is interrupted while it waits for input, the old output file is kept.
TEST_F(Output, AnInterruptedEmbedLeavesTheOldFile) {
  write_file(folder_.path(), "output", "old");
  ASSERT_EQ(::mkfifo((folder_ / "lines").c_str(), 0600), 0);
  for (const char* option : {"-o output", "--attend output"}) {
    // The FIFO stays open, so the program waits for more lines until it is interrupted.
    const std::string command = "exec 9<> lines; $R embed " + model_ + " lines -q " + option +
                                " > results & program=$!; exec 9<> lines; " +
                                "echo one >&9; sleep 1; kill -INT $program; wait $program";
    EXPECT_EQ(script(command), 130) << option;
    EXPECT_EQ(file_content(folder_ / "output"), "old") << option;
  }
  EXPECT_EQ(entries(), 4u);  // the files "text", "output", "lines" and "results"
}

}  // namespace
}  // namespace regard::testing

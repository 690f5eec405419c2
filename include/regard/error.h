// One exception type with a place. The library never aborts, exits or prints: whatever goes wrong because of
// input, files or the machine arrives as a regard::Error. Invariants broken by our own code are asserts.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace regard {

// What went wrong, coarse enough to act on. The program maps these to exit codes 2, 3, 4, 5 and 1.
enum class ErrorKind {
  usage,     // the caller asked for something that does not exist or does not fit together
  bad_file,  // a file was read and its content is wrong
  io,        // the system could not read, write, map or sync
  numeric,   // a value that must be finite is not (training diverged)
  internal,  // none of the above
};

// Where: a file and, as known, a line (from 1) or a byte (from 0). Unknown parts are empty or -1.
struct Place {
  std::string file;
  std::int64_t line = -1;
  std::int64_t byte = -1;
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);
  Error(ErrorKind kind, std::string message, Place place);

  // Each returns *this so that an error can be built in one expression:
  //   throw Error(ErrorKind::bad_file, "vocabulary has a hole").at({path}).found("id 7 missing")
  //       .expected("ids 0 to 99").remedy("train the tokenizer again");
  Error& at(Place place);
  Error& found(std::string text);
  Error& expected(std::string text);
  Error& remedy(std::string text);

  ErrorKind kind() const noexcept { return kind_; }
  const Place& place() const noexcept { return place_; }
  const std::string& message() const noexcept { return message_; }

  // The whole of it on one line: "FILE:LINE: MESSAGE (found …; expected …). REMEDY". Control characters
  // appear as escapes and overlong parts cut, so it can be printed whatever a file held.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();
  ErrorKind kind_;
  std::string message_, found_, expected_, remedy_, text_;
  Place place_;
};

// Shorthands for the commonest kinds.
Error usage_error(std::string message);
Error file_error(std::string file, std::string message);

}  // namespace regard

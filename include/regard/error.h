// The library's exception type, with the location of the error. The library never aborts, exits or prints:
// errors in input, in files or of the machine are thrown as regard::Error. Invariants of the library's own
// code are asserts.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace regard {

// Category of an error. The command-line program maps these to exit codes 2, 3, 4, 5 and 1.
enum class ErrorKind {
  usage,     // invalid argument or combination of arguments
  bad_file,  // a file was read, but its content is invalid
  io,        // the system could not read, write, map or sync
  numeric,   // a value that must be finite is not (training diverged)
  internal,  // none of the above
};

// Location of an error: a file and, if known, a line (from 1) or a byte (from 0). Unknown parts are empty or
// -1.
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

  // The complete error on one line: "FILE:LINE: MESSAGE (found …; expected …). REMEDY". Control characters
  // are escaped and overlong parts are cut, so it can be printed even if it quotes a malformed file.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();
  ErrorKind kind_;
  std::string message_, found_, expected_, remedy_, text_;
  Place place_;
};

// Shorthands for the most common kinds.
Error usage_error(std::string message);
Error file_error(std::string file, std::string message);

}  // namespace regard

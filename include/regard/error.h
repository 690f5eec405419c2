// The library's exception type, with the location of the error. The library never aborts, exits or prints:
// system errors and errors in inputs and files are thrown as regard::Error. Asserts check the invariants of
// the library's own code.
//
// The kind is the cause of an error, regardless of where it is detected:
//
//   usage               the call: an option, an argument, a combination of them, an object that was moved
//                       from, an output path that already exists, or an operation that the model does not
//                       support
//   invalid_input       the data given to a model or tokenizer: a text that is not UTF-8, has no tokens, or
//                       is longer than the model's maximum number of positions; ids outside the
//                       vocabulary; images or named tensors that the model cannot read, even if their
//                       file is valid
//   bad_file            a file: configuration, weights, tokenizer, chat template, run file, corpus or image
//                       whose content is invalid for every model
//   io                  the system: it cannot find, open, read, write, map or sync a file
//   numeric             the numbers: a value that must be finite is not (training diverged)
//   cancelled           the caller: its callback stopped the operation
//   resource_exhausted  the limits: memory, threads, open files, pages or positions of a key/value cache,
//                       number of sessions. The same call succeeds if the limit is higher
//   internal            the library: a bug, or an exception of unknown origin
//
// std::bad_alloc is also thrown if a container of the standard library cannot grow; attempt()
// (regard/result.h) returns it as resource_exhausted.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "regard/export.h"

namespace regard {

// Kinds of errors. The comment of each kind is the exit code of the command-line program.
enum class ErrorKind {
  usage,               // exit code 2
  invalid_input,       // exit code 3
  bad_file,            // exit code 3
  io,                  // exit code 4
  numeric,             // exit code 5
  cancelled,           // exit code 1
  resource_exhausted,  // exit code 1
  internal,            // exit code 1
};

REGARD_API const char* name_of(ErrorKind kind) noexcept;  // name of the kind, such as "invalid_input"

// Location of an error: a file and, if known, a line or a byte. For data that is not in a file, the file is a
// name such as "text" or "standard input".
struct Place {
  std::string file;        // empty if unknown
  std::int64_t line = -1;  // line number, from 1; -1 if unknown
  std::int64_t byte = -1;  // byte offset, from 0; -1 if unknown
};

// Several threads may read one Error at the same time, as with a std::string.
class REGARD_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);
  Error(ErrorKind kind, std::string message, Place place);

  // Each function returns *this, so that an error can be built in one expression:
  //   throw Error(ErrorKind::bad_file, "vocabulary has a hole").at({path}).found("id 7 missing")
  //       .expected("ids 0 to 99").remedy("train the tokenizer again");
  Error& at(Place place);
  Error& found(std::string text);
  Error& expected(std::string text);
  Error& remedy(std::string text);

  ErrorKind kind() const noexcept { return kind_; }
  // Return the parts of what(), unescaped and complete. A part that is unknown is empty.
  const std::string& message() const noexcept { return message_; }
  const std::string& found() const noexcept { return found_; }
  const std::string& expected() const noexcept { return expected_; }
  const std::string& remedy() const noexcept { return remedy_; }
  const Place& place() const noexcept { return place_; }
  const std::string& file() const noexcept { return place_.file; }

  // Return the complete error on one line: "FILE:LINE: MESSAGE (expected …, found …). REMEDY". It can be
  // printed even if it quotes a malformed file, because control characters are escaped and overlong parts are
  // cut.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error& compose();  // compute text_ from the other members
  ErrorKind kind_;
  std::string message_, found_, expected_, remedy_, text_;
  Place place_;
};

// Functions that return an error of a common kind.
REGARD_API Error usage_error(std::string message);
REGARD_API Error input_error(std::string message);                   // an error of kind invalid_input
REGARD_API Error file_error(std::string file, std::string message);  // an error of kind bad_file
REGARD_API Error cancelled_error(std::string message);
REGARD_API Error resource_error(std::string message);  // an error of kind resource_exhausted
// Return an error of kind resource_exhausted; `bytes` is the size of the failed allocation.
REGARD_API Error out_of_memory(std::uint64_t bytes);

// Convert the exception that is being handled to an Error; call this function within a catch block.
// std::bad_alloc becomes resource_exhausted; std::system_error becomes resource_exhausted or io, by its code;
// every other exception becomes internal.
REGARD_API Error caught_error();

}  // namespace regard

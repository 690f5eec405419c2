#include "serve/request_file.h"

#include <fmt/format.h>

#include <string>

#include "serve/http_error.h"
#include "serve/memory_file.h"

namespace regard::serve {
namespace {

// Only one image is allowed: a small IDX file may contain millions of images, and each takes more memory than
// its bytes in the file.
constexpr data::ImageLimits kMostOfImage{
    .bytes = std::uint64_t{1} << 26, .pixels = std::int64_t{1} << 25, .images = 1};

}  // namespace

void refuse_file(const Error& error) {
  if (error.kind() != ErrorKind::bad_file && error.kind() != ErrorKind::io) throw;
  std::string message = error.message();
  if (!error.expected().empty()) message += ", expected " + error.expected();
  if (!error.found().empty()) message += ", found " + error.found();
  throw HttpError(400, "the file cannot be read: " + message, "invalid_file", "file");
}

data::Image read_picture(const Call& call) {
  const MemoryFile file(call.only_file().value);
  try {
    std::vector<data::Image> images = data::read_images(file.path(), kMostOfImage);
    if (images.size() != 1)
      throw HttpError(400, fmt::format("expected one image in the file, found {}", images.size()),
                      "invalid_file", "file");
    return std::move(images[0]);
  } catch (const Error& error) {
    refuse_file(error);
  }
}

}  // namespace regard::serve

#include "support/trained_demo.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "support/program.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

// A lock between processes, released by the destructor or by the end of the process.
class FileLock {
 public:
  explicit FileLock(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX) != 0)
      throw std::runtime_error("cannot lock " + path.string());
  }
  ~FileLock() { ::close(descriptor_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

// Return a name for the build of the program. Another build has another name and trains again.
std::string build_name() {
  const fs::path program = program_path();
  return std::to_string(fs::file_size(program)) + "-" +
         std::to_string(fs::last_write_time(program).time_since_epoch().count());
}

}  // namespace

TrainedDemo trained_demo() {
  const fs::path parent = build_folder() / "trained-demo", folder = parent / build_name();
  const fs::path json = folder / "output.json";  // written last
  fs::create_directories(parent);
  const FileLock lock(parent / "lock");
  if (!fs::exists(json)) {
    for (const auto& old : fs::directory_iterator(parent))
      if (old.is_directory()) fs::remove_all(old.path());
    fs::create_directories(folder);
#if defined(__x86_64__)
    ::setenv("REGARD_ISA", "avx2", 1);  // as in the documents: the same bits on every x86-64 machine
#endif
    // Other tests run on the other half of the cores (PROCESSORS in cmake/tests.cmake). Two threads are not
    // twice as fast as one, so on two cores all tests end sooner if the training has one thread.
    const std::string threads = std::to_string(REGARD_DEMO_THREADS);
    const ProgramResult result = run_program({"demo", "--json", "-q", "-t", threads}, folder, "", 1400);
    if (result.exit_code != 0) throw std::runtime_error("regard demo: " + result.err);
    std::ofstream(json) << result.out;
  }
  return {folder / "runs/demo", file_content(json)};
}

}  // namespace regard::testing

// A library to preload (LD_PRELOAD) that makes one file call of a program fail, or kills the program at this call.
// It counts the calls below that change files under one folder, from 1.
//
//   REGARD_FAULT_FOLDER  the folder: an absolute path without symbolic links
//   REGARD_FAULT         KIND:NUMBER. KIND: "kill" (a write is torn first), "io" (EIO, once), "broken" (EIO from
//                        this call on), "full" (ENOSPC from this call on, if the call needs space), "no-exchange"
//                        (renameat2 with EINVAL, NUMBER unused), "unreadable" (EIO from read() number NUMBER of a file
//                        in the folder on)
//   REGARD_FAULT_LIST    instead of REGARD_FAULT: a file of lines "KIND:NUMBER FOLDER". Before the first counted call,
//                        the process forks once for each line, so that the work before this call is done once. The
//                        child continues with this fault in FOLDER, a copy of the folder. At the fork, the program must
//                        have one thread and use relative paths. The exit status of each child (128 + signal if it was
//                        killed) is appended as a line to the file REGARD_FAULT_ENDINGS
//   REGARD_FAULT_LOG     a file outside the folder to which the name of every counted call is appended
//   REGARD_FAULT_RECORD  a file outside the folder to which every successful call that changes or syncs the folder is
//                        appended: one line of words ending in absolute paths; after a write, its bytes
//                          create PATH        resize PATH SIZE     write PATH OFFSET SIZE     sync PATH
//                          mkdir PATH         remove PATH          symlink PATH TARGET
//                          rename FROM TO     exchange FROM TO
//   REGARD_CLOCK_JUMPS   NUMBER:SECONDS,…: from reading number NUMBER of the system's clock (CLOCK_REALTIME) on, add
//                        SECONDS to the true time
//
// Calls of read() are counted only for "unreadable", and then no others. Internal calls of the C library (stdio) are
// not counted.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum fault_kind { FAULT_NONE, FAULT_KILL, FAULT_IO, FAULT_BROKEN, FAULT_FULL, FAULT_NO_EXCHANGE, FAULT_UNREADABLE };

static enum fault_kind kind = FAULT_NONE;
static long chosen = -1;
static atomic_long count, reads;
static atomic_bool is_full;
static const char* folder;
static int log_descriptor = -1, record_descriptor = -1;

static int open_log(const char* variable) {
  const char* path = getenv(variable);
  return path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void set_fault(const char* fault) {
  static const struct {
    const char* name;
    enum fault_kind kind;
  } kinds[] = {{"kill:", FAULT_KILL}, {"io:", FAULT_IO}, {"broken:", FAULT_BROKEN}, {"full:", FAULT_FULL},
               {"no-exchange:", FAULT_NO_EXCHANGE}, {"unreadable:", FAULT_UNREADABLE}};
  for (size_t i = 0; fault != NULL && i < sizeof kinds / sizeof kinds[0]; ++i) {
    const size_t size = strlen(kinds[i].name);
    if (strncmp(fault, kinds[i].name, size) != 0) continue;
    kind = kinds[i].kind;
    chosen = atol(fault + size);
  }
}

__attribute__((constructor)) static void read_settings(void) {
  folder = getenv("REGARD_FAULT_FOLDER");
  set_fault(getenv("REGARD_FAULT"));
  log_descriptor = open_log("REGARD_FAULT_LOG");
  record_descriptor = open_log("REGARD_FAULT_RECORD");
}

static int threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (tasks != NULL && readdir(tasks) != NULL) ++count;
  if (tasks != NULL) closedir(tasks);
  return count - 2;  // without . and ..
}

// Fork for each line of REGARD_FAULT_LIST. Returns in the children only, or if there is no list.
static void fork_for_faults(void) {
  static bool done;
  static char fault[64], place[PATH_MAX];
  const char* list = done ? NULL : getenv("REGARD_FAULT_LIST");
  done = true;
  if (list == NULL) return;
  const int endings = open_log("REGARD_FAULT_ENDINGS");
  // Read the whole list first: a child that ends would move the file offset that it shares with the parent.
  static char lines[1 << 20];
  const int file = (int)syscall(SYS_openat, AT_FDCWD, list, O_RDONLY | O_CLOEXEC);
  const long size = syscall(SYS_read, file, lines, sizeof lines - 1);
  syscall(SYS_close, file);
  if (size <= 0 || threads() != 1) {
    fprintf(stderr, "REGARD_FAULT_LIST: no list, or the program has %d threads\n", threads());
    _exit(99);
  }
  int length = 0;
  for (const char* line = lines; sscanf(line, "%63s %4095s\n%n", fault, place, &length) == 2; line += length) {
    const pid_t child = fork();
    if (child == 0) {
      folder = place;
      set_fault(fault);
      if (chdir(place) != 0) _exit(98);
      return;
    }
    int status = 0;
    waitpid(child, &status, 0);
    dprintf(endings, "%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  _exit(0);
}

static bool is_inside(const char* path) {
  const size_t size = folder == NULL ? 0 : strlen(folder);
  return size > 0 && strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static bool descriptor_is_inside(int descriptor) {
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(name, path, sizeof path - 1);
  if (size < 0) return false;
  path[size] = '\0';
  return is_inside(path);
}

// The program runs in the folder, so a relative path is inside it.
static bool path_is_inside(int at, const char* path) {
  if (path[0] == '/') return is_inside(path);
  if (at != AT_FDCWD) return descriptor_is_inside(at);
  char here[PATH_MAX];
  return getcwd(here, sizeof here) != NULL && is_inside(here);
}

// Count a call and return the errno with which it must fail, or 0. `takes_space`: the call fails on a full disk.
static int fault_at(bool inside, const char* call, bool takes_space) {
  if (!inside) return 0;
  const int before = errno;
  fork_for_faults();
  const long number = atomic_fetch_add(&count, 1) + 1;
  if (log_descriptor >= 0) {
    char line[64];
    const int size = snprintf(line, sizeof line, "%s\n", call);
    syscall(SYS_write, log_descriptor, line, (size_t)size);
  }
  errno = before;
  if (kind == FAULT_KILL && number == chosen && strcmp(call, "write") != 0) raise(SIGKILL);
  if (kind == FAULT_IO && number == chosen) return EIO;
  if (kind == FAULT_BROKEN && number >= chosen) return EIO;
  if (kind == FAULT_FULL && number == chosen) atomic_store(&is_full, true);
  return takes_space && atomic_load(&is_full) ? ENOSPC : 0;
}

// An absolute path for the record. Empty: the path is unknown.
struct full_path {
  char text[2 * PATH_MAX];
};

static struct full_path path_of_descriptor(int descriptor) {
  struct full_path full;
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(name, full.text, PATH_MAX);
  full.text[size < 0 ? 0 : size] = '\0';
  return full;
}

static struct full_path path_at(int at, const char* path) {
  struct full_path full = {""};
  if (path[0] != '/') {
    if (at != AT_FDCWD) full = path_of_descriptor(at);
    else if (getcwd(full.text, PATH_MAX) == NULL) full.text[0] = '\0';
    strcat(full.text, "/");
  }
  strncat(full.text, path, PATH_MAX - 1);
  return full;
}

// Append "CALL PATH MORE\n" and then `size` bytes.
static void record(bool done, const char* call, struct full_path path, const char* more, const void* bytes, size_t size) {
  if (!done || record_descriptor < 0 || !is_inside(path.text)) return;
  const int before = errno;
  char line[4 * PATH_MAX];
  const int length = snprintf(line, sizeof line, "%s %s%s%s\n", call, path.text, more[0] != '\0' ? " " : "", more);
  struct iovec parts[] = {{line, (size_t)length}, {(void*)bytes, size}};
  syscall(SYS_writev, record_descriptor, parts, bytes == NULL ? 1 : 2);
  errno = before;
}

static void record_write(int descriptor, const void* bytes, ssize_t size) {
  if (record_descriptor < 0 || size <= 0) return;
  char place[64];
  snprintf(place, sizeof place, "%lld %zd", (long long)lseek(descriptor, 0, SEEK_CUR) - size, size);
  record(true, "write", path_of_descriptor(descriptor), place, bytes, (size_t)size);
}

#define FAIL_IF(error)  \
  do {                  \
    const int e_ = (error); \
    if (e_ != 0) {      \
      errno = e_;       \
      return -1;        \
    }                   \
  } while (0)

static int open_at(int at, const char* path, int flags, mode_t mode) {
  const bool changes = (flags & (O_CREAT | O_WRONLY | O_RDWR | O_DIRECTORY)) != 0;
  FAIL_IF(fault_at(changes && path_is_inside(at, path), "open", (flags & O_CREAT) != 0));
  const bool creates = record_descriptor >= 0 && (flags & O_CREAT) != 0 &&
                       syscall(SYS_faccessat, at, path, F_OK) != 0;
  const int descriptor = (int)syscall(SYS_openat, at, path, flags, mode);
  if (record_descriptor >= 0 && descriptor >= 0) {
    record(creates, "create", path_at(at, path), "", NULL, 0);
    record(!creates && (flags & O_TRUNC) != 0, "resize", path_at(at, path), "0", NULL, 0);
  }
  return descriptor;
}

#define OPEN_MODE(mode, flags)                            \
  mode_t mode = 0;                                        \
  if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list more;                                         \
    va_start(more, flags);                                \
    mode = va_arg(more, mode_t);                          \
    va_end(more);                                         \
  }

int open(const char* path, int flags, ...) {
  OPEN_MODE(mode, flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  OPEN_MODE(mode, flags)
  return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int at, const char* path, int flags, ...) {
  OPEN_MODE(mode, flags)
  return open_at(at, path, flags, mode);
}
int openat64(int at, const char* path, int flags, ...) {
  OPEN_MODE(mode, flags)
  return open_at(at, path, flags | O_LARGEFILE, mode);
}

int mkdir(const char* path, mode_t mode) {
  FAIL_IF(fault_at(path_is_inside(AT_FDCWD, path), "mkdir", true));
  const int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  record(result == 0, "mkdir", path_at(AT_FDCWD, path), "", NULL, 0);
  return result;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const bool inside = descriptor_is_inside(descriptor);
  const int error = fault_at(inside, "write", true);
  const bool chosen_here = inside && atomic_load(&count) == chosen;
  if (kind == FAULT_KILL && chosen_here) {
    syscall(SYS_write, descriptor, bytes, size / 2);
    raise(SIGKILL);
  }
  // A disk that becomes full still accepts the first bytes of the write.
  if (error == ENOSPC && chosen_here && size > 1) return syscall(SYS_write, descriptor, bytes, size / 2);
  FAIL_IF(error);
  const ssize_t written = syscall(SYS_write, descriptor, bytes, size);
  if (inside) record_write(descriptor, bytes, written);
  return written;
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  if (kind == FAULT_UNREADABLE && descriptor_is_inside(descriptor))
    FAIL_IF(atomic_fetch_add(&reads, 1) + 1 >= chosen ? EIO : 0);
  return syscall(SYS_read, descriptor, bytes, size);
}

int fsync(int descriptor) {
  FAIL_IF(fault_at(descriptor_is_inside(descriptor), "fsync", true));
  const int result = (int)syscall(SYS_fsync, descriptor);
  if (record_descriptor >= 0) record(result == 0, "sync", path_of_descriptor(descriptor), "", NULL, 0);
  return result;
}

int ftruncate(int descriptor, off_t size) {
  FAIL_IF(fault_at(descriptor_is_inside(descriptor), "ftruncate", true));
  const int result = (int)syscall(SYS_ftruncate, descriptor, size);
  if (record_descriptor >= 0) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)size);
    record(result == 0, "resize", path_of_descriptor(descriptor), text, NULL, 0);
  }
  return result;
}

// Like the kernel, close() frees the descriptor even if it fails.
int close(int descriptor) {
  const int error = fault_at(descriptor_is_inside(descriptor), "close", false);
  const int result = (int)syscall(SYS_close, descriptor);
  FAIL_IF(error);
  return result;
}

int rename(const char* from, const char* to) {
  FAIL_IF(fault_at(path_is_inside(AT_FDCWD, to), "rename", false));
  const int result = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  record(result == 0, "rename", path_at(AT_FDCWD, from), path_at(AT_FDCWD, to).text, NULL, 0);
  return result;
}

int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  FAIL_IF(fault_at(path_is_inside(to_at, to), "renameat2", false));
  if (kind == FAULT_NO_EXCHANGE && flags != 0) FAIL_IF(EINVAL);
  const int result = (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
  const bool exchanges = (flags & RENAME_EXCHANGE) != 0;
  record(result == 0, exchanges ? "exchange" : "rename", path_at(from_at, from), path_at(to_at, to).text, NULL, 0);
  return result;
}

int symlink(const char* target, const char* path) {
  FAIL_IF(fault_at(path_is_inside(AT_FDCWD, path), "symlink", true));
  const int result = (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
  record(result == 0, "symlink", path_at(AT_FDCWD, path), target, NULL, 0);
  return result;
}

int unlink(const char* path) {
  FAIL_IF(fault_at(path_is_inside(AT_FDCWD, path), "unlink", false));
  const int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  record(result == 0, "remove", path_at(AT_FDCWD, path), "", NULL, 0);
  return result;
}

int unlinkat(int at, const char* path, int flags) {
  FAIL_IF(fault_at(path_is_inside(at, path), (flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", false));
  const int result = (int)syscall(SYS_unlinkat, at, path, flags);
  record(result == 0, "remove", path_at(at, path), "", NULL, 0);
  return result;
}

int rmdir(const char* path) {
  FAIL_IF(fault_at(path_is_inside(AT_FDCWD, path), "rmdir", false));
  const int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
  record(result == 0, "remove", path_at(AT_FDCWD, path), "", NULL, 0);
  return result;
}

// Return the seconds to add at this reading of the system's clock.
static long clock_jump(void) {
  static atomic_long readings;
  const char* next = getenv("REGARD_CLOCK_JUMPS");
  const long reading = next == NULL ? 0 : atomic_fetch_add(&readings, 1) + 1;
  long jump = 0;
  while (next != NULL && *next != '\0') {
    char* end = NULL;
    const long from = strtol(next, &end, 10);
    const long seconds = strtol(end + 1, &end, 10);
    if (reading >= from) jump = seconds;
    next = *end == ',' ? end + 1 : NULL;
  }
  return jump;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += clock_jump();
  return result;
}

// Replaces time() of the C library, which does not call the clock_gettime() above.
time_t time(time_t* to) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

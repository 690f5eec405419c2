// Errors of mapped files. If a page of a mapped file cannot be read, because the disk has failed or the file
// has become shorter, the system sends SIGBUS instead of returning an error.
#pragma once

namespace regard::cli {

// From this call on, an unreadable page of a mapped file ends the program with the exit code of ErrorKind::io
// and a message that names the file. The last checkpoint of a training run stays unmodified.
void report_unreadable_mappings();

}  // namespace regard::cli

// Errors of mapped files. If a page of a mapped file cannot be read, because the disk has failed or the file
// has become shorter, the system sends SIGBUS instead of returning an error.
#pragma once

namespace regard::cli {

// From now on, end with the exit code of an input error and a message that names the file, instead of a
// silent death by the signal. Training runs leave their last checkpoint as it is.
void report_unreadable_mappings();

}  // namespace regard::cli

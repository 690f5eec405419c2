// The transport over MPI, built as a separate module (regard_mpi.so). launch.cpp loads the module only if
// mpirun or srun started the process, so a single process needs no MPI library. Only non-blocking
// point-to-point messages are used.

// Use only the C interface: the C++ bindings of old versions require another library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "distributed/transport.h"

namespace regard::distributed {
namespace {

// Messages with the same tag are matched in the order in which they were posted.
int tag_of(Channel channel) {
  return 1 + static_cast<int>(channel);
}

class MpiTransport : public Transport {
 public:
  MpiTransport(MPI_Comm all, int rank, int size, int local_size)
      : all_(all), rank_(rank), size_(size), local_size_(local_size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }

  bool send(int to, const std::byte* data, std::size_t bytes, int id, Channel channel) override {
    if (!fits(bytes)) return false;
    MPI_Request request = MPI_REQUEST_NULL;
    const int status =
        MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag_of(channel), all_, &request);
    return posted(status, request, id);
  }
  bool receive(int from, std::byte* data, std::size_t bytes, int id, Channel channel) override {
    if (!fits(bytes)) return false;
    MPI_Request request = MPI_REQUEST_NULL;
    const int status =
        MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag_of(channel), all_, &request);
    return posted(status, request, id);
  }

  bool completed(std::vector<int>& ids) override {
    if (requests_.empty()) return true;
    done_.resize(requests_.size());
    int finished = 0;
    if (failed(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &finished, done_.data(),
                            MPI_STATUSES_IGNORE)))
      return false;
    if (finished == MPI_UNDEFINED || finished == 0) return true;
    for (int i = 0; i < finished; ++i)
      ids.push_back(ids_[static_cast<std::size_t>(done_[static_cast<std::size_t>(i)])]);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      ids_[kept++] = ids_[i];
    }
    requests_.resize(kept);
    ids_.resize(kept);
    return true;
  }

  std::string failure() const override { return failure_; }
  void close() override {
    MPI_Comm_free(&all_);
    MPI_Finalize();
  }
  void abort(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

 private:
  bool fits(std::size_t bytes) {
    if (bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return true;
    failure_ = "a message is larger than 2 GiB";
    return false;
  }
  bool posted(int status, MPI_Request request, int id) {
    if (failed(status)) return false;
    requests_.push_back(request);
    ids_.push_back(id);
    return true;
  }
  bool failed(int status) {
    if (status == MPI_SUCCESS) return false;
    char text[MPI_MAX_ERROR_STRING] = "";
    int size = 0;
    MPI_Error_string(status, text, &size);
    failure_.assign(text, static_cast<std::size_t>(std::max(size, 0)));
    return true;
  }

  MPI_Comm all_;
  int rank_, size_, local_size_;
  std::vector<MPI_Request> requests_;
  std::vector<int> ids_;   // ids of the pending requests
  std::vector<int> done_;  // buffer of completed()
  std::string failure_;
};

}  // namespace
}  // namespace regard::distributed

extern "C" __attribute__((visibility("default"))) regard::distributed::Transport* regard_open_transport(
    char* failure, std::size_t capacity) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    std::snprintf(failure, capacity, "MPI_Init_thread failed");
    return nullptr;
  }
  MPI_Comm all = MPI_COMM_NULL, host = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  int rank = 0, size = 1, local_size = 1;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  if (MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) == MPI_SUCCESS) {
    MPI_Comm_size(host, &local_size);
    MPI_Comm_free(&host);
  }
  return new regard::distributed::MpiTransport(all, rank, size, local_size);
}

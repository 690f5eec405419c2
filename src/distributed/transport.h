// Transport: messages between two of the processes ("ranks") of one training run. Implementations: MPI
// (mpi_transport.cpp), and threads of one process in tests. Ranks (ranks.h) is the interface for all other
// code.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace regard::distributed {

// Messages with this id or a higher one are the notices of a stop vote (stop_vote.h).
inline constexpr int kFirstNotice = 1 << 30;

// Messages from one rank to another are matched within a channel, in the order in which both sides posted
// them; a message must have the same size on both sides.
enum class Channel : unsigned char {
  data,
  results,  // sums over all ranks of a part of the data; sent while other parts are being exchanged
  notices,
};

// Sends and receives the messages of one rank. Not thread-safe: all calls of a rank must come from one
// thread. No function throws.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;        // number of this rank, from 0
  virtual int size() const = 0;        // number of ranks
  virtual int local_size() const = 0;  // number of ranks on this host, including this one

  // Post a message without waiting for it; returns false on failure. Until completed() has returned `id`,
  // `data` must stay valid and unmodified, and a receiving buffer must not be read.
  virtual bool send(int to, const std::byte* data, std::size_t bytes, int id, Channel channel) = 0;
  virtual bool receive(int from, std::byte* data, std::size_t bytes, int id, Channel channel) = 0;
  // Append the ids of messages that have completed since the last call to `ids`. Does not wait. Returns
  // false on failure.
  virtual bool completed(std::vector<int>& ids) = 0;
  virtual std::string failure() const = 0;  // text of the last failure

  virtual void close() = 0;               // leave the run at its normal end; every rank must call it
  virtual void abort(int exit_code) = 0;  // end all ranks with this exit code; usually does not return
};

// Name and type of the function that a module with a transport exports. It returns the transport, owned by
// the caller, or null with the reason in `failure` (at most `capacity` bytes with the final zero).
inline constexpr const char* kOpenTransport = "regard_open_transport";
using OpenTransport = Transport* (*)(char* failure, std::size_t capacity);

}  // namespace regard::distributed

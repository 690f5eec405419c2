#include "models/check_memory.h"

#include <string>

#include "base/counted.h"
#include "ops/check.h"
#include "regard/error.h"

namespace regard::models {

void check_memory(const Memory* memory, std::int64_t sequences) {
  if (memory == nullptr || memory->hidden == nullptr)
    throw usage_error("the decoder requires the encoder's output, which is missing")
        .remedy("Encode the source first, and pass the result to the decoder");
  ops::require_ragged("memory", memory->shape, memory->hidden->value.rows());
  if (memory->shape.sequences() != sequences)
    throw usage_error("the encoder's output has a wrong number of sequences for the decoder")
        .found(counted(memory->shape.sequences(), "sequence"))
        .expected(counted(sequences, "sequence"));
}

}  // namespace regard::models

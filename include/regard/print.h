// Tensors of any dtype as text: for programs that show their numbers. Throws usage for an undefined tensor
// and for options outside their range.
#pragma once

#include <string>
#include <vector>

#include "regard/tensor.h"

namespace regard {

struct PrintOptions {
  int digits = 3;               // after the point, 0 to 100
  std::int64_t most_rows = 12;  // 0 or more; longer ones are shortened, and the text says by how much
  std::int64_t most_columns = 12;
  std::vector<std::string> row_names = {}, column_names = {};  // may be empty
};

// "NAME [2, 3]" and then the matrix, one row a line, columns aligned (also under Devanagari and wide
// characters). A tensor of more than two dimensions is shown as its rows one after the other.
std::string matrix_text(const std::string& name, const Tensor& tensor, const PrintOptions& options = {});

// "[0.600, 0.200, 0.100]"; of more than `most` numbers the first, and how many are left out: "[0.600, … 31
// more]". `most` below 1 counts as 1.
std::string vector_text(const Tensor& tensor, int digits = 3, std::int64_t most = 12);

}  // namespace regard

// Format tensors of any dtype as text. The functions throw usage if the tensor is undefined or an option is
// out of range.
#pragma once

#include <string>
#include <vector>

#include "regard/export.h"
#include "regard/tensor.h"

namespace regard {

struct PrintOptions {
  int digits = 3;               // number of digits after the decimal point, 0 to 100
  std::int64_t most_rows = 12;  // maximum rows, 0 or more; further rows are omitted and their number is shown
  std::int64_t most_columns = 12;
  std::vector<std::string> row_names = {}, column_names = {};  // may be empty
};

// Return "NAME [2, 3]" followed by the matrix, one row per line, with columns aligned by terminal cells (also
// for Devanagari and wide characters). A tensor of more than two dimensions is shown as a matrix [rows(),
// columns()].
REGARD_API std::string matrix_text(const std::string& name, const Tensor& tensor,
                                   const PrintOptions& options = {});

// Return "[0.600, 0.200, 0.100]" or, if there are more than `most` numbers, the first `most` of them and the
// number of the others: "[0.600, … 31 more]". `most` below 1 is treated as 1.
REGARD_API std::string vector_text(const Tensor& tensor, int digits = 3, std::int64_t most = 12);

}  // namespace regard

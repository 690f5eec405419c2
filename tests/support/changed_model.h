// A copy of a model folder with other weights.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "regard/tensor.h"
#include "support/namespaces.h"

namespace regard::testing {

// Copy the model folder `from` to `to`. change(name, weight) is called for each weight with a copy that it
// may change.
void copy_changed_model(const std::filesystem::path& from, const std::filesystem::path& to,
                        const std::function<void(const std::string& name, const Tensor& weight)>& change);

// Set to zero the columns of an output projection [hidden, heads · size] that read head `head` of `heads`.
void remove_head(const Tensor& projection, std::int64_t heads, std::int64_t head);

}  // namespace regard::testing

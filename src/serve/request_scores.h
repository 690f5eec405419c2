// The member "scores" of a request's body: conversion of a classifier's logits to scores.
#pragma once

#include <optional>
#include <string>

#include "serve/json_schema.h"
#include "serve/route.h"
#include "tasks/classify.h"

namespace regard::serve {

inline Json scores_schema() {
  return schema::one_of({"softmax", "sigmoid", "none"});
}

// Return the value of the member, or nothing if the body does not have it.
inline std::optional<tasks::Scores> scores_of(const Call& call) {
  const auto name = call.value<std::string>("scores", "");
  if (name.empty()) return std::nullopt;
  return name == "softmax"   ? tasks::Scores::softmax
         : name == "sigmoid" ? tasks::Scores::sigmoid
                             : tasks::Scores::plain;
}

}  // namespace regard::serve

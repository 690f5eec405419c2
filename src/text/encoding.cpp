#include "text/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "regard/error.h"

namespace regard::text {
namespace {

template <class T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
std::vector<T> part(const std::vector<T>& from, std::size_t begin, std::size_t end) {
  return {from.begin() + static_cast<std::ptrdiff_t>(begin), from.begin() + static_cast<std::ptrdiff_t>(end)};
}

void append_tokens(Encoding& first, const Encoding& next) {
  append_all(first.ids, next.ids);
  append_all(first.tokens, next.tokens);
  append_all(first.offsets, next.offsets);
  append_all(first.byte_offsets, next.byte_offsets);
  append_all(first.type_ids, next.type_ids);
  append_all(first.special_mask, next.special_mask);
  append_all(first.attention_mask, next.attention_mask);
  append_all(first.words, next.words);
}

Encoding without_overflow(const Encoding& encoding) {
  return encoding.slice(0, encoding.size());
}

void pad_one(Encoding& encoding, std::size_t length, const Padding& how) {
  for (Encoding& part : encoding.overflowing) pad_one(part, length, how);
  if (encoding.size() >= length) return;
  const std::size_t missing = length - encoding.size();
  const auto fill = [&](auto& list, const auto& value) {
    list.insert(how.direction == Side::left ? list.begin() : list.end(), missing, value);
  };
  fill(encoding.ids, how.id);
  fill(encoding.tokens, how.token);
  fill(encoding.offsets, Offsets{});
  fill(encoding.byte_offsets, Offsets{});
  fill(encoding.type_ids, how.type_id);
  fill(encoding.special_mask, std::uint8_t{1});
  fill(encoding.attention_mask, std::uint8_t{0});
  fill(encoding.words, std::int32_t{-1});
}

// Return the lengths of a pair after truncation that shortens the longer text first.
std::pair<std::size_t, std::size_t> longest_first(std::size_t first, std::size_t second, std::size_t most) {
  std::size_t shorter = std::min(first, second);
  std::size_t longer = shorter > most ? shorter : std::max(shorter, most - shorter);
  if (shorter + longer > most) {
    shorter = most / 2;
    longer = shorter + most % 2;
  }
  return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

}  // namespace

void Encoding::push(std::int32_t id, std::string token, std::int32_t type, bool special) {
  ids.push_back(id);
  tokens.push_back(std::move(token));
  offsets.push_back({});
  byte_offsets.push_back({});
  type_ids.push_back(type);
  special_mask.push_back(special ? 1 : 0);
  attention_mask.push_back(1);
  words.push_back(-1);
}

Encoding Encoding::slice(std::size_t begin, std::size_t end) const {
  return {part(ids, begin, end),
          part(tokens, begin, end),
          part(offsets, begin, end),
          part(byte_offsets, begin, end),
          part(type_ids, begin, end),
          part(special_mask, begin, end),
          part(attention_mask, begin, end),
          part(words, begin, end),
          {}};
}

void append(Encoding& first, const Encoding& next) {
  std::vector<Encoding> overflowing;
  for (const Encoding& mine : first.overflowing) {
    Encoding joined = mine;
    append(joined, next);
    overflowing.push_back(std::move(joined));
    for (const Encoding& theirs : next.overflowing) {
      Encoding both = mine;
      append(both, theirs);
      overflowing.push_back(std::move(both));
    }
  }
  for (const Encoding& theirs : next.overflowing) {
    Encoding joined = without_overflow(first);
    joined.overflowing = first.overflowing;
    append(joined, theirs);
    overflowing.push_back(std::move(joined));
  }
  append_tokens(first, next);
  first.overflowing = std::move(overflowing);
}

Encoding join(const std::vector<Encoding>& parts) {
  Encoding all;
  for (const Encoding& part : parts) append(all, part);
  return all;
}

void truncate(Encoding& encoding, std::size_t max_length, std::size_t stride, Side direction) {
  const std::size_t size = encoding.size();
  if (max_length >= size) return;
  if (max_length == 0) {
    Encoding empty;
    empty.overflowing.push_back(std::move(encoding));
    encoding = std::move(empty);
    return;
  }
  if (stride >= max_length)
    throw usage_error("the stride must be smaller than max_length minus the number of special tokens")
        .found(fmt::format("stride {}, max_length without special tokens {}", stride, max_length))
        .remedy("Choose a smaller stride or a larger max_length");
  const std::size_t step = max_length - stride;
  std::vector<Encoding> parts;
  if (direction == Side::right) {
    for (std::size_t begin = 0;; begin += step) {
      const std::size_t end = std::min(begin + max_length, size);
      parts.push_back(encoding.slice(begin, end));
      if (end == size) break;
    }
  } else {
    for (std::size_t end = size;; end -= step) {
      const std::size_t begin = end < max_length ? 0 : end - max_length;
      parts.push_back(encoding.slice(begin, end));
      if (begin == 0) break;
    }
  }
  encoding = std::move(parts.front());
  encoding.overflowing.assign(std::make_move_iterator(parts.begin() + 1),
                              std::make_move_iterator(parts.end()));
}

void truncate_pair(Encoding& first, Encoding* second, const Truncation& how) {
  const auto cut = [&how](Encoding& encoding, std::size_t length) {
    truncate(encoding, length, how.stride, how.direction);
  };
  if (how.max_length == 0) {
    cut(first, 0);
    if (second != nullptr) cut(*second, 0);
    return;
  }
  const std::size_t total = first.size() + (second != nullptr ? second->size() : 0);
  if (total <= how.max_length) return;
  const std::size_t surplus = total - how.max_length;
  if (how.strategy == Truncation::Strategy::longest_first) {
    if (second == nullptr) {
      cut(first, total - surplus);
      return;
    }
    const auto [first_length, second_length] = longest_first(first.size(), second->size(), how.max_length);
    cut(first, first_length);
    cut(*second, second_length);
    return;
  }
  const bool only_first = how.strategy == Truncation::Strategy::only_first;
  if (!only_first && second == nullptr)
    throw usage_error("the second text cannot be truncated, because there is only one text")
        .remedy("Give a pair of texts");
  Encoding& target = only_first ? first : *second;
  if (target.size() <= surplus)
    throw input_error("max_length cannot be reached by truncating only one text")
        .found("a text of " + counted(target.size(), "token"))
        .expected("more than " + counted(surplus, "token"))
        .remedy("Use the strategy longest_first or a larger max_length");
  cut(target, target.size() - surplus);
}

void pad(std::span<Encoding> batch, const Padding& how) {
  std::size_t length = how.fixed_length;
  if (length == 0)
    for (const Encoding& encoding : batch) length = std::max(length, encoding.size());
  if (how.multiple_of > 0 && length % how.multiple_of > 0)
    length += how.multiple_of - length % how.multiple_of;
  for (Encoding& encoding : batch) pad_one(encoding, length, how);
}

}  // namespace regard::text

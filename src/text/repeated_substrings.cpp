#include "text/repeated_substrings.h"

#include <algorithm>
#include <map>
#include <utility>

namespace regard::text {
namespace {

// Sorts the suffixes of all words; a suffix ends at the end of its word. Suffixes are compared by their first
// `most_` characters only, because longer substrings are not needed.
class Suffixes {
 public:
  Suffixes(const std::vector<char32_t>& text, std::uint32_t most) : text_(text), most_(most) {}

  std::vector<std::uint32_t> sorted(ThreadPool* pool) const {
    // Sort into buckets by first character, then sort each bucket.
    std::map<char32_t, std::uint32_t> starts;
    for (const char32_t c : text_)
      if (c != 0) ++starts[c];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> buckets;
    std::uint32_t total = 0;
    for (auto& [c, start] : starts) {
      buckets.emplace_back(total, total + start);
      start = std::exchange(total, total + start);
    }
    std::vector<std::uint32_t> order(total);
    for (std::uint32_t place = 0; place < text_.size(); ++place)
      if (text_[place] != 0) order[starts[text_[place]]++] = place;
    const auto one = [&](std::int64_t task, int) {
      const auto [first, last] = buckets[static_cast<std::size_t>(task)];
      sort(order.data() + first, order.data() + last, 1);
    };
    const auto tasks = static_cast<std::int64_t>(buckets.size());
    if (pool != nullptr) {
      pool->parallel_for(tasks, one);
    } else {
      for (std::int64_t task = 0; task < tasks; ++task) one(task, 0);
    }
    return order;
  }

  // Return the length of the common prefix of two suffixes, including the end-of-word character.
  std::uint32_t shared(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t depth = 0;
    while (depth < most_ && text_[a + depth] == text_[b + depth])
      if (text_[a + depth++] == 0) break;
    return depth;
  }

 private:
  // Sort suffixes that are equal in their first `depth` characters, by three-way radix quicksort (Bentley and
  // Sedgewick 1997).
  void sort(std::uint32_t* first, std::uint32_t* last, std::uint32_t depth) const {
    while (last - first > 1 && depth < most_) {
      const auto at = [&](const std::uint32_t* suffix) { return text_[*suffix + depth]; };
      const char32_t a = at(first), b = at(first + (last - first) / 2), c = at(last - 1);
      const char32_t pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
      std::uint32_t *less = first, *more = last;
      for (std::uint32_t* place = first; place < more;) {
        const char32_t key = at(place);
        if (key < pivot) {
          std::swap(*less++, *place++);
        } else if (key > pivot) {
          std::swap(*place, *--more);
        } else {
          ++place;
        }
      }
      sort(first, less, depth);
      sort(more, last, depth);
      if (pivot == 0) return;  // the suffixes in [less, more) end with this 0, so they are equal
      first = less;
      last = more;
      ++depth;
    }
  }

  const std::vector<char32_t>& text_;
  std::uint32_t most_;
};

}  // namespace

std::vector<Substring> repeated_substrings(const std::vector<char32_t>& text, std::uint32_t max_length,
                                           ThreadPool* pool) {
  const Suffixes suffixes(text, max_length + 1);
  const std::vector<std::uint32_t> order = suffixes.sorted(pool);
  // An inner node of the suffix tree whose end is not known yet. An inner node is a maximal range of sorted
  // suffixes with a common prefix of `depth` characters (Abouelhoda, Kurtz and Ohlebusch 2004).
  struct Open {
    std::uint32_t first, depth;
  };
  std::vector<Open> open = {{0, 0}};
  std::vector<Substring> found;
  for (std::uint32_t i = 1; i <= order.size(); ++i) {
    const std::uint32_t depth = i < order.size() ? suffixes.shared(order[i - 1], order[i]) : 0;
    std::uint32_t first = i - 1;
    while (open.back().depth > depth) {
      const Open node = open.back();
      open.pop_back();
      first = node.first;
      const std::uint32_t begin = order[node.first];
      if (node.depth >= 2 && node.depth <= max_length && text[begin + node.depth - 1] != 0)
        found.push_back({begin, node.depth, i - node.first, node.first});
    }
    if (open.back().depth < depth) open.push_back({first, depth});
  }
  return found;
}

}  // namespace regard::text

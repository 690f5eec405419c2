// Paged keys and values give the same bits as contiguous ones, regardless of the size and order of the pages.
// Pages that no query may attend to are never read.
#include <cstring>
#include <limits>

#include "attention_case.h"
#include "isa_fixture.h"

namespace regard::kernels {
namespace {

using testing::AttentionCase;
using testing::Floats;

class AttentionPagesTest : public testing::EachIsa {};
REGARD_EACH_ISA(AttentionPagesTest);

AttentionCase ragged_case(std::int64_t window) {
  AttentionCase made;
  Attention& options = made.options;
  options.heads = 4, options.kv_heads = 2, options.head_dim = 20, options.value_dim = 32;
  options.scale = 0.2f, options.causal = true, options.window = window;
  // The sequences are one token after a long prefix, a whole prompt, a few tokens after a prefix, and one
  // token without a prefix.
  made.shapes = {{1, 333, 332, 0, 0}, {70, 70, 0, 1, 0}, {5, 200, 195, 2, 0}, {1, 1, 0, 3, 0}};
  RandomStream random({7, 0, 0});
  made.fill(random);
  return made;
}

// Keys and values with the rows of every sequence scattered over pages. Unused rows are NaN.
struct Paged {
  Floats memory;
  std::vector<std::vector<const float*>> tables;

  Paged(const AttentionCase& from, std::int64_t rows, bool drop_passed) {
    const std::int64_t keys = rows * from.key_width(), floats = keys + rows * from.value_width();
    std::int64_t pages = 0;
    for (const auto& shape : from.shapes) pages += (shape.keys + rows - 1) / rows;
    memory.assign(static_cast<std::size_t>(pages * floats), std::numeric_limits<float>::quiet_NaN());
    std::int64_t next = 0;
    for (std::size_t s = 0; s < from.shapes.size(); ++s) {
      tables.emplace_back();
      for (std::int64_t row = 0; row < from.shapes[s].keys; ++row) {
        // Pages are assigned from last to first, so that consecutive pages are never in order.
        if (row % rows == 0) tables[s].push_back(memory.data() + (pages - 1 - next++) * floats);
        float* page = const_cast<float*>(tables[s].back());
        const std::int64_t at = from.key_begin(s) + row;
        const auto copy = [&](float* to, const Floats& source, std::int64_t width) {
          const std::int64_t heads = from.options.kv_heads, dim = width / heads;
          for (std::int64_t head = 0; head < heads; ++head)
            std::memcpy(to + (head * rows + row % rows) * dim, source.data() + at * width + head * dim,
                        static_cast<std::size_t>(dim) * sizeof(float));
        };
        copy(page, from.key, from.key_width());
        copy(page + keys, from.value, from.value_width());
      }
      const std::int64_t first_seen = from.shapes[s].offset - from.options.window + 1;
      for (std::int64_t page = 0; drop_passed && (page + 1) * rows <= first_seen; ++page)
        tables[s][static_cast<std::size_t>(page)] = nullptr;
    }
  }

  std::vector<AttentionSequence> sequences(const Attention& problem, const AttentionCase& from,
                                           std::int64_t rows) const {
    std::vector<AttentionSequence> made(problem.sequences.begin(), problem.sequences.end());
    for (std::size_t s = 0; s < made.size(); ++s) {
      made[s].key = made[s].value = nullptr;
      made[s].pages = {tables[s].data(), rows, 0, rows * from.key_width()};
    }
    return made;
  }
};

TEST_P(AttentionPagesTest, GiveTheBitsOfOnePiece) {
  ThreadPool pool(2);
  for (const std::int64_t window : {std::int64_t{0}, std::int64_t{50}})
    for (const std::int64_t rows : {2, 16, 32, 96, 128, 192}) {
      AttentionCase one = ragged_case(window);
      const Attention whole = one.problem(false);
      attention_forward(pool, whole);
      Floats weights(4 * 333), same(4 * 333);
      for (std::int64_t head = 0; head < 4; ++head)
        attention_weights(whole, 0, head, weights.data() + head * 333);
      const Floats out = one.out, lse = one.lse;
      Attention scattered = one.problem(false);
      const Paged paged(one, rows, window > 0);
      const std::vector<AttentionSequence> sequences = paged.sequences(scattered, one, rows);
      scattered.sequences = sequences;
      one.out.assign(one.out.size(), 0.0f);
      attention_forward(pool, scattered);
      ASSERT_EQ(std::memcmp(out.data(), one.out.data(), out.size() * sizeof(float)), 0)
          << rows << " rows a page, window " << window;
      ASSERT_EQ(std::memcmp(lse.data(), one.lse.data(), lse.size() * sizeof(float)), 0) << rows;
      for (std::int64_t head = 0; head < 4; ++head)
        attention_weights(scattered, 0, head, same.data() + head * 333);
      ASSERT_EQ(std::memcmp(weights.data(), same.data(), same.size() * sizeof(float)), 0) << rows;
    }
}

// 1 to 9 queries per sequence, as in beams that attend to one encoder output; 9 is above kFewQueries. The
// last sequence has no keys.
TEST_P(AttentionPagesTest, AFewQueriesGiveTheBitsOfOnePiece) {
  ThreadPool pool(2);
  for (const std::int64_t rows : {16, 32}) {
    AttentionCase one;
    one.options.heads = 3, one.options.kv_heads = 3, one.options.head_dim = 24, one.options.value_dim = 40;
    one.options.scale = 0.3f;
    one.shapes = {{1, 24, 0, 0, 0}, {4, 24, 0, 1, 0}, {8, 211, 0, 2, 0}, {9, 40, 0, 3, 0}, {2, 0, 0, 4, 0}};
    RandomStream random({9, 0, 0});
    one.fill(random);
    attention_forward(pool, one.problem(false));
    const Floats out = one.out, lse = one.lse;
    Attention scattered = one.problem(false);
    const Paged paged(one, rows, false);
    const std::vector<AttentionSequence> sequences = paged.sequences(scattered, one, rows);
    scattered.sequences = sequences;
    one.out.assign(one.out.size(), 7.0f);
    attention_forward(pool, scattered);
    ASSERT_EQ(std::memcmp(out.data(), one.out.data(), out.size() * sizeof(float)), 0)
        << rows << " rows a page";
    ASSERT_EQ(std::memcmp(lse.data(), one.lse.data(), lse.size() * sizeof(float)), 0) << rows;
  }
}

// Negative control: a changed number in a row inside the window changes the result; one outside does not.
TEST_P(AttentionPagesTest, NegativeControl) {
  ThreadPool pool(1);
  AttentionCase one = ragged_case(50);
  Attention problem = one.problem(false);
  Paged paged(one, 32, false);
  const std::vector<AttentionSequence> sequences = paged.sequences(problem, one, 32);
  problem.sequences = sequences;
  attention_forward(pool, problem);
  const Floats before = one.out;
  const_cast<float*>(paged.tables[0][1])[3] += 1.0f;
  attention_forward(pool, problem);
  EXPECT_EQ(before, one.out) << "a row outside the window changed the result";
  const_cast<float*>(paged.tables[0][9])[3] += 1.0f;
  attention_forward(pool, problem);
  EXPECT_NE(before, one.out);
}

}  // namespace
}  // namespace regard::kernels

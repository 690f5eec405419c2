#include "vectors/similar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "kernels/gemm.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

constexpr std::size_t kBlockRows = 512;  // number of word vectors that one task of the thread pool scores
constexpr std::size_t kQuestionsAtOnce = 256;

// Scale a vector to length 1; a zero vector is not changed.
void normalize(std::span<float> vector) {
  double sum = 0.0;
  for (const float value : vector) sum += static_cast<double>(value) * value;
  const double inverse = sum > 0.0 ? 1.0 / std::sqrt(sum) : 0.0;
  using Range = std::numeric_limits<float>;
  if (inverse >= static_cast<double>(Range::min()) && inverse <= static_cast<double>(Range::max()))
    for (float& value : vector) value *= static_cast<float>(inverse);
  else  // the inverse of a very small or very large norm is not a normal float
    for (float& value : vector) value = static_cast<float>(static_cast<double>(value) * inverse);
}

std::vector<float> unit(std::span<const float> vector) {
  std::vector<float> scaled(vector.begin(), vector.end());
  normalize(scaled);
  return scaled;
}

// Query vectors of all questions. 3CosAdd has one per question, 3CosMul one per word of a question.
class Queries {
 public:
  Queries(std::span<const Question> questions, std::size_t size, AnalogyMethod method) : method_(method) {
    for (const Question& question : questions) {
      starts_.push_back(rows_);
      positives_.push_back(question.positive.size());
      if (method == AnalogyMethod::add) {
        add_row(combined(question, size));
      } else {
        for (const auto& vector : question.positive) add_row(unit(vector));
        for (const auto& vector : question.negative) add_row(unit(vector));
      }
    }
    starts_.push_back(rows_);
  }

  std::size_t rows() const { return rows_; }
  const float* data() const { return values_.data(); }

  // Return the score of a word; `cosines` [rows()] are the cosines of its vector with every query vector.
  float score(std::size_t question, const float* cosines) const {
    const std::size_t begin = starts_[question];
    if (method_ == AnalogyMethod::add) return cosines[begin];
    double product = 1.0, divisor = 1.0;
    for (std::size_t row = begin; row < starts_[question + 1]; ++row) {
      const double shifted = (1.0 + static_cast<double>(cosines[row])) / 2.0;
      (row < begin + positives_[question] ? product : divisor) *= shifted;
    }
    return static_cast<float>(product / (divisor + kMultiplyEpsilon));
  }

 private:
  static std::vector<float> combined(const Question& question, std::size_t size) {
    std::vector<float> sum(size, 0.0f);
    for (const auto& vector : question.positive) {
      const auto one = unit(vector);
      for (std::size_t i = 0; i < size; ++i) sum[i] += one[i];
    }
    for (const auto& vector : question.negative) {
      const auto one = unit(vector);
      for (std::size_t i = 0; i < size; ++i) sum[i] -= one[i];
    }
    return unit(sum);
  }
  void add_row(const std::vector<float>& row) {
    values_.insert(values_.end(), row.begin(), row.end());
    ++rows_;
  }

  AnalogyMethod method_;
  std::vector<std::size_t> starts_, positives_;
  std::size_t rows_ = 0;
  std::vector<float> values_;  // [rows, size]
};

bool better(const Neighbour& a, const Neighbour& b) {
  return a.score != b.score ? a.score > b.score : a.index < b.index;
}

// Add a candidate to `best`, a heap of at most `count` candidates with the worst one at the top.
void offer(std::vector<Neighbour>& best, std::size_t count, const Neighbour& candidate) {
  if (best.size() == count) {
    if (!better(candidate, best.front())) return;
    std::pop_heap(best.begin(), best.end(), better);
    best.back() = candidate;
  } else {
    best.push_back(candidate);
  }
  std::push_heap(best.begin(), best.end(), better);
}

using Lists = std::vector<std::vector<Neighbour>>;

// Scores a block of words for every question.
class Scorer {
 public:
  Scorer(const WordVectors& vectors, std::span<const Question> questions, AnalogyMethod method)
      : vectors_(vectors),
        questions_(questions),
        queries_(questions, static_cast<std::size_t>(vectors.size()), method) {}

  void score(ThreadPool& pool, std::size_t begin, std::size_t end, std::size_t count, Lists& best) const {
    const auto size = static_cast<std::size_t>(vectors_.size());
    const std::size_t rows = end - begin;
    std::vector<float> units(rows * size), cosines(rows * queries_.rows());
    for (std::size_t i = 0; i < rows; ++i) {
      float* row = units.data() + i * size;
      vectors_.copy(begin + i, row);
      const float norm = vectors_.norm(begin + i);
      const float factor = norm > 0.0f ? 1.0f / norm : 0.0f;
      if (std::isnormal(factor))
        for (std::size_t at = 0; at < size; ++at) row[at] *= factor;
      else
        normalize({row, size});
    }
    kernels::Gemm product;
    product.m = static_cast<std::int64_t>(rows);
    product.n = static_cast<std::int64_t>(queries_.rows());
    product.k = product.lda = product.ldb = vectors_.size();
    product.a = units.data();
    product.b = queries_.data();
    product.transpose_b = true;
    product.c = cosines.data();
    product.ldc = product.n;
    kernels::gemm(pool, product);
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      const auto& excluded = questions_[q].excluded;
      for (std::size_t i = 0; i < rows; ++i) {
        const Neighbour candidate{begin + i, queries_.score(q, cosines.data() + i * queries_.rows())};
        if (best[q].size() == count && !better(candidate, best[q].front())) continue;
        if (std::find(excluded.begin(), excluded.end(), candidate.index) == excluded.end())
          offer(best[q], count, candidate);
      }
    }
  }

 private:
  const WordVectors& vectors_;
  std::span<const Question> questions_;
  Queries queries_;
};

}  // namespace

double cosine(std::span<const float> x, std::span<const float> y) {
  double product = 0.0, xx = 0.0, yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    product += static_cast<double>(x[i]) * y[i];
    xx += static_cast<double>(x[i]) * x[i];
    yy += static_cast<double>(y[i]) * y[i];
  }
  return xx > 0.0 && yy > 0.0 ? product / std::sqrt(xx * yy) : 0.0;
}

Question neighbours_of(const WordVectors& vectors, const std::string& word) {
  Question question;
  question.positive.push_back(vectors.require(word));
  if (const auto index = vectors.find(word)) question.excluded.push_back(*index);
  return question;
}

Question analogy_of(const WordVectors& vectors, const std::string& a, const std::string& b,
                    const std::string& c) {
  Question question;
  question.positive = {vectors.require(b), vectors.require(c)};
  question.negative = {vectors.require(a)};
  for (const std::string& word : {a, b, c})
    if (const auto index = vectors.find(word)) question.excluded.push_back(*index);
  return question;
}

std::vector<std::vector<Neighbour>> search(const WordVectors& vectors, std::span<const Question> questions,
                                           std::size_t count, ThreadPool& pool, AnalogyMethod method,
                                           std::size_t restrict) {
  for (const Question& question : questions)
    if (question.positive.empty()) throw usage_error("expected at least one word in a query, found none");
  if (count == 0) return Lists(questions.size());
  const std::size_t words = restrict == 0 ? vectors.count() : std::min(restrict, vectors.count());
  Lists all;
  for (std::size_t first = 0; first < questions.size(); first += kQuestionsAtOnce) {
    const auto part = questions.subspan(first, std::min(kQuestionsAtOnce, questions.size() - first));
    const Scorer scorer(vectors, part, method);
    Lists best(part.size());
    std::mutex guard;
    pool.parallel_for(static_cast<std::int64_t>((words + kBlockRows - 1) / kBlockRows),
                      [&](std::int64_t task, int) {
                        const std::size_t begin = static_cast<std::size_t>(task) * kBlockRows;
                        Lists mine(part.size());
                        scorer.score(pool, begin, std::min(begin + kBlockRows, words), count, mine);
                        // The order of blocks does not change the result, because better() is a total order.
                        const std::lock_guard lock(guard);
                        for (std::size_t q = 0; q < part.size(); ++q)
                          for (const Neighbour& one : mine[q]) offer(best[q], count, one);
                      });
    for (auto& list : best) {
      std::sort(list.begin(), list.end(), better);
      all.push_back(std::move(list));
    }
  }
  return all;
}

}  // namespace regard::vectors

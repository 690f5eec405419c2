#include "infer/scheduler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/random.h"
#include "kernels/rows.h"
#include "regard/error.h"

namespace regard::infer {
namespace {

// Sources or prompts that one step takes in, in tokens: bounds the memory of their activations.
constexpr std::int64_t kTokensAtOnce = 8192;

std::int64_t width_of(const SearchOptions& options) {
  return options.beam > 1 ? options.beam : options.sample ? options.n_best : 1;
}

std::int64_t slot_count(const SearchOptions& options) {
  const std::int64_t width = width_of(options);
  return std::max<std::int64_t>(1, options.rows_at_once / width) * width;
}

void check_ids(const char* what, std::span<const std::int32_t> ids, std::int64_t vocabulary) {
  for (const std::int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      throw usage_error(std::string(what) + " has an id outside the model's vocabulary")
          .found(std::to_string(id))
          .expected("0 to " + std::to_string(vocabulary - 1))
          .remedy("use the tokenizer that the model was trained with");
}

void check_length(const char* what, std::size_t tokens, std::int64_t limit) {
  if (limit > 0 && static_cast<std::int64_t>(tokens) > limit)
    throw usage_error(std::string(what) + " is longer than the model has positions")
        .found(std::to_string(tokens) + " tokens")
        .expected("at most " + std::to_string(limit));
}

}  // namespace

Scheduler::Scheduler(Network& model, ThreadPool& pool, const SearchOptions& options, Listener& listener)
    : model_(model),
      pool_(pool),
      options_((options.check(), options)),
      listener_(listener),
      warp_{options.temperature, options.top_k,   options.top_p, options.min_p,
            options.typical_p,   options.epsilon, options.eta,   1},
      ruled_(!options.rules.change_nothing()),
      width_(width_of(options)),
      tape_(pool, arena_),
      cache_(model.cache_shape(), slot_count(options), 1),
      order_(static_cast<std::size_t>(pool.size())),
      history_(order_.size()),
      warped_(static_cast<std::size_t>(pool.size())) {
  if (model.kind() == ModelKind::encoder)
    throw usage_error("this model has no decoder: it generates nothing");
  if (model.kind() == ModelKind::encoder_decoder)
    check_ids("the start token", {&options.start_token, 1}, model.vocabulary());
  options.rules.check(model.vocabulary());
  each_ = Hypotheses::make(options, 1)->candidates();
  for (std::int64_t slot = cache_.slot_count() - 1; slot >= 0; --slot)
    free_slots_.push_back(static_cast<std::int32_t>(slot));
  reordered_.resize(free_slots_.size());
  if (!options.sample) return;
  // Which worker draws for which row is chance: all have their scratch before.
  for (std::vector<std::int32_t>& order : order_) order.reserve(static_cast<std::size_t>(model.vocabulary()));
  for (std::vector<float>& scores : warped_) scores.reserve(static_cast<std::size_t>(model.vocabulary()));
}

std::int64_t Scheduler::limit_of(const Request& request) const {
  std::int64_t limit = options_.max_new;
  const bool encoder = model_.kind() == ModelKind::encoder_decoder;
  if (limit <= 0 && !encoder && options_.max_length > 0)
    return options_.max_length - static_cast<std::int64_t>(request.prompt.size());
  if (limit <= 0) limit = encoder ? 2 * static_cast<std::int64_t>(request.source.size()) + 16 : 128;
  // The last token generated is never fed back, so it needs no position.
  if (encoder && model_.max_positions() > 0)
    limit = std::min(limit, model_.max_positions() + 1 - static_cast<std::int64_t>(request.prompt.size()));
  return limit;
}

void Scheduler::submit(Request request) {
  if (model_.kind() == ModelKind::encoder_decoder) {
    if (request.source.empty()) throw usage_error("a source without tokens cannot be translated");
    check_ids("the source", request.source, model_.source_vocabulary());
    check_length("the source", request.source.size(), model_.max_positions());
    if (request.prompt.empty()) request.prompt.push_back(options_.start_token);
  }
  if (request.prompt.empty()) throw usage_error("a prompt without tokens cannot be continued");
  check_ids("the prompt", request.prompt, model_.vocabulary());
  check_length("the prompt", request.prompt.size(), model_.max_positions());
  if (limit_of(request) < 1)
    throw usage_error("the prompt is as long as the text may become")
        .found(std::to_string(request.prompt.size()) + " tokens")
        .expected("fewer than max_length, " + std::to_string(options_.max_length))
        .remedy("say how many tokens may come behind it (--max-new)");
  waiting_.push_back(std::move(request));
}

// Waiting requests take free slots, in order.
void Scheduler::admit() {
  std::int64_t tokens = 0;
  while (!waiting_.empty() && static_cast<std::int64_t>(free_slots_.size()) >= width_) {
    const Request& next = waiting_.front();
    tokens += static_cast<std::int64_t>(next.source.size() + next.prompt.size());
    if (tokens > kTokensAtOnce && !jobs_.empty()) return;
    auto job = std::make_unique<Job>();
    job->request = std::move(waiting_.front());
    waiting_.pop_front();
    const std::int64_t limit = job->limit = limit_of(job->request);
    std::int64_t room = static_cast<std::int64_t>(job->request.prompt.size()) + limit;
    if (model_.max_positions() > 0) room = std::min(room, model_.max_positions());
    cache_.reserve(room);
    job->search = Hypotheses::make(options_, limit);
    job->slots.assign(free_slots_.end() - static_cast<std::ptrdiff_t>(width_), free_slots_.end());
    free_slots_.resize(free_slots_.size() - static_cast<std::size_t>(width_));
    jobs_.push_back(std::move(job));
  }
}

void Scheduler::feed(Job& job, std::int64_t row) {
  const std::int32_t slot = job.slots[static_cast<std::size_t>(row)];
  const Hypotheses& search = *job.search;
  const std::size_t before = ids_.size();
  std::int32_t position = 0;
  if (search.generated() == 0) {
    ids_.insert(ids_.end(), job.request.prompt.begin(), job.request.prompt.end());
  } else if (model_.max_positions() > 0 && cache_.length(slot) == model_.max_positions()) {
    // Out of positions: the latter half of what there is becomes the context, at positions from 0.
    cache_.clear(slot);
    const std::span<const std::int32_t> history = search.history(row);
    const std::vector<std::int32_t>& prompt = job.request.prompt;
    const std::size_t all = prompt.size() + history.size();
    const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(1, model_.max_positions() / 2));
    for (std::size_t i = all - keep; i < all; ++i)
      ids_.push_back(i < prompt.size() ? prompt[i] : history[i - prompt.size()]);
  } else {
    position = static_cast<std::int32_t>(cache_.length(slot));
    ids_.push_back(search.last_token(row));
  }
  shape_.add(static_cast<std::int64_t>(ids_.size() - before), job.request.id, position);
  selected_.push_back(slot);
  last_.push_back(static_cast<std::int32_t>(ids_.size()) - 1);
  draws_.push_back({&job, row});
}

void Scheduler::collect_batch() {
  shape_.clear();
  ids_.clear(), selected_.clear(), last_.clear(), draws_.clear();
  for (const auto& job : jobs_)
    for (std::int64_t row = 0; row < job->search->rows(); ++row) feed(*job, row);
}

Memory Scheduler::encode_new() {
  source_shape_.clear();
  source_ids_.clear();
  for (const auto& job : jobs_) {
    if (std::exchange(job->encoded, true)) continue;
    const std::vector<std::int32_t>& source = job->request.source;
    source_ids_.insert(source_ids_.end(), source.begin(), source.end());
    source_shape_.add(static_cast<std::int64_t>(source.size()), job->request.id);
  }
  Memory memory;
  memory.shape = source_shape_.view();
  if (!source_ids_.empty()) memory.hidden = model_.encode(tape_, {source_ids_, memory.shape});
  return memory;
}

Var Scheduler::run_model(std::int64_t rows) {
  tape_.begin({});
  Memory memory;
  if (model_.kind() == ModelKind::encoder_decoder) memory = encode_new();
  cache_.select(selected_);
  Var hidden =
      model_.decode(tape_, {ids_, shape_.view()}, memory.hidden != nullptr ? &memory : nullptr, &cache_);
  if (static_cast<std::int64_t>(ids_.size()) == rows) return model_.logits(tape_, hidden);
  // Only the last token of each sequence says what comes next.
  const std::int64_t width = hidden->value.columns();
  Tensor last = arena_.tensor({rows, width});
  for (std::int64_t row = 0; row < rows; ++row)
    std::memcpy(last.row(row), hidden->value.row(last_[static_cast<std::size_t>(row)]),
                static_cast<std::size_t>(width) * sizeof(float));
  return model_.logits(tape_, tape_.constant(last));
}

void Scheduler::apply_rules(std::size_t row, std::span<float> scores, int worker) {
  const auto [job, job_row] = draws_[row];
  RuleContext context;
  context.source = model_.kind() == ModelKind::decoder ? job->request.prompt : job->request.source;
  context.prompt = job->request.prompt;
  if (job->search->generated() > 0) context.generated = job->search->history(job_row);
  context.end_tokens = options_.end_tokens, context.max_new = job->limit;
  apply(options_.rules, context, scores, history_[static_cast<std::size_t>(worker)]);
}

// Beams are ruled by log-probabilities, which the logits become.
void Scheduler::rule_beams(float* logits, std::int64_t rows) {
  const auto vocabulary = static_cast<std::size_t>(model_.vocabulary());
  pool_.parallel_for(rows, [&](std::int64_t row, int worker) {
    const std::span<float> scores(logits + static_cast<std::size_t>(row) * vocabulary, vocabulary);
    for (float& score : scores) score -= lse_[static_cast<std::size_t>(row)];
    apply_rules(static_cast<std::size_t>(row), scores, worker);
  });
  std::fill(lse_.begin(), lse_.end(), 0.0f);
}

// The most probable token of each row under the rules; or, when sampling, what its sequence needs, drawn by
// seed, sequence and step.
void Scheduler::choose_tokens(const float* logits, std::int64_t rows) {
  const std::int64_t vocabulary = model_.vocabulary();
  const auto key = fold({options_.seed, 0, place_of("sampling")});
  pool_.parallel_for(rows, [&](std::int64_t row, int worker) {
    const auto [job, job_row] = draws_[static_cast<std::size_t>(row)];
    const Hypotheses& search = *job->search;
    std::vector<float>& scores = warped_[static_cast<std::size_t>(worker)];
    const float* from = logits + row * vocabulary;
    scores.assign(from, from + vocabulary);
    if (ruled_) apply_rules(static_cast<std::size_t>(row), scores, worker);
    if (!options_.sample) {
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      candidate_token_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(best);
      candidate_[static_cast<std::size_t>(row)] = from[best];
      return;
    }
    if (!warp_.changes_nothing()) warp(warp_, scores, order_[static_cast<std::size_t>(worker)]);
    const bool first = search.generated() == 0;
    for (std::int64_t i = 0; i < (first ? width_ : 1); ++i) {
      const std::int64_t sequence = first ? i : search.sequence(job_row);
      const Counter words =
          philox({static_cast<std::uint32_t>(search.generated()), static_cast<std::uint32_t>(sequence), 0, 0},
                 key[0], key[1]);
      const double uniform =
          (static_cast<double>(words[0]) + static_cast<double>(words[1]) * 0x1p-32) * 0x1p-32;
      const std::int32_t token = draw(scores, std::min(uniform, 1.0 - 0x1p-53));
      const auto at = static_cast<std::size_t>(row * each_ + i);
      candidate_token_[at] = token;
      candidate_[at] = from[token];
    }
  });
}

// The candidates of each row with their log-probabilities.
void Scheduler::score(float* logits, std::int64_t rows) {
  const std::int64_t vocabulary = model_.vocabulary();
  const auto count = static_cast<std::size_t>(rows * each_);
  lse_.resize(static_cast<std::size_t>(rows));
  candidate_.resize(count), candidate_token_.resize(count);
  kernels::log_sum_exp(pool_, logits, lse_.data(), rows, vocabulary);
  for (std::size_t row = 0; row < lse_.size(); ++row)
    if (!std::isfinite(lse_[row]))
      throw Error(ErrorKind::numeric, "the model gives no finite probabilities (request " +
                                          std::to_string(draws_[row].job->request.id) + ")")
          .remedy("its weights are damaged, or training diverged: use an earlier checkpoint");
  if (ruled_ && options_.beam > 1) rule_beams(logits, rows);
  if (options_.sample || (ruled_ && options_.beam == 1))
    choose_tokens(logits, rows);
  else
    kernels::top_k(pool_, logits, rows, vocabulary, each_, candidate_.data(), candidate_token_.data());
  for (std::size_t i = 0; i < count; ++i) candidate_[i] -= lse_[i / static_cast<std::size_t>(each_)];
}

void Scheduler::release(Job& job) {
  for (const std::int32_t slot : job.slots) cache_.clear(slot);
  free_slots_.insert(free_slots_.end(), job.slots.rbegin(), job.slots.rend());
}

void Scheduler::advance() {
  for (std::size_t slot = 0; slot < reordered_.size(); ++slot)
    reordered_[slot] = static_cast<std::int32_t>(slot);
  bool moves = false;
  std::size_t row = 0, kept = 0;
  const auto each = static_cast<std::size_t>(each_);
  for (auto& job : jobs_) {
    Hypotheses& search = *job->search;
    const auto rows = static_cast<std::size_t>(search.rows());
    search.advance({each_, std::span(candidate_).subspan(row * each, rows * each),
                    std::span(candidate_token_).subspan(row * each, rows * each)});
    row += rows;
    for (std::int64_t r = 0; r < width_; ++r) {
      const std::int32_t slot = job->slots[static_cast<std::size_t>(r)];
      const std::int32_t from =
          r < search.rows()
              ? job->slots[static_cast<std::size_t>(search.parents()[static_cast<std::size_t>(r)])]
              : -1;
      moves = moves || (from != slot && (from >= 0 || cache_.length(slot) > 0));
      reordered_[static_cast<std::size_t>(slot)] = from;
    }
    if (options_.beam == 1)
      for (std::int64_t r = 0; r < search.rows(); ++r)
        listener_.token(job->request.id, search.sequence(r), search.last_token(r));
  }
  if (moves) cache_.reorder(reordered_);
  for (auto& job : jobs_) {
    if (!job->search->done()) {
      if (&jobs_[kept] != &job) jobs_[kept] = std::move(job);
      ++kept;
      continue;
    }
    release(*job);
    listener_.finished(job->request.id, job->search->results());
  }
  jobs_.resize(kept);
}

bool Scheduler::step() {
  admit();
  if (jobs_.empty()) return false;
  collect_batch();
  const auto rows = static_cast<std::int64_t>(selected_.size());
  const Var logits = run_model(rows);
  score(logits->value.f32(), rows);
  advance();
  return true;
}

}  // namespace regard::infer

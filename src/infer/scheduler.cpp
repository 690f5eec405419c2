#include "infer/scheduler.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/counted.h"
#include "regard/error.h"

namespace regard::infer {
namespace {

// Throws an error of `kind` (usage for options, invalid_input for texts) if an id is outside the vocabulary.
void check_ids(ErrorKind kind, const char* what, std::span<const std::int32_t> ids, std::int64_t vocabulary) {
  for (const std::int32_t id : ids)
    if (id < 0 || id >= vocabulary)
      throw Error(kind, std::string(what) + " has an id outside the model's vocabulary")
          .found(std::to_string(id))
          .expected("ids from 0 to " + std::to_string(vocabulary - 1))
          .remedy("Use the tokenizer that the model was trained with");
}

// Throws usage if a token of the options is outside the model's vocabulary.
void check_tokens(const SearchOptions& options, const Network& model) {
  options.rules.check(model.vocabulary());
  check_ids(ErrorKind::usage, "eos_token_id", options.end_tokens, model.vocabulary());
  if (model.kind() == ModelKind::encoder_decoder)
    check_ids(ErrorKind::usage, "the start token", {&options.start_token, 1}, model.vocabulary());
}

void check_length(const char* what, std::size_t tokens, std::int64_t limit) {
  if (limit > 0 && static_cast<std::int64_t>(tokens) > limit)
    throw input_error(std::string(what) + " exceeds the model's maximum number of positions")
        .found(counted(tokens, "token"))
        .expected("at most " + std::to_string(limit) + " tokens");
}

Network& with_decoder(Network& model) {
  if (model.kind() != ModelKind::encoder) return model;
  throw usage_error("this model cannot generate text: it has no decoder")
      .expected("a decoder or an encoder-decoder");
}

std::int64_t rows_of(const SearchOptions& options, const SchedulerLimits& limits) {
  if (limits.rows > 0) return limits.rows;
  const std::int64_t width = width_of(options);
  return std::max<std::int64_t>(1, options.rows_at_once / width) * width;
}

Cache cache_for(Network& model, const SearchOptions& options, const SchedulerLimits& limits,
                std::int64_t kept) {
  const std::int64_t slots = rows_of(options, limits) + kept;
  if (limits.cache_pages == 0) return Cache(model.cache_shape(), slots, 1);
  Cache cache = Cache::bounded(model.cache_shape(), slots, limits.cache_pages);
  if (cache.bytes() <= limits.resident_bytes) cache.make_resident();
  return cache;
}

}  // namespace

void SchedulerLimits::check() const {
  const auto require = [](std::int64_t value, std::int64_t least, const char* what) {
    if (value < least)
      throw usage_error(what).found(std::to_string(value)).expected("at least " + std::to_string(least));
  };
  require(rows, 0, "the number of rows is too small");
  require(tokens_at_once, 1, "the number of tokens per step is too small");
  require(cache_pages, 0, "the cache has too few pages");
  require(kept_prefixes, 0, "the number of kept prefixes is too small");
}

Scheduler::Scheduler(Network& model, ThreadPool& pool, const SearchOptions& options, Listener& listener,
                     const SchedulerLimits& limits)
    : model_(with_decoder(model)),
      options_((options.check(), options)),
      listener_(listener),
      limits_((limits.check(), limits)),
      tape_(pool, arena_),
      cache_(cache_for(model, options, limits, kept_slots(model, limits))),
      chooser_(pool, model.vocabulary()) {
  check_tokens(options, model);
  tape_.probe = options.probe;
  const std::int64_t rows = cache_.slot_count() - kept_slots(model, limits_);
  for (std::int64_t slot = cache_.slot_count() - 1; slot >= rows; --slot)
    prefixes_.push_back({static_cast<std::int32_t>(slot), {}, 0});
  for (std::int64_t slot = rows - 1; slot >= 0; --slot)
    free_slots_.push_back(static_cast<std::int32_t>(slot));
  reordered_.resize(static_cast<std::size_t>(cache_.slot_count()));
  selected_.reserve(free_slots_.size()), last_.reserve(free_slots_.size());
  feeding_.reserve(free_slots_.size());
  choices_.reserve(free_slots_.size()), jobs_.reserve(free_slots_.size());
}

// The following functions admit requests.

void Scheduler::check(const Request& request) const {
  const SearchOptions& options = options_of(request);
  options.check();
  if (request.encoded.defined()) {
    const Shape shape{length_of_source(request), model_.hidden_size()};
    if (!(request.encoded.shape() == shape))
      throw usage_error("the encoder's output of a request has a wrong shape")
          .found(request.encoded.shape().text())
          .expected(shape.text());
  }
  check_tokens(options, model_);
  if (model_.kind() == ModelKind::encoder_decoder) {
    if (request.source.empty())
      throw input_error("cannot translate a source without tokens").expected("at least one token");
    length_of_source(request);  // throws if the model cannot read the source
    if (request.source.kind() == InputKind::tokens) {
      check_ids(ErrorKind::invalid_input, "the source", request.source.ids, model_.source_vocabulary());
      check_length("the source", request.source.ids.size(), model_.max_positions());
    }
  } else if (request.prompt.empty()) {
    throw input_error("cannot continue a prompt without tokens");
  }
  check_ids(ErrorKind::invalid_input, "the prompt", request.prompt, model_.vocabulary());
  check_length("the prompt", request.prompt.size(), model_.max_positions());
  if (limit_of(request) < 1)
    throw input_error("the prompt leaves no room for new tokens")
        .found(counted(request.prompt.size(), "token"))
        .expected("fewer than max_length = " + std::to_string(options.max_length))
        .remedy("Set the number of new tokens (--max-new)");
  const std::int64_t width = width_of(options);
  const std::int64_t rows = cache_.slot_count() - std::ssize(prefixes_);
  if (width > rows)
    throw resource_error("the request needs more rows than the scheduler decodes at once")
        .found(counted(width, "row"))
        .expected("at most " + std::to_string(rows) + " rows");
  const std::int64_t pages = width * pages_of_row(request) + pages_of_source(request);
  if (limits_.cache_pages > 0 && pages > limits_.cache_pages)
    throw resource_error("the request exceeds the key/value cache")
        .found(std::to_string(pages * kPageTokens) + " tokens (source, prompt and new tokens)" +
               (width > 1 ? ", for each of its " + std::to_string(width) + " rows" : ""))
        .expected("at most " + std::to_string(limits_.cache_pages * kPageTokens) + " tokens")
        .remedy("Reduce max_new, or enlarge the cache");
}

void Scheduler::submit(Request request) {
  check(request);
  if (request.prompt.empty()) request.prompt.push_back(options_of(request).start_token);
  waiting_.push_back(std::move(request));
}

// Admit waiting requests in order: no request is admitted before an earlier one that waits for rows or pages.
void Scheduler::admit() {
  while (!waiting_.empty() && admit(waiting_.front())) waiting_.pop_front();
}

bool Scheduler::admit(Request& request) {
  const SearchOptions& options = options_of(request);
  const std::int64_t width = width_of(options);
  if (std::ssize(free_slots_) < width) return false;
  auto job = std::make_unique<Job>(std::move(request), options);
  job->source_length = length_of_source(job->request);
  job->limit = limit_of(job->request);
  job->row_pages = pages_of_row(job->request), job->source_pages = pages_of_source(job->request);
  const std::int64_t tokens = std::ssize(job->request.prompt) + job->limit;
  const std::int64_t first = std::ssize(job->request.prompt) + std::min(job->limit, kFirstCapacity);
  job->slides = model_.kind() == ModelKind::decoder && model_.max_positions() > 0 &&
                tokens - 1 > model_.max_positions();
  job->slots.assign(free_slots_.end() - static_cast<std::ptrdiff_t>(width), free_slots_.end());
  if (limits_.share_prefixes) share_past(*job);
  if (limits_.cache_pages > 0) {
    std::int64_t to_come = pages_to_come(*job);
    for (const auto& other : jobs_) to_come += pages_to_come(*other);
    while (to_come > cache_.free_pages() && drop_prefix()) {
    }
    if (to_come > cache_.free_pages()) {
      cache_.clear(job->slots[0]);
      request = std::move(job->request);
      return false;
    }
  } else {
    reserve_cache(*job, first);
  }
  free_slots_.resize(free_slots_.size() - job->slots.size());
  job->search = Hypotheses::make(options, job->limit, job->request.prompt);
  chooser_.prepare(job->rule, first);
  jobs_.push_back(std::move(job));
  return true;
}

// The following functions run one step of all running requests.

void Scheduler::add_row(Job& job, std::int64_t row, std::size_t before, std::int32_t position) {
  shape_.add(static_cast<std::int64_t>(ids_.size() - before), job.request.id, position);
  selected_.push_back(job.slots[static_cast<std::size_t>(row)]);
}

// Add the next fed_now prompt tokens of the job, and its source if it is not encoded yet, to the batch.
// Return true if the prompt is complete afterwards.
bool Scheduler::feed_prompt(Job& job) {
  const std::int64_t count = job.fed_now;
  if (count == 0) return false;
  const std::vector<std::int32_t>& prompt = job.request.prompt;
  if (!job.encoded && model_.kind() == ModelKind::encoder_decoder) {
    sources_.add(job.request.source, job.source_length, job.request.id);
    encoded_.push_back(job.request.encoded);
  }
  const std::int64_t done = cache_.length(job.slots[0]);
  job.encoded = true;
  const std::size_t before = ids_.size();
  ids_.insert(ids_.end(), prompt.begin() + done, prompt.begin() + done + count);
  add_row(job, 0, before, static_cast<std::int32_t>(done));
  return done + count == std::ssize(prompt);
}

void Scheduler::feed_row(Job& job, std::int64_t row) {
  const std::int32_t slot = job.slots[static_cast<std::size_t>(row)];
  const Hypotheses& search = *job.search;
  const std::size_t before = ids_.size();
  if (!job.slides || cache_.length(slot) < model_.max_positions()) {
    if (limits_.cache_pages == 0 && cache_.length(slot) == cache_.capacity())
      reserve_cache(job, 2 * cache_.capacity());
    ids_.push_back(search.last_token(row));
    return add_row(job, row, before, static_cast<std::int32_t>(cache_.length(slot)));
  }
  // No positions are left: restart with the last max_positions / 2 tokens as context, at positions from 0.
  cache_.clear(slot);
  const std::span<const std::int32_t> history = search.history(row);
  const std::vector<std::int32_t>& prompt = job.request.prompt;
  const std::size_t all = prompt.size() + history.size();
  const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(1, model_.max_positions() / 2));
  for (std::size_t i = all - keep; i < all; ++i)
    ids_.push_back(i < prompt.size() ? prompt[i] : history[i - prompt.size()]);
  add_row(job, row, before, 0);
}

void Scheduler::collect_batch() {
  shape_.clear(), sources_.clear(), encoded_.clear();
  ids_.clear(), selected_.clear(), last_.clear(), choices_.clear();
  share_budget();
  for (const auto& job : jobs_) {
    const Hypotheses& search = *job->search;
    const bool starts = search.generated() == 0;
    job->rows_now = 0;
    if (!starts || job->fed_now > 0) ++computed_;
    if (starts && !feed_prompt(*job)) continue;
    for (std::int64_t row = 0; row < search.rows(); ++row) {
      if (!starts) feed_row(*job, row);
      last_.push_back(static_cast<std::int32_t>(ids_.size()) - 1);
      ChoiceRow& choice = choices_.emplace_back(ChoiceRow{&job->rule, &search, row, {}});
      choice.context.source =
          model_.kind() == ModelKind::decoder ? job->request.prompt : job->request.source.ids;
      choice.context.prompt = job->request.prompt;
      if (!starts) choice.context.generated = search.history(row);
      choice.context.end_tokens = job->rule.options.end_tokens, choice.context.max_new = job->limit;
    }
    job->rows_now = search.rows();
  }
}

// Return the encoder's output for this step's sources. If the output of one of them has not been computed
// yet, all are computed.
Var Scheduler::encode_sources() {
  const InputBatch sources = sources_.batch();
  const bool known =
      std::all_of(encoded_.begin(), encoded_.end(), [](const Tensor& one) { return one.defined(); });
  if (!known) return model_.encode(tape_, sources);
  if (encoded_.size() == 1) return tape_.constant(encoded_[0]);
  const Tensor all = arena_.tensor({sources.shape.tokens(), model_.hidden_size()});
  for (std::size_t s = 0; s < encoded_.size(); ++s)
    std::memcpy(all.row(sources.shape.offsets[s]), encoded_[s].f32(), encoded_[s].bytes());
  return tape_.constant(all);
}

Var Scheduler::run_model() {
  tape_.begin({});
  Memory memory;
  if (!sources_.empty()) {
    const InputBatch sources = sources_.batch();
    memory.shape = sources.shape;
    memory.hidden = encode_sources();
  }
  cache_.select(selected_);
  Var hidden =
      model_.decode(tape_, {ids_, shape_.view()}, memory.hidden != nullptr ? &memory : nullptr, &cache_);
  if (choices_.empty()) return nullptr;
  if (ids_.size() == choices_.size()) return model_.logits(tape_, hidden);
  // Logits are needed only for the last token of each row.
  const std::int64_t width = hidden->value.columns();
  Tensor last = arena_.tensor({std::ssize(last_), width});
  for (std::int64_t row = 0; row < last.rows(); ++row)
    std::memcpy(last.row(row), hidden->value.row(last_[static_cast<std::size_t>(row)]),
                static_cast<std::size_t>(width) * sizeof(float));
  return model_.logits(tape_, tape_.constant(last));
}

// Report the chosen tokens of a job, whose first row in choices_ is `first`. In the first step of a job, this
// row contains the draws of all sequences.
void Scheduler::report_choices(const Job& job, std::size_t first) {
  const Hypotheses& search = *job.search;
  const Candidates candidates = chooser_.candidates(first, static_cast<std::size_t>(job.rows_now));
  const bool starts = search.generated() == 0;
  for (std::int64_t i = 0; i < (starts ? job.rule.width : job.rows_now); ++i) {
    const std::int64_t row = starts ? 0 : i;
    const auto at = static_cast<std::size_t>(row * candidates.each + (starts ? i : 0));
    listener_.chosen(job.request.id, starts ? i : search.sequence(i),
                     {{candidates.token[at], candidates.log_probability[at]},
                      chooser_.top(first + static_cast<std::size_t>(row))});
  }
}

void Scheduler::advance() {
  for (std::size_t slot = 0; slot < reordered_.size(); ++slot)
    reordered_[slot] = static_cast<std::int32_t>(slot);
  bool moves = false;
  std::size_t row = 0;
  for (auto& job : jobs_) {
    if (job->rows_now == 0) continue;
    Hypotheses& search = *job->search;
    const auto first = std::exchange(row, row + static_cast<std::size_t>(job->rows_now));
    job->failure = chooser_.failure(first, row - first);
    if (job->failure != nullptr) continue;
    if (job->rule.options.report_top >= 0 && job->rule.options.beam == 1) report_choices(*job, first);
    search.advance(chooser_.candidates(first, row - first));
    if (const BeamStep* step = search.last_step()) listener_.beams(job->request.id, *step);
    if (search.done()) keep_prefix(*job);  // keep the prefix before the slot is cleared
    for (std::int64_t r = 0; r < job->rule.width; ++r) {
      const std::int32_t slot = job->slots[static_cast<std::size_t>(r)];
      const std::int32_t from =
          r < search.rows()
              ? job->slots[static_cast<std::size_t>(search.parents()[static_cast<std::size_t>(r)])]
              : -1;
      moves = moves || (from != slot && (from >= 0 || cache_.length(slot) > 0));
      reordered_[static_cast<std::size_t>(slot)] = from;
    }
    if (job->rule.options.beam == 1)
      for (std::int64_t r = 0; r < search.rows(); ++r)
        listener_.token(job->request.id, search.sequence(r), search.last_token(r));
  }
  if (moves) cache_.reorder(reordered_);
}

void Scheduler::release(Job& job) {
  for (const std::int32_t slot : job.slots) cache_.clear(slot);
  free_slots_.insert(free_slots_.end(), job.slots.rbegin(), job.slots.rend());
}

// Remove finished and failed requests and report them.
void Scheduler::leave() {
  std::size_t kept = 0;
  for (auto& job : jobs_) {
    if (!job->search->done() && job->failure == nullptr) {
      if (&jobs_[kept] != &job) jobs_[kept] = std::move(job);
      ++kept;
      continue;
    }
    release(*job);
    if (job->failure != nullptr)
      listener_.failed(job->request.id, *job->failure);
    else
      listener_.finished(job->request.id, job->search->results());
  }
  jobs_.resize(kept);
}

std::vector<Hypothesis> Scheduler::so_far(std::uint64_t id) const {
  const auto runs = std::ranges::find(jobs_, id, [](const auto& job) { return job->request.id; });
  return runs == jobs_.end() ? std::vector<Hypothesis>() : (*runs)->search->so_far();
}

bool Scheduler::cancel(std::uint64_t id) {
  const auto waits = std::find_if(waiting_.begin(), waiting_.end(),
                                  [id](const Request& request) { return request.id == id; });
  if (waits != waiting_.end()) return waiting_.erase(waits), true;
  const auto runs =
      std::find_if(jobs_.begin(), jobs_.end(), [id](const auto& job) { return job->request.id == id; });
  if (runs == jobs_.end()) return false;
  release(**runs);
  jobs_.erase(runs);
  return true;
}

std::int64_t Scheduler::prefilling() const {
  return std::count_if(jobs_.begin(), jobs_.end(),
                       [](const auto& job) { return job->search->generated() == 0; });
}

bool Scheduler::step() {
  computed_ = 0;
  admit();
  if (jobs_.empty()) return false;
  collect_batch();
  Var logits = run_model();
  if (logits != nullptr) chooser_.choose(logits->value.f32(), choices_);
  advance();
  leave();
  return true;
}

}  // namespace regard::infer

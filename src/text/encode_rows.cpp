// Tokenizer::encode_rows: the ids of many texts, concatenated.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace regard::text {
namespace {

constexpr std::size_t kTaskBytes = std::size_t{1} << 15;  // target size of a task's text, in bytes
// Number of tasks per thread in one round. It is small, so that the token ids of a round are still in the CPU
// cache when they are copied.
constexpr std::size_t kTasksATime = 32;

// A range of texts. Their ids are at [begin, begin + count) in the thread's buffer and start at index `place`
// in the result.
struct Task {
  std::size_t first = 0, end = 0;
  const IdBuffer* buffer = nullptr;
  std::size_t begin = 0, count = 0, place = 0;
};

std::vector<Task> tasks_of(std::span<const std::string_view> texts) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < texts.size();) {
    Task task{.first = i};
    for (std::size_t bytes = 0; i < texts.size() && bytes < kTaskBytes; ++i) bytes += texts[i].size() + 1;
    task.end = i;
    tasks.push_back(task);
  }
  return tasks;
}

// Run tasks on all threads, in rounds: each thread appends ids to its own buffer, then all threads copy ids
// to the result.
// encode(first, end, work) appends the ids of the texts [first, end) to work.ids. After text i, it sets
// rows.offsets[i + 1] to the size of work.ids.
template <class Encode>
void encode_tasks(std::vector<Task>& tasks, const IdsEncoder& encoder, ThreadPool& pool, IdRows& rows,
                  const Encode& encode) {
  std::vector<std::optional<IdsEncoder::Lease>> works(static_cast<std::size_t>(pool.size()));
  const std::size_t at_a_time = kTasksATime * works.size();
  for (std::size_t first = 0; first < tasks.size(); first += at_a_time) {
    const std::span<Task> now = std::span(tasks).subspan(first, std::min(at_a_time, tasks.size() - first));
    const auto count = static_cast<std::int64_t>(now.size());
    for (auto& work : works)
      if (work) (*work)->ids.clear();
    pool.parallel_for(count, [&](std::int64_t index, int worker) {
      auto& work = works[static_cast<std::size_t>(worker)];
      if (!work) work.emplace(encoder);
      Task& task = now[static_cast<std::size_t>(index)];
      task.buffer = &(*work)->ids;
      task.begin = task.buffer->size();
      encode(task.first, task.end, **work);
      task.count = task.buffer->size() - task.begin;
    });
    const std::size_t before = rows.buffer.size();
    std::size_t end = before;
    for (Task& task : now) {
      task.place = end;
      end += task.count;
    }
    std::int32_t* const out = rows.buffer.reserve(end - before) - before;
    rows.buffer.advance(end - before);
    pool.parallel_for(count, [&](std::int64_t index, int) {
      const Task& task = now[static_cast<std::size_t>(index)];
      std::copy_n(task.buffer->ids().data() + task.begin, task.count, out + task.place);
      for (std::size_t i = task.first; i < task.end; ++i) rows.offsets[i + 1] += task.place - task.begin;
    });
  }
}

}  // namespace

void Tokenizer::encode_rows(std::span<const std::string_view> texts, IdRows& rows,
                            const EncodeOptions& options, ThreadPool* pool) const {
  rows.offsets.assign(texts.size() + 1, 0);
  rows.buffer.clear();
  std::size_t bytes = 0;
  for (const std::string_view text : texts) bytes += text.size();
  rows.buffer.expect(bytes);
  const auto encode = [&](std::size_t first, std::size_t end, IdsEncoder::Workspace& work) {
    for (std::size_t i = first; i < end; ++i) {
      parts_->encode_ids(texts[i], options, work);
      rows.offsets[i + 1] = work.ids.size();
    }
  };
  if (pool == nullptr || pool->size() == 1) {
    const IdsEncoder::Lease work(*parts_->ids_encoder);
    work->ids = std::move(rows.buffer);
    encode(0, texts.size(), *work);
    rows.buffer = std::move(work->ids);
    return;
  }
  std::vector<Task> tasks = tasks_of(texts);
  encode_tasks(tasks, *parts_->ids_encoder, *pool, rows, encode);
}

IdRows Tokenizer::encode_rows(std::span<const std::string_view> texts, const EncodeOptions& options,
                              ThreadPool* pool) const {
  IdRows rows;
  encode_rows(texts, rows, options, pool);
  return rows;
}

}  // namespace regard::text

// Processes that use the library: children of fork(), and limits on the number of threads.
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>

#include "api/together.h"
#include "support/in_child.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kChildMayStartThreads = false;  // the sanitizer kills a child that starts threads
#else
constexpr bool kChildMayStartThreads = true;
#endif

TEST(Process, AChildOfForkUsesWhatItsParentMade) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "gpt", "gpt");
  for (const int count : {1, 2}) {
    const testing::ThreadsDuring threads_during(count);
    const Model model = load(folder / "gpt");
    Sessions sessions(model, {.rows = 2, .cache_tokens = 512});
    Learner learner;
    const Value w = learner.parameter("w", random_normal({6, 6}, 1, "w"));
    const Tensor large = random_normal({150, 200}, 1, "large"), product = matmul_transposed(large, large);
    const std::string alone = model.generate("the", {.max_new = 6});
    const auto computes = [&] {
      std::string text;
      sessions.join("the", {.max_new = 6},
                    {.done = [&](const SessionResult& result) { text = result.text; }});
      while (sessions.step()) {
      }
      learner.begin();
      const float loss =
          learner.step(learner.squared_error(learner.linear(w, w), Tensor::zeros({6, 6})), 1e-2f);
      return text == alone && model.generate("the", {.max_new = 6}) == alone && std::isfinite(loss) &&
             equal_bits(matmul_transposed(large, large), product);
    };
    const int code = testing::exit_code_in_child([&] {
      if (threads() != 1 || !computes()) return 8;
      if (!kChildMayStartThreads) return 7;
      set_threads(2);
      return threads() == 2 && computes() ? 7 : 9;
    });
    EXPECT_EQ(code, 7) << count << " threads";
    EXPECT_TRUE(computes());
    EXPECT_EQ(threads(), count);
  }
}

// A child can exit even if another thread of its parent was using the library at the time of the fork.
TEST(Process, AChildExitsWhateverItsParentDoes) {
  const testing::ThreadsDuring threads_during(2);
  const Tensor large = random_normal({150, 200}, 1, "large");
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) matmul_transposed(large, large);
  });
  for (int round = 0; round < 10; ++round) EXPECT_EQ(testing::exit_code_in_child([] { return 7; }), 7);
  stop = true;
  other.join();
}

// With a process limit, the calling thread does all the work and thread_warning() gives the reason.
TEST(Process, ARefusedThreadIsSaidAndDoneWithout) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has a thread of its own";
#endif
  const Tensor large = random_normal({150, 200}, 1, "large"), product = matmul_transposed(large, large);
  EXPECT_EQ(thread_warning(), "");
  const int code = testing::exit_code_in_child([&] {
    constexpr uid_t kNobody = 65534;
    const rlimit one{1, 1};
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) return 77;
    if (setrlimit(RLIMIT_NPROC, &one) != 0) return 77;
    set_threads(4);
    if (!equal_bits(matmul_transposed(large, large), product)) return 8;
    if (threads() != 1) return 9;
    return thread_warning().find("1 of 4 threads") != std::string::npos ? 7 : 10;
  });
  if (code == 77) GTEST_SKIP() << "this user may not be changed or limited here";
  EXPECT_EQ(code, 7);
}

}  // namespace
}  // namespace regard::testing

// Settings of several processes. They meet in memory they share: there they see which phase it is,
// keep their tallies, and find out whether two of them are inside at once.
#include "benchmarks/processes.hpp"

#include "benchmarks/worker.hpp"
#include "benchmarks/workload.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace crosslock::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_processes = 16;
constexpr auto patience = 60s;
constexpr auto glance = 1ms;  ///< between two looks at what others do

struct meeting_place {
  std::atomic<phase> now{phase::preparing};
  bench::guarded guarded;
  std::atomic<std::size_t> ready{0};
  std::array<tally, most_processes> tallies{};
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

/// A meeting place in memory that the process behind `file` shares.
class shared_memory {
 public:
  shared_memory() : file_{memfd_create("bench", MFD_CLOEXEC)} {
    if (file_ < 0 || ftruncate(file_, sizeof(meeting_place)) != 0) fail("shared memory");
    map();
    new (memory_) meeting_place;
  }
  /// Of another process, which has made it.
  explicit shared_memory(int file) : file_{file} { map(); }
  ~shared_memory() {
    munmap(memory_, sizeof(meeting_place));
    close(file_);
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  int file() const noexcept { return file_; }
  meeting_place& operator*() noexcept { return *static_cast<meeting_place*>(memory_); }
  meeting_place* operator->() noexcept { return static_cast<meeting_place*>(memory_); }

 private:
  void map() {
    memory_ = mmap(nullptr, sizeof(meeting_place), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory_ == MAP_FAILED) fail("shared memory");
  }

  const int file_;
  void* memory_ = nullptr;
};

void wait_until(auto&& condition, const char* what) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error{what};
    std::this_thread::sleep_for(glance);
  }
}

}  // namespace

int take_part_in_setting(std::span<char* const> words) {
  if (words.size() != 6) return 1;
  shared_memory memory{std::stoi(words[5])};
  const std::size_t number = std::stoul(words[4]);
  tally& mine = memory->tallies.at(number);
  try {
    const auto subject = join(words[0], words[1], words[2]);
    const auto party = subject->assemble({setting::kind::clients, 1, words[3]});
    worker worker{number, *party.front(), memory->guarded, mine, false};
    worker.once();
    ++memory->ready;
    while (memory->now == phase::preparing) std::this_thread::sleep_for(glance);
    worker.work(memory->now);
    return 0;
  } catch (const std::exception& failure) {
    mine.fail(failure.what());
    return 1;
  }
}

measured run_processes(subject& subject, const setting& setting, surroundings& around) {
  if (setting.count > most_processes) throw std::runtime_error{"too many processes"};
  if (subject.address().empty()) throw std::runtime_error{"no other process can take part"};
  shared_memory memory;
  const std::span<const tally> tallies{memory->tallies.data(), setting.count};
  processes others;
  for (std::size_t i = 0; i < setting.count; ++i) {
    others.start(
        {std::string{take_part}, std::string{around.engine_name}, std::string{subject.name()},
         subject.address(), setting.name, std::to_string(i), std::to_string(memory.file())},
        memory.file());
  }
  measured result;
  const auto ready = [&] {
    if (others.running() < setting.count) collect(tallies, result);  // throws why
    return memory->ready == setting.count;
  };
  wait_until(ready, "the other processes do not get ready");

  // They begin in a full line, as threads do (setting.cpp).
  const auto gate = subject.assemble({setting::kind::clients, 1, setting.name});
  gate.front()->lock();
  memory->now = phase::warming;
  std::this_thread::sleep_for(20ms);
  gate.front()->unlock();
  result = watch(tallies, memory->now, false, around);
  result.cpu_us_per_op.reset();  // that of this process, which only looked on
  wait_until([&] { return others.running() == 0; }, "the other processes do not end");
  collect(tallies, result);
  return result;
}

}  // namespace crosslock::bench

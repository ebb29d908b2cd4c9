// The table of workloads.
#include "benchmarks/workload.hpp"

#include <utility>

namespace crosslock::bench {
namespace {

workload in_setting(std::string name, std::string_view what, setting::kind who, std::size_t count) {
  return {std::move(name), what, [who, count](subject& subject, surroundings& around) {
            return run_setting(subject, {who, count, around.fresh_name()}, around);
          }};
}

/// On engines with a variant of that name; everything else is the same.
workload in_variant(std::string_view variant, workload usual) {
  usual.name.append("_").append(variant);
  usual.variant = variant;
  return usual;
}

workload of_family(std::string_view family, workload one) {
  one.family = family;
  return one;
}

workload waiting(std::string name, bool async) {
  return {
      std::move(name),
      "handover to one that waits",
      [async](subject& subject, surroundings& around) { return run_waits(subject, async, around); },
      {},
      "wait"};
}

workload with_rival(std::function<std::unique_ptr<subject>()> rival, workload one) {
  one.rival = std::move(rival);
  return one;
}

workload renewing(std::size_t count) {
  return {"renew_" + std::to_string(count), "renewal, for each second of CPU",
          [count](subject& subject, surroundings& around) {
            return run_renewals(subject, count, around);
          }};
}

constexpr std::string_view session = "session";
constexpr std::string_view single = "single";

workload holding(std::size_t count) {
  return {"held_" + std::to_string(count), "second of holding them",
          [count](subject& subject, surroundings& around) {
            return run_holding(subject, count, around);
          },
          session, "held"};
}

}  // namespace

std::vector<workload> workloads() {
  using enum setting::kind;
  return {
      // First, while the heap is fresh.
      {"weight_idle", "lock object", weigh_idle_locks},
      {"weight_held", "held lock", weigh_held_locks},
      {"weight_waiter", "waiting thread", weigh_waiters},
      of_family("one", in_setting("own_name_1", "lock and unlock", own_names, 1)),
      of_family("one", in_setting("semaphore_1", "acquire and release", permits, 1)),
      in_setting("own_name_16", "lock and unlock", own_names, 16),
      in_setting("own_name_64", "lock and unlock", own_names, 64),
      in_variant("waits", in_setting("own_name_1", "lock and unlock", own_names, 1)),
      in_variant("waits", in_setting("own_name_16", "lock and unlock", own_names, 16)),
      in_variant("waits", in_setting("own_name_64", "lock and unlock", own_names, 64)),
      in_variant("far", in_setting("own_name_1", "lock and unlock", own_names, 1)),
      in_variant("full", in_setting("own_name_1", "lock and unlock", own_names, 1)),
      in_variant("full", in_setting("own_name_64", "lock and unlock", own_names, 64)),
      in_setting("handover_processes_4", "handover", processes, 4),
      in_setting("pass_threads_8", "handover", threads, 8),
      in_setting("pass_threads_256", "handover", threads, 256),
      with_rival(make_standard_readers,
                 in_setting("shared_threads_8", "shared lock and unlock", readers, 8)),
      waiting("wait_blocking", false),
      waiting("wait_async", true),
      of_family("waiters", in_setting("waiters_8", "handover", clients, 8)),
      of_family("waiters", in_setting("waiters_64", "handover", clients, 64)),
      of_family("waiters", in_setting("waiters_256", "handover", clients, 256)),
      of_family("herd", in_variant(single, in_setting("waiters_2", "handover", clients, 2))),
      of_family("herd", in_variant(single, in_setting("waiters_8", "handover", clients, 8))),
      of_family("herd", in_variant(single, in_setting("waiters_64", "handover", clients, 64))),
      {"reentry", "lock and unlock while held", run_reentry},
      renewing(100),
      renewing(1'000),
      renewing(10'000),
      holding(1),
      holding(100),
      holding(10'000),
      {"kill_to_grant", "handover by the death of a holder", run_kill, session},
  };
}

}  // namespace crosslock::bench

// Reading, swapping and waiting.
//
// Watch, check, then rest with a cap: watch_cell reads and registers in one step, news that come
// after it change the word that was noted before it, and nobody rests for longer than look_every.
#include "cells/cells.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {

patience patience_of(const core& home, duration wait, std::stop_token stop) {
  const time_point end = home.end_of(wait);
  return {.end = end == acquire_request::no_wait ? home.clock().now() : end,
          .stop = std::move(stop)};
}

cell_watch::cell_watch(core& home, std::string_view name, std::stop_token stop)
    : home_{home}, name_{name}, stop_{std::move(stop)} {
  home_.cell_watches().add(name_, word_);
  if (!stop_.stop_possible()) return;
  on_stop_.emplace(stop_, [this] {
    word_.fetch_add(1);
    home_.rouse(word_);
  });
}

cell_watch::~cell_watch() { home_.cell_watches().remove(name_, word_); }

void cell_watch::rest(std::uint32_t seen, time_point until) {
  const auto look = [&]() -> std::optional<time_point> {
    if (word_.load() != seen || home_.clock().now() >= until) return std::nullopt;
    // It may have been stopped or closed before this watch could hear of it.
    if (stop_.stop_requested() || !home_.open_for_calls()) return std::nullopt;
    return until;
  };
  if (name_.empty()) {
    seam::park_unless(home_.clock(), word_, look);
  } else {
    home_.await_news_unless(word_, look);
  }
}

void rest_after_failure(core& home, const patience& limit, outage& trouble, const error& why) {
  const time_point now = home.clock().now();
  const time_point next = now + home.keeper().retry_pause(trouble.failures);
  const inner::settings& settings = home.settings();
  trouble.note_failure(why, now);
  const duration lease = limit.wait ? home.lease() : duration{};
  if (!endures(trouble, {.tries = settings.retry.tries, .time = lease}, now)) throw error{why};
  if (limit.wait) {
    const cell_wait& wait = *limit.wait;
    if (limit.stop.stop_requested()) throw out_of_time{};
    if (now >= limit.end) {
      if (wait.answered || !is_outage(trouble, wait.began, now, settings.timeout)) {
        throw out_of_time{};
      }
      throw error{why};
    }
    home.tell_trouble(*wait.name, trouble);
  } else if (next >= limit.end || limit.stop.stop_requested()) {
    throw error{why};
  }
  cell_watch pause{home, cell_watches::no_name, limit.stop};
  pause.rest(pause.news(), std::min(next, limit.end));
}

void throw_in_doubt(const lock_name& name, const error& why) {
  throw error{why.which(),
              "'" + name.str() + "': whether this was written is not known: " + why.what(),
              {.engine = std::string{why.engine()},
               .native_code = why.native_code(),
               .outcome_unknown = true}};
}

cell_access::cell_access(std::shared_ptr<core> home, seam::name_ref name)
    : home_{std::move(home)}, name_{std::move(name)} {
  home_->check_usable();
  const seam::traits& about = home_->about();
  if (about.cells) return;
  throw error{errc::unsupported,
              std::string{about.name} + " stores no values beside its locks: '" + name_->str() +
                  "' needs one",
              {.engine = std::string{about.name}}};
}

seam::cell cell_access::read(const patience& limit) const {
  return insist(*home_, limit,
                [this](time_point give_up) { return home_->engine().read_cell(*name_, give_up); });
}

lock_info cell_access::look(const patience& limit) const {
  return insist(*home_, limit,
                [this](time_point give_up) { return home_->engine().look(*name_, give_up); });
}

std::optional<seam::cell> cell_access::open(fence token, const patience& limit) const {
  return insist(*home_, limit, [&](time_point give_up) {
    return home_->engine().open_cell(*name_, token, give_up);
  });
}

cell_access::swapped cell_access::swap(std::uint64_t expected, const std::string& value,
                                       fence token, const patience& limit) const {
  return swap({.name = name_, .expected = expected, .value = value, .writer = {}, .token = token},
              limit);
}

cell_access::swapped cell_access::swap(seam::cell_swap wanted, const patience& limit) const {
  home_->check_usable();
  wanted.writer = home_->draw_owner();
  swapped result;
  try {
    result.answer = insist(*home_, limit, [&](time_point give_up) {
      try {
        return home_->engine().swap_cell(wanted, give_up);
      } catch (const error& why) {
        if (why.outcome_unknown()) result.doubt = why;
        throw;
      }
    });
  } catch (const error&) {
    // What the last try says about itself is no answer for the earlier ones.
    if (result.doubt) throw_in_doubt(*name_, *result.doubt);
    throw;
  }
  if (result.answer.outcome == seam::swap_answer::result::swapped) result.doubt.reset();
  return result;
}

cell_access::erased cell_access::erase(std::optional<std::uint64_t> expected, fence token,
                                       const patience& limit) const {
  using result = seam::swap_answer::result;
  std::uint64_t version = expected ? *expected : read(limit).version;
  for (std::uint64_t tries = 0;; ++tries) {
    const swapped tried = swap({.name = name_,
                                .expected = version,
                                .value = {},
                                .writer = {},
                                .token = token,
                                .erase = true},
                               limit);
    if (tried.answer.outcome == result::swapped) return erased::gone;
    if (tried.doubt) throw_in_doubt(*name_, *tried.doubt);
    if (tried.answer.outcome == result::shut_out) {
      if (token != fence{}) tell_refused(token, tried.answer.now.highest);
      return erased::shut_out;
    }
    if (expected) return erased::changed;
    version = tried.answer.now.version;
    if (tries > 0) pause_behind(tries - 1, limit);
  }
}

// Those that met once shall not meet again: each pauses for a random time, longer with every try.
void cell_access::pause_behind(std::uint64_t tries, const patience& limit) const {
  constexpr retry_options contention{
      .base = std::chrono::microseconds{200}, .tries = 0, .cap = std::chrono::milliseconds{50}};
  const duration pause = home_->keeper().pause(contention, tries);
  cell_watch here{*home_, cell_watches::no_name, limit.stop};
  here.rest(here.news(), std::min(limit.end, home_->clock().now() + pause));
}

cell_access::altered cell_access::alter(const decision& decide, const patience& limit,
                                        std::optional<seam::cell> known,
                                        std::uint64_t tries) const {
  using result = seam::swap_answer::result;
  altered done;
  done.now = known ? *std::move(known) : read(limit);
  std::optional<error> doubt;
  for (;;) {
    auto next = decide(done.now, doubt ? &*doubt : nullptr);
    if (!next) return done;
    swapped tried = swap(done.now.version, *next, {}, limit);
    if (tried.answer.outcome == result::swapped) {
      done.ended = altered::how::written;
      done.now = {*std::move(next), tried.answer.now.version, tried.answer.now.highest};
      return done;
    }
    doubt = std::move(tried.doubt);
    done.now = std::move(tried.answer.now);
    if (tried.answer.outcome == result::shut_out) {
      if (doubt) throw_in_doubt(*name_, *doubt);
      throw error{errc::conflict,
                  "'" + name_->str() + "' is written under fences: use fenced_register"};
    }
    if (!doubt && (limit.over(home_->clock()) || done.retries + 1 >= tries)) {
      done.ended = altered::how::ran_out;
      return done;
    }
    // The first time the answer says all there is to know; behind a pause it is old.
    if (!doubt && done.retries > 0) {
      pause_behind(done.retries - 1, limit);
      done.now = read(limit);
    }
    ++done.retries;
  }
}

cell_access::fenced cell_access::write(fence token, const std::string& value,
                                       std::uint64_t expected, const patience& limit) const {
  using result = seam::swap_answer::result;
  if (expected == 0) {
    const auto opened = open(token, limit);
    if (!opened) {
      tell_refused(token, read(limit).highest);
      return {};
    }
    expected = opened->version;
  }
  for (std::uint64_t tries = 0;; ++tries) {
    const swapped tried = swap(expected, value, token, limit);
    const seam::cell& now = tried.answer.now;
    if (tried.answer.outcome == result::swapped) return {true, now.version};
    // It may have been written, and then overwritten: neither yes nor no, nor a second time.
    if (tried.doubt) throw_in_doubt(*name_, *tried.doubt);
    if (tried.answer.outcome == result::shut_out) {
      tell_refused(token, now.highest);
      return {false, now.version};
    }
    expected = now.version;
    if (tries > 0) pause_behind(tries - 1, limit);
  }
}

void cell_access::tell_refused(fence shown, fence highest) const noexcept {
  if (home_->observer()) home_->observer()->fence_rejected(name_->view(), shown, highest);
}

duration cell_access::next_look(std::uint64_t looks) const {
  const duration longest = home_->settings().look_every;
  if (home_->about().watches_cells) return longest;
  const retry_options poll{.base = std::chrono::milliseconds{5}, .tries = 0, .cap = longest};
  return home_->keeper().pause(poll, looks);
}

cell_access::awaited cell_access::wait(const std::function<bool(const seam::cell&)>& enough,
                                       const patience& limit, time_point pause) const {
  const time_point end = std::min(limit.end, pause);
  // Told for longer than anybody rests here.
  const duration span = 2 * home_->settings().look_every;
  cell_watch here{*home_, name_->view(), limit.stop};
  std::uint64_t version = 0;
  for (std::uint64_t looks = 0;; ++looks) {
    const std::uint32_t seen = here.news();
    seam::cell now = insist(*home_, limit, [&](time_point give_up) {
      return home_->engine().watch_cell(*name_, span, give_up);
    });
    if (enough(now)) return {std::move(now), true};
    if (limit.stop.stop_requested() || home_->clock().now() >= end) return {std::move(now), false};
    // Where one write was seen the next may follow soon.
    if (std::exchange(version, now.version) != now.version) looks = 0;
    here.rest(seen, std::min(end, home_->clock().now() + next_look(looks)));
  }
}

}  // namespace crosslock::inner

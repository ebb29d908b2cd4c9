// The ways in.
#pragma once

#include "engines/zookeeper/nodes.hpp"
#include "session/asking_line.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace crosslock::zookeeper {

/// A way in that looks whether another library uses the name for something else.
template <class Way>
class wary : public Way {
 public:
  using Way::Way;

 protected:
  /// `names`: what lies below the name. Goes on unless that has refused.
  void unless_strangers(const name_list& names, std::function<void()> go_on);
};
extern template class wary<asking>;
extern template class wary<asking_line>;

/// Mutexes and read-write locks, first come first served, unless the name is a semaphore's.
class asking_in_line final : public wary<asking_line> {
 public:
  using wary::wary;

 private:
  void make() override;
  void find() override;
  void judge(response& listed) override;
  void refuse_if_semaphore(response& listed);
  void judge_among_strangers(response& listed);

  response queue_;  ///< of the semaphore
  bool newcomer_ = false;
};

/// Semaphores, by Curator's protocol: one at a time in the queue looks at the permits given out,
/// and takes its own when there is room.
class asking_permits final : public wary<asking> {
 public:
  using wary::wary;

 private:
  void make() override;
  void look() override;
  void find() override;

  const nodes& words() const { return static_cast<const nodes&>(at_.words); }
  std::string leases() const { return mine_->name_path + "/leases"; }
  std::vector<sent> survey();
  void made();
  void found();
  void judge();
  void judge_permits();
  void wait_for_room();
  void wait_behind(const node& before, bool only_for_a_moment);
  void admit();
  bool room(std::size_t given_out) const;
  std::size_t claimed_before(std::span<const node> queue) const;

  response made_;
  response queue_;
  response given_out_;
  response agreed_;
  response beside_;  ///< locks of the same name
  bool newcomer_ = false;
  bool of_is_written_ = false;
};

/// strategy=single: one node that everybody tries to make and everybody watches.
class asking_single final : public asking {
 public:
  using asking::asking;

 private:
  void make() override;
  void look() override;
  void find() override;

  const nodes& words() const { return static_cast<const nodes&>(at_.words); }
  void see();
};

}  // namespace crosslock::zookeeper

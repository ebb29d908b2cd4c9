// The three ways in.
#pragma once

#include "engines/zookeeper/asking.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace crosslock::zookeeper {

/// A longer line would not fit into one answer of the server (1 MB, for everybody who lists it).
inline constexpr std::size_t line_longest = 8192;

/// Mutexes and read-write locks, first come first served.
class asking_line final : public asking {
 public:
  using asking::asking;

 private:
  void make() override;
  void look() override;
  void find() override;
  std::vector<request> parents() const override;

  node_kind kind() const;
  void made(response& listed);
  void found(response& listed);
  void list();
  void judge(response& listed);
  void judge_line(const name_list& listed);
  void refuse_if_semaphore(response& listed);
  bool refuse_upgrade(const std::vector<seam::wish>& wishes, std::size_t index);
  void watch(const std::vector<node>& line, const std::vector<seam::wish>& wishes, std::size_t whom,
             std::optional<std::size_t> beside);

  response made_;
};

/// Semaphores, by Curator's protocol: one at a time in the queue looks at the permits given out,
/// and takes its own when there is room.
class asking_permits final : public asking {
 public:
  using asking::asking;

 private:
  void make() override;
  void look() override;
  void find() override;
  std::vector<request> parents() const override;

  std::string leases() const { return mine_->place + "/leases"; }
  std::vector<sent> survey();
  void made();
  void found();
  void judge();
  void wait_for_room();
  void wait_behind(const node& before, bool only_for_a_moment);
  void admit();
  bool room(std::size_t given_out) const;
  std::size_t claimed_before(std::span<const node> queue) const;

  response made_;
  response queue_;
  response given_out_;
  response agreed_;
  response beside_;  ///< mutexes of the same name
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
  std::vector<request> parents() const override;

  void see(bool make_when_gone);
};

}  // namespace crosslock::zookeeper

// One ask, from the first request until it is answered. Steps follow each other as answers come, on
// whatever thread brings them, so that an ask that nobody waits for needs no thread.
#pragma once

#include "engines/zookeeper/claims.hpp"
#include "engines/zookeeper/path.hpp"

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace crosslock::zookeeper {

class asking : public std::enable_shared_from_this<asking> {
 public:
  using outcome = std::variant<seam::answer, error>;
  using told = std::function<void(const outcome&)>;

  /// The way that this kind of claim takes.
  static std::shared_ptr<asking> about(desk& at, const standing_ref& mine, told then);
  asking(desk& at, standing_ref mine, told then)
      : at_{at}, mine_{std::move(mine)}, then_{std::move(then)} {}
  virtual ~asking() = default;
  asking(const asking&) = delete;
  asking& operator=(const asking&) = delete;

  /// Throws when nothing could be sent.
  void begin();

 protected:
  using step = void (asking::*)();

  virtual void make() = 0;  ///< there is no node yet
  virtual void look() = 0;  ///< there is one, known to us
  virtual void find() = 0;  ///< there may be one that we do not know
  virtual std::vector<request> parents() const = 0;

  /// Sends; each answer goes to its hearer unless the ask is over by then.
  struct sent {
    request what;
    std::function<void(response&)> then;
  };
  void send(std::vector<sent> all);
  /// Makes what the node hangs from, then begins anew.
  void make_parents();
  /// The node is gone, or was never made: again from the start.
  void start_over();
  void go_on();
  void count_try();

  void hold();
  void busy();
  void fail(const error& why);
  void fail(const response& said, const std::string& what) {
    fail(error_in(said, what, at_.wire.shown()));
  }
  /// A node could not be made below that path.
  void fail_below(const std::string& path, const response& said);
  /// Fails, and takes the node away again.
  void refuse(const error& why);
  bool over() const;  ///< the table's mutex is held

  const seam::claim& claim() const noexcept { return mine_->claim; }
  const lock_name& name() const noexcept { return *mine_->claim.name; }
  std::string node_in(std::string_view child) const { return below(mine_->parent, child); }
  /// The node that the present ask has just made.
  void take_node(const std::string& path, std::int64_t born);
  void in_line(time_point now);

  desk& at_;
  const standing_ref mine_;
  int tries_ = 0;

 private:
  void tell(const outcome& what);

  told then_;
  std::uint64_t number_ = 0;
  bool told_ = false;  ///< guarded by the table's mutex
};

}  // namespace crosslock::zookeeper

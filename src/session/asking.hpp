// One ask, from the first request until it is answered. Steps follow each other as answers come, on
// whatever thread brings them, so that an ask that nobody waits for needs no thread.
#pragma once

#include "engine/claim.hpp"
#include "session/claim_environment.hpp"

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace crosslock::session {

class asking : public std::enable_shared_from_this<asking> {
 public:
  using outcome = std::variant<seam::answer, error>;
  using told = std::function<void(const outcome&)>;

  asking(claim_environment& at, standing_ref mine, told then)
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
  void fail(const response& said, const std::string& what) { fail(at_.words.error_in(said, what)); }
  /// A node could not be made below that path.
  void fail_below(const std::string& path, const response& said);
  /// Fails, and takes the node away again.
  void refuse(const error& why);
  bool over() const CROSSLOCK_REQUIRES(at_.table.mutex);

  const seam::claim& claim() const noexcept { return mine_->claim; }
  const lock_name& name() const noexcept { return *mine_->claim.name; }
  std::string node_in(std::string_view child) const { return below(mine_->parent, child); }
  /// The node that the present ask has just made.
  void take_node(const std::string& path, const node_facts& facts);
  void in_line(time_point now);

  claim_environment& at_;
  const standing_ref mine_;
  int tries_ = 0;

 private:
  void tell(const outcome& what);

  told then_;
  std::uint64_t number_ = 0;
  bool told_ CROSSLOCK_GUARDED_BY(at_.table.mutex) = false;
};

}  // namespace crosslock::session

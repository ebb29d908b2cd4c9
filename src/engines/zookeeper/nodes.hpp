// How claims are written into ZooKeeper's tree: as ephemeral nodes.
#pragma once

#include "engines/zookeeper/connection.hpp"
#include "engines/zookeeper/node_name.hpp"
#include "session/claim_codec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {

struct preferences {
  naming names = naming::curator;
  bool single = false;  ///< one node for everybody
};

class nodes final : public claim_codec {
 public:
  nodes(const connection& wire, const preferences& how, std::string who)
      : wire_{wire}, how_{how}, who_{std::move(who)} {}

  void locate(standing& mine) const override;
  request place_for(const standing& mine) const override;
  std::vector<request> parents_of(const standing& mine) const override;
  void note_place(standing& mine, const std::string& path, const node_facts& facts) const override;
  request removal_of(const standing& mine) const override;
  std::vector<std::string> folders_of(const standing& mine) const override;
  std::vector<member> read_line(const name_list& listed) const override;
  std::optional<owner_id> owner_of(std::string_view child) const override;
  bool is_ours(std::string_view data) const override;
  bool is_present(const node_facts& facts) const override;
  error make_error(errc code, const std::string& text, bool outcome_unknown) const override;
  error error_in(const response& said, const std::string& what) const override;
  error error_below(const std::string& path) const override;
  bool remove_unknown(claim_environment& at, const standing_ref& mine,
                      const hearer& then) const override;

  /// So many permits at most are given out in one step, which is one message.
  std::int32_t permits_most(const seam::claim& claim) const;
  /// zookeeper::stranger beside that claim.
  std::string_view stranger(const seam::claim& claim, std::string_view child) const;
  naming names() const noexcept { return how_.names; }
  /// What its node says.
  std::string inscription_of(const standing& mine) const;
  /// strategy=single: the node that everybody uses is this claim's.
  bool holds(const standing& mine, const response& said) const;

 private:
  const connection& wire_;
  const preferences how_;
  const std::string who_;
};

}  // namespace crosslock::zookeeper

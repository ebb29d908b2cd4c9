// Requests on their way through the client library: how they go in, and how answers come out. The
// library calls these functions from within zookeeper_process, with our mutex held: they only take
// down what has come.
#include "engines/zookeeper/access.hpp"
#include "engines/zookeeper/arrival.hpp"
#include "engines/zookeeper/connection.hpp"

#include "engine/fork_guard.hpp"

#include <zookeeper/zookeeper.h>

#include <utility>

namespace crosslock::zookeeper {
namespace {

/// What the library has once for the whole process, and uses without a lock: the counter that
/// numbers requests, and the text of an address.
seam::fork_safe_mutex statics;

int flags_of(node_life life) {
  switch (life) {
    case node_life::persistent:
      return ZOO_PERSISTENT;
    case node_life::container:
      return ZOO_CONTAINER;
    case node_life::ephemeral:
      return ZOO_EPHEMERAL;
    case node_life::ephemeral_sequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
  }
  return ZOO_PERSISTENT;
}

int length_of(const std::string& data) { return static_cast<int>(data.size()); }

node_facts facts_of(const Stat* stat) {
  if (stat == nullptr) return {};
  return {.born = stat->czxid,
          .made_at_ms = stat->ctime,
          .written_at_ms = stat->mtime,
          .owner = stat->ephemeralOwner,
          .version = stat->version};
}

std::string text_of(const char* text) { return text == nullptr ? std::string{} : text; }

}  // namespace

struct connection::completions {
  static pending* of(const void* data) {
    return const_cast<pending*>(static_cast<const pending*>(data));
  }
  static void arrive(pending* waits, int code) {
    waits->said.what = result_of(code);
    waits->said.code = code;
    connection* const home = waits->home;
    home->take_down({.answered = std::unique_ptr<pending>{waits}});
  }
  static void nothing(int code, const void* data) { arrive(of(data), code); }
  static void path(int code, const char* path, const void* data) {
    if (code == ZOK) of(data)->said.path = text_of(path);
    arrive(of(data), code);
  }
  static void path_and_facts(int code, const char* path, const Stat* stat, const void* data) {
    if (code == ZOK) {
      of(data)->said.path = text_of(path);
      of(data)->said.facts = facts_of(stat);
    }
    arrive(of(data), code);
  }
  static void facts(int code, const Stat* stat, const void* data) {
    if (code == ZOK) of(data)->said.facts = facts_of(stat);
    arrive(of(data), code);
  }
  static void contents(int code, const char* value, int length, const Stat* stat,
                       const void* data) {
    if (code == ZOK) {
      if (value != nullptr && length > 0) {
        of(data)->said.data.assign(value, static_cast<std::size_t>(length));
      }
      of(data)->said.facts = facts_of(stat);
    }
    arrive(of(data), code);
  }
  /// Who made the node is known by its session alone: others may have put one there.
  static void rights(int code, ACL_vector* written, Stat* stat,
                     const void* data) CROSSLOCK_NO_ANALYSIS {
    if (code == ZOK && written != nullptr) {
      connection& home = *of(data)->home;
      of(data)->said.facts = facts_of(stat);
      if (of(data)->said.facts.owner == home.session_id_) home.access_->learn(*written);
    }
    arrive(of(data), code);
  }
  static void names(int code, const String_vector* names, const void* data) {
    if (code == ZOK && names != nullptr) {
      of(data)->said.names = name_list{{names->data, static_cast<std::size_t>(names->count)}};
    }
    arrive(of(data), code);
  }
  static void changes(int code, const void* data) {
    if (code == ZOK) {
      std::vector<const char*> made;
      for (const std::string& one : of(data)->created) made.push_back(one.c_str());
      of(data)->said.names = name_list{made};
    }
    arrive(of(data), code);
  }
};

int connection::submit_transaction(const request& what, pending* waits) {
  std::vector<zoo_op_t> parts(what.changes.size());
  waits->results.resize(parts.size());
  waits->created.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const change& one = what.changes[i];
    switch (one.what) {
      case change::kind::create: {
        // The server appends ten digits, or eleven with a sign.
        waits->created.emplace_back(one.path.size() + 16, '\0');
        std::string& made = waits->created.back();
        zoo_create_op_init(&parts[i], one.path.c_str(), one.data.data(), length_of(one.data),
                           &access_->of(one.who), flags_of(one.life), made.data(), length_of(made));
        break;
      }
      case change::kind::erase:
        zoo_delete_op_init(&parts[i], one.path.c_str(), one.version);
        break;
      case change::kind::write:
        zoo_set_op_init(&parts[i], one.path.c_str(), one.data.data(), length_of(one.data),
                        one.version, nullptr);
        break;
      case change::kind::check:
        zoo_check_op_init(&parts[i], one.path.c_str(), one.version);
        break;
    }
  }
  return zoo_amulti(handle_, static_cast<int>(parts.size()), parts.data(), waits->results.data(),
                    completions::changes, waits);
}

std::string connection::current_server() const {
  const seam::lock_guard guard{statics};
  return text_of(zoo_get_current_server(handle_));
}

void connection::submit_rights_question(const std::string& path, hearer then) {
  auto owned = std::make_unique<pending>();
  owned->home = this;
  owned->then = std::move(then);
  pending* const waits = owned.release();
  const seam::lock_guard guard{statics};
  const int code = zoo_aget_acl(handle_, path.c_str(), completions::rights, waits);
  if (code != ZOK) completions::arrive(waits, code);
}

void connection::submit(asked& one) {
  auto owned = std::make_unique<pending>();
  owned->home = this;
  owned->then = std::move(one.then);
  pending* const waits = owned.release();
  if (!unheard_since_) unheard_since_ = clock_.now();
  const request& what = one.what;
  const char* const path = what.path.c_str();
  const seam::lock_guard guard{statics};
  int code = ZOK;
  switch (what.what) {
    case request::kind::create:
      code = zoo_acreate2(handle_, path, what.data.data(), length_of(what.data),
                          &access_->of(what.who), flags_of(what.life), completions::path_and_facts,
                          waits);
      break;
    case request::kind::erase:
      code = zoo_adelete(handle_, path, what.version, completions::nothing, waits);
      break;
    case request::kind::read:
      code = zoo_aget(handle_, path, what.watch ? 1 : 0, completions::contents, waits);
      break;
    case request::kind::exists:
      code = zoo_aexists(handle_, path, what.watch ? 1 : 0, completions::facts, waits);
      break;
    case request::kind::write:
      code = zoo_aset(handle_, path, what.data.data(), length_of(what.data), what.version,
                      completions::facts, waits);
      break;
    case request::kind::children:
      code = zoo_aget_children(handle_, path, what.watch ? 1 : 0, completions::names, waits);
      break;
    case request::kind::sync:
      code = zoo_async(handle_, path, completions::path, waits);
      break;
    case request::kind::transaction:
      code = submit_transaction(what, waits);
      break;
  }
  if (code != ZOK) completions::arrive(waits, code);  // refused by the library itself
}

}  // namespace crosslock::zookeeper

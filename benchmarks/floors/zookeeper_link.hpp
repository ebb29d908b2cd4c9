// A ZooKeeper session as any C program has it: the official client with threads of its own, and its
// synchronous calls.
#pragma once

#ifndef THREADED
#define THREADED  // only then its header declares them
#endif
#include <dlfcn.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::bench {

/// The library, loaded when it is first used and never linked: our engine has the flavour without
/// threads inside, whose functions have the same names.
struct zookeeper_library {
  static const zookeeper_library& get() {
    static const zookeeper_library library;
    return library;
  }

  decltype(&zookeeper_init) init;
  decltype(&zookeeper_close) close;
  decltype(&zoo_create) create;
  decltype(&zoo_delete) remove;
  decltype(&zoo_get_children) get_children;
  decltype(&zoo_wexists) exists;

 private:
  zookeeper_library() {
    constexpr const char* file = "libzookeeper_mt.so.2";
    void* const loaded = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!loaded) throw std::runtime_error{std::string{dlerror()} + "; is libzookeeper-mt2 there?"};
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(loaded, name));
      if (!function) throw std::runtime_error{std::string{file} + " has no " + name};
    };
    find(init, "zookeeper_init");
    find(close, "zookeeper_close");
    find(create, "zoo_create");
    find(remove, "zoo_delete");
    find(get_children, "zoo_get_children");
    find(exists, "zoo_wexists");
    decltype(&zoo_set_debug_level) set_level;
    find(set_level, "zoo_set_debug_level");
    set_level(static_cast<ZooLogLevel>(0));  // it would write to stderr
  }
};

/// Every failure is an exception. Thread-safe, as the library is.
class zookeeper_link {
 public:
  explicit zookeeper_link(int port) {
    const std::string address = "127.0.0.1:" + std::to_string(port);
    handle_ = library_.init(address.c_str(), heard, session_timeout_ms, nullptr, this, 0);
    if (!handle_) throw std::runtime_error{"the ZooKeeper client does not start"};
    std::unique_lock guard{mutex_};
    if (!wake_.wait_for(guard, std::chrono::seconds{10}, [&] { return connected_; })) {
      guard.unlock();
      library_.close(handle_);
      throw std::runtime_error{"ZooKeeper does not answer"};
    }
  }
  ~zookeeper_link() { library_.close(handle_); }
  zookeeper_link(const zookeeper_link&) = delete;
  zookeeper_link& operator=(const zookeeper_link&) = delete;

  /// With everything above it that is not there yet.
  void make_path(const std::string& path) {
    for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      const int code = try_create(part, persistent, nullptr, 0);
      if (code != ZOK && code != ZNODEEXISTS) fail(code, part);
      if (end == std::string::npos) return;
    }
  }

  /// An ephemeral sequential node; returns its path.
  std::string create(const std::string& prefix) {
    char made[256];
    const int code = try_create(prefix, ephemeral_sequential, made, sizeof made);
    if (code != ZOK) fail(code, prefix);
    return made;
  }

  void remove(const std::string& path) {
    constexpr int any_version = -1;
    if (const int code = library_.remove(handle_, path.c_str(), any_version)) fail(code, path);
  }

  std::vector<std::string> children(const std::string& path) {
    String_vector found{};
    const int code = library_.get_children(handle_, path.c_str(), 0, &found);
    if (code != ZOK) fail(code, path);
    const std::vector<std::string> names(found.data, found.data + found.count);
    deallocate_names(found);
    return names;
  }

  /// False when it is not there. Otherwise `changed` is released once when something happens to it.
  bool watch(const std::string& path, std::binary_semaphore& changed) {
    Stat unused{};
    const int code = library_.exists(handle_, path.c_str(), happened, &changed, &unused);
    if (code != ZOK && code != ZNONODE) fail(code, path);
    return code == ZOK;
  }

 private:
  // The library has these as variables, which nobody here is linked with.
  static constexpr int persistent = 0;
  static constexpr int ephemeral_sequential = 3;
  static constexpr int session_event = -1;
  static constexpr int connected_state = 3;
  static constexpr int every_permission = 0x1f;

  static constexpr int session_timeout_ms = 10'000;

  int try_create(const std::string& path, int mode, char* made, int size) {
    char scheme[] = "world";
    char who[] = "anyone";
    ACL open{every_permission, {scheme, who}};
    const ACL_vector acl{1, &open};
    return library_.create(handle_, path.c_str(), "", 0, &acl, mode, made, size);
  }

  static void deallocate_names(String_vector& names) {
    for (int i = 0; i < names.count; ++i) std::free(names.data[i]);
    std::free(names.data);
  }

  static void heard(zhandle_t*, int type, int state, const char*, void* context) {
    auto& me = *static_cast<zookeeper_link*>(context);
    if (type != session_event || state != connected_state) return;
    const std::lock_guard guard{me.mutex_};
    me.connected_ = true;
    me.wake_.notify_all();
  }

  static void happened(zhandle_t*, int type, int, const char*, void* context) {
    if (type != session_event) static_cast<std::binary_semaphore*>(context)->release();
  }

  [[noreturn]] static void fail(int code, const std::string& path) {
    throw std::runtime_error{"ZooKeeper says " + std::to_string(code) + " to " + path};
  }

  const zookeeper_library& library_ = zookeeper_library::get();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool connected_ = false;
  zhandle_t* handle_ = nullptr;
};

/// One session for several threads; connects when it is first used.
class shared_zookeeper_link {
 public:
  explicit shared_zookeeper_link(int port) : port_{port} {}

  zookeeper_link& get() {
    std::call_once(once_, [&] { link_ = std::make_unique<zookeeper_link>(port_); });
    return *link_;
  }

 private:
  const int port_;
  std::once_flag once_;
  std::unique_ptr<zookeeper_link> link_;
};

}  // namespace crosslock::bench

// Which engine serves which URL scheme. The only place that names engines.
#pragma once

#include "engine/engine.hpp"
#include "engine/log.hpp"
#include "engine/url.hpp"

#include <crosslock/options.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crosslock::seam {

/// What an engine is given when it is opened. The references outlive the engine.
struct opening {
  crosslock::seam::url& url;  ///< the common parameters are taken out already
  std::string who;            ///< user@host, pid, program: shown to others
  std::int64_t process = 0;   ///< whose death ends holds, if the engine watches; 0: this one's
  duration timeout;           ///< the longest one request may take
  std::optional<duration> lease{};  ///< what the user said, if anything: of a whole session, maybe
  crosslock::seam::engine_events& events;
  crosslock::seam::clock& clock;
  crosslock::seam::log log;  ///< may be silent
};

using factory = std::unique_ptr<engine> (*)(const opening&);

/// What an engine library brings: how to open the engine, and what it offers before it is opened.
struct engine_export {
  factory open;
  const traits* offers;
};

/// Each engine library exports one symbol, `crosslock_engine_<name>`, with C linkage, so that the
/// linker (-u) and dlsym() can name it. Its factory.cpp ends, outside of any namespace or in one,
/// with
///     CROSSLOCK_EXPORT_ENGINE(memory, open_memory, offered);
/// where open_memory is a function of the type `factory` and offered the traits of the engine. The
/// registry refers to the symbol weakly: an engine that is not linked is a null pointer, not a link
/// error.
#define CROSSLOCK_EXPORT_ENGINE(name, open_function, offered_traits)         \
  extern "C" const ::crosslock::seam::engine_export crosslock_engine_##name; \
  const ::crosslock::seam::engine_export crosslock_engine_##name {           \
    open_function, &(offered_traits)                                         \
  }

struct registered {
  std::string_view engine;      ///< "memory"
  std::string_view scheme;      ///< "memory"; an engine may have several rows
  std::string_view library;     ///< what to link or install: "crosslock::memory"
  const engine_export* linked;  ///< null when its library is not linked
};

/// Every engine crosslock knows, linked or not. The rows of one engine stand together.
std::span<const registered> registry() noexcept;

/// The URL of the embedded engine, the default, for a database at that absolute path.
std::string embedded_url(std::string_view path);

/// Whether there may be a server behind this URL that wants a password.
bool asks_for_password(const url& url) noexcept;

/// Asked for an engine that is not linked; null when it cannot be had. A program that loads engines
/// at run time sets it once, before its first connect.
using loader = const engine_export* (*)(std::string_view engine);
void set_loader(loader load) noexcept;

/// The engine of a row: linked, or else loaded; null when neither works.
const engine_export* find_engine(const registered& row);

/// The engine that a URL names. Throws as open_engine does; connects nothing.
const engine_export& require_engine(const url& url);

/// Connects. Throws `invalid_url` for a scheme nobody knows, `unsupported` for one that is still to
/// come, or naming the library that is missing.
std::unique_ptr<engine> open_engine(const opening& opening);

}  // namespace crosslock::seam

// Acquires for Asio's completion tokens: use_awaitable, use_future, a handler, ...
//
// Header-only and not part of crosslock.hpp: the library knows nothing of Asio. For standalone Asio
// from 1.22 on; define CROSSLOCK_USE_BOOST_ASIO, everywhere in the program, for Boost.Asio (from
// Boost 1.79 on).
#pragma once

#include <crosslock/async.hpp>

#if defined(CROSSLOCK_USE_BOOST_ASIO)
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#else
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution/context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/system_executor.hpp>
#endif

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace crosslock {

namespace inner {

#if defined(CROSSLOCK_USE_BOOST_ASIO)
namespace net = ::boost::asio;
#else
namespace net = ::asio;
#endif

/// Whether that executor has no context of its own: what is dispatched to it runs on the calling
/// thread.
template <class Executor>
bool runs_in_place(const Executor& executor) {
  const net::execution_context& nobodys =
      net::query(net::system_executor{}, net::execution::context);
  if constexpr (net::can_query_v<Executor, net::execution::context_t>) {
    return &net::query(executor, net::execution::context) == &nobodys;
  } else {
    return &executor.context() == &nobodys;
  }
}

/// One acquire on behalf of a completion handler. Keeps the handler's context at work until then.
template <class Held, class Handler>
class asio_acquire : public std::enable_shared_from_this<asio_acquire<Held, Handler>> {
 public:
  using executor_type = net::associated_executor_t<Handler>;

  asio_acquire(Handler handler, const std::stop_token& stop)
      : handler_{std::move(handler)},
        executor_{net::get_associated_executor(handler_)},
        work_{executor_},
        stop_{stop} {}

  void begin(acquisition<Held> wanted) {
    const auto self = this->shared_from_this();
    wanted.plan().how.stop = stop_.token();
    heed_cancellation();
    // The library's events go straight to the handler's context. What runs in place would run on a
    // thread that is not for user code: there the acquire's own executor comes first.
    if (!runs_in_place(executor_)) wanted.plan().executor = post_to(executor_);
    try {
      std::move(wanted).start([self](acquire_outcome<Held> outcome) {
        net::dispatch(self->executor_, self->completion(std::move(outcome)));
      });
    } catch (const error&) {
      net::post(executor_, completion({.hold = {}, .failure = std::current_exception()}));
    }
  }

 private:
  static continuation_executor post_to(const executor_type& executor) {
    return [executor](std::function<void()> continuation) {
      // The handler may run, and its context come to its end, while this thread is still posting.
      const net::executor_work_guard<executor_type> until_posted{executor};
      net::post(executor, std::move(continuation));
    };
  }

  void heed_cancellation() {
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    slot.assign([weak = this->weak_from_this()](net::cancellation_type) {
      if (const auto self = weak.lock()) self->stop_.request();
    });
  }

  /// Runs on the handler's executor. Frees everything of the acquire before the handler is called.
  auto completion(acquire_outcome<Held> outcome) {
    return [self = this->shared_from_this(), outcome = std::move(outcome)]() mutable {
      auto slot = net::get_associated_cancellation_slot(self->handler_);
      if (slot.is_connected()) slot.clear();
      Handler handler{std::move(self->handler_)};
      self.reset();
      std::move(handler)(std::move(outcome.failure), std::move(outcome.hold));
    };
  }

  Handler handler_;
  const executor_type executor_;
  const net::executor_work_guard<executor_type> work_;
  joined_stop stop_;
};

struct begin_asio_acquire {
  template <class Handler, class Held>
  void operator()(Handler&& handler, acquisition<Held> wanted) const {
    using acquire = asio_acquire<Held, std::decay_t<Handler>>;
    const std::stop_token stop = wanted.plan().how.stop;
    std::make_shared<acquire>(std::forward<Handler>(handler), stop)->begin(std::move(wanted));
  }
};

}  // namespace inner

/// Begins an acquire; its completion signature is void(std::exception_ptr, std::optional<Held>).
///
///     std::optional<hold> held =
///         co_await async_acquire(lock.async_acquire({}, 2s), asio::use_awaitable);
///
/// Empty means out of time, stopped, or cancelled (any type of cancellation, by the token's slot).
/// The handler runs on its associated executor, whose context counts as busy until then; one that
/// has none (and use_future) runs where the continuation of the acquisition would. The context must
/// outlive the acquire.
template <class Held, class Token>
auto async_acquire(acquisition<Held> wanted, Token&& token) {
  return inner::net::async_initiate<Token, void(std::exception_ptr, std::optional<Held>)>(
      inner::begin_asio_acquire{}, token, std::move(wanted));
}

}  // namespace crosslock

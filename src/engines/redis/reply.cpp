// hiredis calls back for every value it finds. A value needs no object of its own: it is appended
// to the reply that is being built, and what hiredis gets back only says that all is well.
#include "engines/redis/reply.hpp"

#include "engines/redis/failure.hpp"

#include <hiredis/read.h>

#include <charconv>
#include <limits>
#include <new>

namespace crosslock::redis {
namespace {

/// The longest reply is a list of names or a cell of 1 MiB.
constexpr std::size_t bytes_max = std::size_t{64} << 20;
constexpr int items_max = 1 << 20;

reply& building(const redisReadTask* task) { return *static_cast<reply*>(task->privdata); }

template <class... Value>
void* append(const redisReadTask* task, Value... value) noexcept {
  try {
    building(task).add(value...);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return task->privdata;
}

void* on_string(const redisReadTask* task, char* bytes, std::size_t length) {
  const reply::kind is = task->type == REDIS_REPLY_ERROR    ? reply::kind::error
                         : task->type == REDIS_REPLY_STATUS ? reply::kind::status
                                                            : reply::kind::text;
  return append(task, is, std::string_view{bytes, length});
}

void* on_array(const redisReadTask* task, int count) {
  if (count > items_max) return nullptr;
  return append(task, reply::kind::array, static_cast<long long>(count));
}

void* on_integer(const redisReadTask* task, long long number) {
  return append(task, reply::kind::integer, number);
}

void* on_nil(const redisReadTask* task) { return append(task, reply::kind::nil, 0LL); }

void on_free(void*) {}

redisReplyObjectFunctions functions{on_string, on_array, on_integer, on_nil, on_free};

[[noreturn]] void throw_nonsense(const std::string& what) {
  throw make_error(errc::protocol, "the answer is not one of Redis: " + what);
}

}  // namespace

void reply::clear() noexcept {
  items_.clear();
  text_.clear();
}

void reply::add(kind is, long long number) { items_.push_back({is, number, 0, 0}); }

void reply::add(kind is, std::string_view bytes) {
  items_.push_back({is, 0, text_.size(), bytes.size()});
  text_.append(bytes);
}

reply::kind cursor::kind() const {
  if (done()) throw_nonsense("it is too short");
  return reply_.at(next_).is;
}

const reply::item& cursor::take(reply::kind expected) {
  if (kind() != expected) throw_nonsense("another kind of value was expected");
  return reply_.at(next_++);
}

long long cursor::number() { return take(reply::kind::integer).number; }

std::int64_t cursor::digits() {
  const std::string_view found = text();
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(found.data(), found.data() + found.size(), value);
  if (failure != std::errc{} || end != found.data() + found.size()) {
    throw_nonsense("'" + std::string{found} + "' is no number");
  }
  return value;
}

std::string_view cursor::text() { return reply_.bytes(take(reply::kind::text)); }

std::size_t cursor::array() { return static_cast<std::size_t>(take(reply::kind::array).number); }

parser::parser() { reset(); }
parser::~parser() = default;

void parser::free_reader::operator()(redisReader* reader) const noexcept {
  ::redisReaderFree(reader);
}

void parser::reset() {
  reader_.reset(::redisReaderCreateWithFunctions(&functions));
  if (!reader_) throw std::bad_alloc{};
  reader_->privdata = &building_;
  building_.clear();
}

void parser::feed(std::span<const char> bytes) {
  if (reader_->len > bytes_max) throw_nonsense("it does not end");
  if (::redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    throw_nonsense(reader_->errstr);
  }
}

bool parser::next(reply& into) {
  void* complete = nullptr;
  if (::redisReaderGetReply(reader_.get(), &complete) != REDIS_OK) {
    throw_nonsense(reader_->errstr);
  }
  if (complete == nullptr) return false;
  std::swap(into, building_);
  building_.clear();
  return true;
}

}  // namespace crosslock::redis

// crosslock: locks that hold across threads, processes and machines.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/barrier.hpp>
#include <crosslock/client.hpp>
#include <crosslock/count_down_latch.hpp>
#include <crosslock/election.hpp>
#include <crosslock/error.hpp>
#include <crosslock/fence.hpp>
#include <crosslock/fenced_register.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/inspect.hpp>
#include <crosslock/lock_name.hpp>
#include <crosslock/multi_lock.hpp>
#include <crosslock/mutex.hpp>
#include <crosslock/observer.hpp>
#include <crosslock/options.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/receipt.hpp>
#include <crosslock/recursive_mutex.hpp>
#include <crosslock/semaphore.hpp>
#include <crosslock/shared_mutex.hpp>
#include <crosslock/striped_mutex.hpp>
#include <crosslock/time.hpp>
#include <crosslock/version.hpp>
#include <crosslock/versioned.hpp>

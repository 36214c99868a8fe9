// The queue disciplines: an entry here is bound to Python, checked and fuzzed.
#pragma once

#include "queues/crosspoints.hpp"
#include "queues/fifo.hpp"
#include "queues/hashed_credits.hpp"
#include "queues/round_robin.hpp"
#include "queues/strict_priority.hpp"

#include <variant>

namespace kuijia::packet {

using QueueingRules =
    std::variant<FifoRules, StrictPriorityRules, RoundRobinRules, CrosspointsRules, HashedCreditsRules>;

} // namespace kuijia::packet

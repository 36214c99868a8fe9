// The queue disciplines: an entry here is bound to Python, checked and fuzzed.
#pragma once

#include "queues/crosspoints.hpp"
#include "queues/drop_thresholds.hpp"
#include "queues/fifo.hpp"
#include "queues/hashed_credits.hpp"
#include "queues/round_robin.hpp"
#include "queues/shared_buffer.hpp"
#include "queues/strict_priority.hpp"

#include <variant>

namespace kuijia::packet {

using QueueingRules = std::variant<FifoRules, StrictPriorityRules, RoundRobinRules, CrosspointsRules,
                                   HashedCreditsRules, SharedBufferRules, DropThresholdsRules>;

} // namespace kuijia::packet

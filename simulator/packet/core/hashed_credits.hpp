// Hashed Credits Fair: which of two queues a flow's packets go to (Shpiner et al., Computer Networks 56, 2012).
//
// Flows are hashed into bins, each of which has a few credits. A packet that spends a credit goes to the queue that is
// served first, any other to the second one. When the first queue is empty the two change roles, and all bins have their
// credits again. Packets of a flow stay in order: those in the second queue are in front when new credits let others in.
#pragma once

#include "units.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kuijia::packet {

struct HashedCreditsRules {
    std::uint32_t bins = 20;
    std::uint32_t credits = 1;     // of each bin
    Time hashed_anew_after = never; // how long a hash function lasts at least
};

class HashedCredits {
  public:
    HashedCredits(const HashedCreditsRules &rules, std::uint64_t seed);

    // Which queue a packet of the flow goes to; spends a credit when the flow's bin has one.
    std::size_t queue_of(std::uint32_t flow);

    // Which queue is served first.
    std::size_t first() const { return first_; }

    // The queue that was served first is empty. The hash function changes only here, where it cannot reorder a flow.
    void exchange(Time now);

  private:
    HashedCreditsRules rules_;
    std::vector<std::uint32_t> left_; // credits of each bin
    std::uint64_t key_;
    Time hashed_anew_ = 0;
    std::size_t first_ = 0;
};

} // namespace kuijia::packet

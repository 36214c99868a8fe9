// Hashed Credits Fair: choice of one of two queues for a flow's packets (Shpiner et al., Computer Networks 56, 2012).
//
// Flows are hashed into bins with a few credits each. A packet that spends a credit goes to the queue that is served
// first, any other to the second one. When the first queue is empty, the two exchange roles and all bins regain their
// credits. Packets of a flow stay in order: its packets in the second queue are ahead of those that new credits admit.
#pragma once

#include "units.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kuijia::packet {

struct HashedCreditsRules {
    std::uint32_t bins = 20;
    std::uint32_t credits = 1;      // of each bin
    Time hashed_anew_after = never; // minimum time that a hash function lasts
};

class HashedCredits {
  public:
    HashedCredits(const HashedCreditsRules &rules, std::uint64_t seed);

    // Returns the queue for a packet of the flow; spends a credit if the flow's bin has one.
    std::size_t queue_of(std::uint32_t flow);

    // Returns the queue that is served first.
    std::size_t first() const { return first_; }

    // Exchanges the roles once the first queue is empty. The hash function changes only here, where it cannot reorder a
    // flow.
    void exchange(Time now);

  private:
    HashedCreditsRules rules_;
    std::vector<std::uint32_t> left_; // credits of each bin
    std::uint64_t key_;
    Time hashed_anew_ = 0;
    std::size_t first_ = 0;
};

} // namespace kuijia::packet

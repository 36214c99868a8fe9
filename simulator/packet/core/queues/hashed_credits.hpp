// Hashed Credits Fair: choice of one of two queues for a flow's packets (Shpiner et al., Computer Networks 56, 2012).
//
// Flows are hashed into bins with a few credits each. A packet that spends a credit goes to the queue that is served
// first, any other to the second one. When the first queue is empty, the two exchange roles and all bins regain their
// credits. Packets of a flow stay in order: its packets in the second queue are ahead of those that new credits admit.
#pragma once

#include "queues/buffer.hpp"

#include <array>
#include <limits>
#include <vector>

namespace kuijia::packet {

struct HashedCreditsRules {
    static constexpr const char *name = "HashedCredits";
    FifoRules queue; // each of the two
    std::uint32_t bins = 20;
    std::uint32_t credits = 1;              // of each bin
    Time hashed_anew_after = second / 1000; // minimum time that a hash function lasts

    static auto fields() {
        constexpr auto most = std::numeric_limits<std::uint32_t>::max();
        return std::tuple{
            plain("queue", &HashedCreditsRules::queue),
            number("bins", &HashedCreditsRules::bins, 1, 1 << 16, "must be between 1 and 2^16"),
            number("credits", &HashedCreditsRules::credits, 0, most, "must be at least 0"),
            duration("hashed_anew_after", &HashedCreditsRules::hashed_anew_after, 1),
        };
    }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class HashedCredits final : public Discipline {
  public:
    HashedCredits(const HashedCreditsRules &rules, std::uint64_t seed);

    void offer(PacketId id, Arrival &arrival) override;
    Choice choose(PacketPool &pool, Time now) override;
    PacketId flush(PacketPool &pool, Time now) override;

  private:
    // Returns the queue for a packet of the flow; spends a credit if the flow's bin has one.
    std::size_t queue_of(std::uint32_t flow);

    // Exchanges the roles once the first queue is empty. The hash function changes only here, where it cannot reorder a
    // flow.
    void exchange(Time now);

    std::array<Buffer, 2> queues_;
    std::uint32_t credits_;
    Time hashed_anew_after_;
    std::vector<std::uint32_t> left_; // credits of each bin
    std::uint64_t key_;
    Time hashed_anew_ = 0;
    std::size_t first_ = 0;
};

} // namespace kuijia::packet

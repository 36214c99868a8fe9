// One queue per level, served in turn, each up to its weight in packets.
#pragma once

#include "queues/rounds.hpp"

namespace kuijia::packet {

struct RoundRobinRules {
    static constexpr const char *name = "RoundRobin";
    std::vector<FifoRules> queues; // packets of higher levels go to the last
    std::vector<std::uint32_t> weights;

    static auto fields() {
        constexpr auto most = std::numeric_limits<std::uint32_t>::max();
        return std::tuple{
            plain("queues", &RoundRobinRules::queues),
            numbers("weights", &RoundRobinRules::weights, 1, most, "must be at least 1"),
        };
    }
    const char *fault() const {
        return queues.empty() || queues.size() != weights.size()
                   ? "there must be as many weights as queues, and at least one"
                   : nullptr;
    }
    const FifoRules *only(std::uint32_t) const { return queues.size() == 1 ? &queues.front() : nullptr; }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class RoundRobin final : public Discipline {
  public:
    explicit RoundRobin(const RoundRobinRules &rules);

    void offer(PacketId id, Arrival &arrival) override { rounds_.offer(arrival.pool[id].level, id, arrival); }
    Choice choose(PacketPool &pool, Time now) override { return rounds_.choose(pool, now); }
    PacketId flush(PacketPool &pool, Time now) override { return rounds_.flush(pool, now); }

  private:
    Rounds rounds_;
};

} // namespace kuijia::packet

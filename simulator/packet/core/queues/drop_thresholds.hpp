// One queue in which packets of higher levels find less room: droppable ones are lost first.
//
// With two levels it is the selective dropping of Aeolus (Hu et al., SIGCOMM 2020): what was sent without a credit may
// fill a few kilobytes only, and what has one finds the rest.
#pragma once

#include "queues/buffer.hpp"

#include <vector>

namespace kuijia::packet {

struct DropThresholdsRules {
    static constexpr const char *name = "DropThresholds";
    FifoRules queue;
    std::vector<std::int64_t> limits; // bytes that may wait with a packet of each level; higher levels have the last

    static auto fields() {
        return std::tuple{
            plain("queue", &DropThresholdsRules::queue),
            numbers("limits", &DropThresholdsRules::limits, 1, largest_queue, "must be between 1 and 2^30 bytes"),
        };
    }
    const char *fault() const { return limits.empty() ? "there must be at least one limit" : nullptr; }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class DropThresholds final : public Discipline {
  public:
    explicit DropThresholds(const DropThresholdsRules &rules) : buffer_(rules.queue), limits_(rules.limits) {}

    void offer(PacketId id, Arrival &arrival) override;
    Choice choose(PacketPool &pool, Time now) override;
    PacketId flush(PacketPool &pool, Time now) override;

  private:
    Buffer buffer_;
    std::vector<std::int64_t> limits_;
};

} // namespace kuijia::packet

// One queue per level; a queue is served when those before it have nothing to send.
#pragma once

#include "queues/buffer.hpp"

#include <vector>

namespace kuijia::packet {

struct StrictPriorityRules {
    static constexpr const char *name = "StrictPriority";
    std::vector<FifoRules> queues; // packets of higher levels go to the last

    static auto fields() { return std::tuple{plain("queues", &StrictPriorityRules::queues)}; }
    const char *fault() const { return queues.empty() ? "there must be at least one queue" : nullptr; }
    const FifoRules *only(std::uint32_t) const { return queues.size() == 1 ? &queues.front() : nullptr; }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class StrictPriority final : public Discipline {
  public:
    explicit StrictPriority(const StrictPriorityRules &rules)
        : queues_(rules.queues.begin(), rules.queues.end()), counters_(rules.queues.size()) {}

    void offer(PacketId id, Arrival &arrival) override;
    Choice choose(PacketPool &pool, Time now) override;
    PacketId flush(PacketPool &pool, Time now) override;
    std::span<const QueueCounters> queue_counters() const override { return counters_; }

  private:
    std::vector<Buffer> queues_;
    std::vector<QueueCounters> counters_;
};

} // namespace kuijia::packet

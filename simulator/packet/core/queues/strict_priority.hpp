// One queue per level; a queue is served when those before it have nothing to send. Queues may share a token bucket,
// and are served in their order from its tokens.
#pragma once

#include "queues/buffer.hpp"

#include <vector>

namespace kuijia::packet {

struct SharedShapingRules {
    static constexpr const char *name = "SharedShaping";
    std::vector<std::uint32_t> queues; // their places
    TokenBucketRules bucket;           // that all of them wait for

    static auto fields() {
        return std::tuple{
            numbers("queues", &SharedShapingRules::queues, 0, 255, "must be below 256"),
            plain("bucket", &SharedShapingRules::bucket),
        };
    }
};

struct StrictPriorityRules {
    static constexpr const char *name = "StrictPriority";
    std::vector<FifoRules> queues; // packets of higher levels go to the last
    std::vector<SharedShapingRules> shared;

    static auto fields() {
        return std::tuple{plain("queues", &StrictPriorityRules::queues), plain("shared", &StrictPriorityRules::shared)};
    }
    const char *fault() const;
    const FifoRules *only(std::uint32_t) const {
        return queues.size() == 1 && shared.empty() ? &queues.front() : nullptr;
    }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class StrictPriority final : public Discipline {
  public:
    explicit StrictPriority(const StrictPriorityRules &rules);

    void offer(PacketId id, Arrival &arrival) override;
    Choice choose(PacketPool &pool, Time now) override;
    PacketId flush(PacketPool &pool, Time now) override;
    std::span<const QueueCounters> queue_counters() const override { return counters_; }

  private:
    // A token bucket of several queues, as a queue's own.
    struct SharedBucket {
        Rate rate;
        Time burst_time;
        Time full_at = 0;
        Time waits_until = 0; // while a queue is chosen: when it lets the first queue's packet go
    };
    static constexpr std::uint8_t alone = 255;

    Choice choose_shaped(PacketPool &pool, Time now);

    std::vector<Buffer> queues_;
    std::vector<QueueCounters> counters_;
    std::vector<SharedBucket> buckets_;
    std::vector<std::uint8_t> bucket_of_; // place of each queue's shared bucket, or `alone`
};

} // namespace kuijia::packet

#include "queues/strict_priority.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<Discipline> StrictPriorityRules::discipline(const Site &) const {
    return std::make_unique<StrictPriority>(*this);
}

const char *StrictPriorityRules::fault() const {
    if (queues.empty())
        return "there must be at least one queue";
    std::vector<bool> is_shared(queues.size());
    for (const auto &one : shared)
        for (const auto place : one.queues) {
            if (place >= queues.size() || is_shared[place])
                return "queues that share a bucket must exist and share one only";
            is_shared[place] = true;
        }
    return shared.size() > 254 ? "there must be at most 254 shared buckets" : nullptr;
}

StrictPriority::StrictPriority(const StrictPriorityRules &rules)
    : queues_(rules.queues.begin(), rules.queues.end()), counters_(rules.queues.size()),
      bucket_of_(rules.queues.size(), alone) {
    for (const auto &one : rules.shared) {
        for (const auto place : one.queues)
            bucket_of_[place] = static_cast<std::uint8_t>(buckets_.size());
        const Rate rate(one.bucket.rate);
        buckets_.push_back({rate, rate.of(static_cast<std::uint32_t>(one.bucket.burst))});
    }
}

void StrictPriority::offer(PacketId id, Arrival &arrival) {
    const auto place = std::min<std::size_t>(arrival.pool[id].level, queues_.size() - 1);
    arrival.queue = &counters_[place];
    queues_[place].offer(id, arrival);
}

Choice StrictPriority::choose(PacketPool &pool, Time now) {
    if (!buckets_.empty())
        return choose_shaped(pool, now);
    auto retry = never;
    auto *counters = counters_.data();
    for (auto &queue : queues_) {
        if (const auto id = queue.take_if_due(pool, now, retry); id != no_packet) {
            ++counters->sent_packets;
            counters->sent_bytes += pool[id].size;
            return {id, never};
        }
        ++counters;
    }
    return {no_packet, retry};
}

// The same where queues share buckets: while one waits for its tokens, those behind it with the same bucket do too.
Choice StrictPriority::choose_shaped(PacketPool &pool, Time now) {
    auto retry = never;
    for (auto &bucket : buckets_)
        bucket.waits_until = 0;
    for (std::size_t place = 0; place < queues_.size(); ++place) {
        auto &queue = queues_[place];
        if (queue.empty())
            continue;
        auto *bucket = bucket_of_[place] == alone ? nullptr : &buckets_[bucket_of_[place]];
        if (bucket != nullptr) {
            if (bucket->waits_until == 0)
                bucket->waits_until = bucket->full_at + bucket->rate.of(queue.first_size(pool)) - bucket->burst_time;
            if (bucket->waits_until > now) {
                retry = std::min(retry, bucket->waits_until);
                continue;
            }
        }
        const auto id = queue.take_if_due(pool, now, retry);
        if (id == no_packet) {
            if (bucket != nullptr)
                bucket->waits_until = 0; // the queue waits for its own tokens: the next one may go
            continue;
        }
        if (bucket != nullptr)
            bucket->full_at = std::max(bucket->full_at, now) + bucket->rate.of(pool[id].size);
        ++counters_[place].sent_packets;
        counters_[place].sent_bytes += pool[id].size;
        return {id, never};
    }
    return {no_packet, retry};
}

PacketId StrictPriority::flush(PacketPool &pool, Time now) {
    for (std::size_t place = 0; place < queues_.size(); ++place)
        if (!queues_[place].empty()) {
            ++counters_[place].lost_packets;
            return queues_[place].take(pool, now);
        }
    return no_packet;
}

} // namespace kuijia::packet

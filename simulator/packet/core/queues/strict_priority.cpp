#include "queues/strict_priority.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<Discipline> StrictPriorityRules::discipline(const Site &) const {
    return std::make_unique<StrictPriority>(*this);
}

void StrictPriority::offer(PacketId id, Arrival &arrival) {
    const auto place = std::min<std::size_t>(arrival.pool[id].level, queues_.size() - 1);
    arrival.queue = &counters_[place];
    queues_[place].offer(id, arrival);
}

Choice StrictPriority::choose(PacketPool &pool, Time now) {
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

PacketId StrictPriority::flush(PacketPool &pool, Time now) {
    for (std::size_t place = 0; place < queues_.size(); ++place)
        if (!queues_[place].empty()) {
            ++counters_[place].lost_packets;
            return queues_[place].take(pool, now);
        }
    return no_packet;
}

} // namespace kuijia::packet

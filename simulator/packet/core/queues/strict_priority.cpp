#include "queues/strict_priority.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<Discipline> StrictPriorityRules::discipline(const Site &) const {
    return std::make_unique<StrictPriority>(*this);
}

void StrictPriority::offer(PacketId id, Arrival &arrival) {
    queues_[std::min<std::size_t>(arrival.pool[id].level, queues_.size() - 1)].offer(id, arrival);
}

Choice StrictPriority::choose(PacketPool &pool, Time now) {
    auto retry = never;
    for (auto &queue : queues_)
        if (const auto id = queue.take_if_due(pool, now, retry); id != no_packet)
            return {id, never};
    return {no_packet, retry};
}

PacketId StrictPriority::flush(PacketPool &pool, Time now) {
    for (auto &queue : queues_)
        if (!queue.empty())
            return queue.take(pool, now);
    return no_packet;
}

} // namespace kuijia::packet

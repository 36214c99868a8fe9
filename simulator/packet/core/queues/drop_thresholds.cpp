#include "queues/drop_thresholds.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<Discipline> DropThresholdsRules::discipline(const Site &) const {
    return std::make_unique<DropThresholds>(*this);
}

void DropThresholds::offer(PacketId id, Arrival &arrival) {
    const auto &packet = arrival.pool[id];
    const auto limit = limits_[std::min<std::size_t>(packet.level, limits_.size() - 1)];
    if (buffer_.bytes() + buffer_.room(packet) > limit)
        return arrival.drop(id);
    buffer_.offer(id, arrival);
}

Choice DropThresholds::choose(PacketPool &pool, Time now) {
    auto retry = never;
    const auto id = buffer_.take_if_due(pool, now, retry);
    return {id, retry};
}

PacketId DropThresholds::flush(PacketPool &pool, Time now) {
    return buffer_.empty() ? no_packet : buffer_.take(pool, now);
}

} // namespace kuijia::packet

#include "queues/rounds.hpp"

#include <algorithm>

namespace kuijia::packet {

void Rounds::offer(std::size_t queue, PacketId id, Arrival &arrival) {
    queues_[std::min(queue, queues_.size() - 1)].offer(id, arrival);
}

Choice Rounds::choose(PacketPool &pool, Time now) {
    auto retry = never;
    const auto size = queues_.size();
    const auto first = turn_;
    // One step more than there are queues: the queue whose turn is used up may be the only one with packets.
    for (std::size_t step = 0; step <= size; ++step) {
        const auto place = first + step < size ? first + step : (first + step) % size;
        if (step == 0 && served_ >= weights_[place])
            continue;
        const auto id = queues_[place].take_if_due(pool, now, retry);
        if (id == no_packet)
            continue;
        served_ = step == 0 ? served_ + 1 : 1;
        turn_ = place;
        return {id, never};
    }
    return {no_packet, retry};
}

PacketId Rounds::flush(PacketPool &pool, Time now) {
    for (auto &queue : queues_)
        if (!queue.empty())
            return queue.take(pool, now);
    return no_packet;
}

} // namespace kuijia::packet

#include "scheduler.hpp"

#include <algorithm>

namespace kuijia::packet {

Scheduler::Scheduler(const SchedulerRules &rules, std::uint64_t seed)
    : classifier_(rules.classifier), order_(rules.order), credits_(rules.credits, seed) {
    for (std::size_t queue = 0; queue < rules.queues.size(); ++queue)
        queues_.emplace_back(rules.queues[queue], rules.weights[queue]);
}

// Returns when the bucket holds enough tokens for the first packet. An empty bucket is full again after the time of
// `burst` at its rate.
Time Scheduler::Queue::earliest(const PacketPool &pool) const {
    if (!shaped())
        return 0;
    const auto burst = token_rate.of(static_cast<std::uint32_t>(gate.rules().burst));
    return full_at + token_rate.of(pool[packets.head].size) - burst;
}

PacketId Scheduler::Queue::take(PacketPool &pool, Time now) {
    const auto id = packets.take_first(pool);
    const auto size = pool[id].size;
    backlog.remove(now, room(pool[id]));
    if (packets.empty())
        empty_since = now;
    if (shaped())
        full_at = std::max(full_at, now) + token_rate.of(size);
    return id;
}

std::size_t Scheduler::queue_of(const Packet &packet, std::uint32_t input) {
    if (classifier_ == Classifier::credits)
        return credits_.queue_of(packet.flow);
    const std::size_t wanted = classifier_ == Classifier::level ? packet.level : input;
    return std::min(wanted, queues_.size() - 1);
}

Scheduler::Choice Scheduler::choose(PacketPool &pool, Time now) {
    if (classifier_ == Classifier::credits && queues_[credits_.first()].packets.empty())
        credits_.exchange(now);
    auto retry = never;
    const auto size = queues_.size();
    const auto first = order_ == Order::round_robin ? turn_ : classifier_ == Classifier::credits ? credits_.first() : 0;
    // One step more than there are queues: the queue whose turn is used up may be the only one with packets.
    for (std::size_t step = 0; step <= size; ++step) {
        const auto place = first + step < size ? first + step : (first + step) % size;
        auto &queue = queues_[place];
        if (order_ == Order::round_robin && step == 0 && served_ >= queue.weight)
            continue;
        if (queue.packets.empty())
            continue;
        if (const auto earliest = queue.earliest(pool); earliest > now) {
            retry = std::min(retry, earliest);
            continue;
        }
        if (order_ == Order::round_robin) {
            served_ = step == 0 ? served_ + 1 : 1;
            turn_ = place;
        }
        return {queue.take(pool, now), never};
    }
    return {no_packet, retry};
}

PacketId Scheduler::flush(PacketPool &pool, Time now) {
    for (auto &queue : queues_)
        if (!queue.packets.empty())
            return queue.take(pool, now);
    return no_packet;
}

PacketId Scheduler::drawn(const PacketPool &pool, const Queue &queue, PacketId added, Random &random,
                          PacketId &before) {
    const auto total = static_cast<std::uint64_t>(queue.backlog.bytes()) + queue.room(pool[added]);
    auto left = random.below(total);
    before = no_packet;
    for (auto id = queue.packets.head; id != no_packet; id = pool[id].next) {
        const auto room = queue.room(pool[id]);
        if (left < room)
            return id;
        left -= room;
        before = id;
    }
    return added;
}

} // namespace kuijia::packet

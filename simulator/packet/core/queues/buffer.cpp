#include "queues/buffer.hpp"

#include <algorithm>

namespace kuijia::packet {

void Buffer::offer(PacketId id, Arrival &arrival) {
    auto &packet = arrival.pool[id];
    const auto needed = room(packet);
    const auto sent = held(arrival);
    if (backlog_.bytes() + sent + needed > untouched_ && !admit(id, arrival, needed, sent))
        return arrival.drop(id);
    if (foresees_)
        foresee(packet, arrival);
    packets_.append(arrival.pool, id);
    backlog_.add(arrival.now, needed);
    arrival.port.backlog.add(arrival.now, packet.size);
}

bool Buffer::admit(PacketId id, Arrival &arrival, std::uint32_t needed, std::int64_t sent) {
    auto &pool = arrival.pool;
    // While the last packet is sent, no other one could have been: the queue is idle from then on.
    const auto idle = packets_.empty() ? std::max(Time{0}, arrival.now - sent_at(arrival.port)) : 0;
    if (rules_.random_drop) {
        while (!fits(rules_, needed, backlog_.bytes() + sent)) {
            PacketId before = no_packet;
            const auto lost = drawn(pool, id, arrival.random, before);
            if (lost == id)
                return false;
            packets_.remove(pool, before, lost);
            backlog_.remove(arrival.now, room(pool[lost]));
            arrival.port.backlog.remove(arrival.now, pool[lost].size);
            arrival.drop(lost);
        }
    }
    const auto verdict =
        judge(rules_, red_, pool[id], needed, backlog_.bytes() + sent, idle, arrival.port.rate, arrival.random);
    if (verdict == Verdict::mark) {
        PacketId before = no_packet;
        auto &packet = pool[rules_.random_mark ? drawn(pool, id, arrival.random, before) : id];
        packet.marked = packet.ecn_capable;
        arrival.port.counters.marked_packets += packet.marked;
    }
    return verdict != Verdict::drop;
}

// Calculates when a packet will leave that is about to join the queue.
void Buffer::foresee(const Packet &packet, const Arrival &arrival) {
    const bool first = packets_.empty();
    const auto tokens = token_time(packet.size);
    const auto full = first ? full_at_ : full_after_;
    const auto begins =
        std::max({arrival.now, first ? arrival.port.free_at : drained_at_, full + tokens - burst_time_});
    drained_at_ = begins + arrival.port.rate.of(packet.size);
    full_after_ = std::max(full, begins) + tokens;
}

// An empty bucket is full again after the time of `burst` at its rate.
Time Buffer::earliest(const PacketPool &pool) const {
    return shaped_ ? full_at_ + token_time(pool[packets_.head].size) - burst_time_ : 0;
}

PacketId Buffer::take(PacketPool &pool, Time now) {
    const auto id = packets_.take_first(pool);
    backlog_.remove(now, room(pool[id]));
    taken_at_ = now;
    taken_size_ = pool[id].size;
    if (held_while_sent_)
        held_room_ = room(pool[id]);
    if (shaped_)
        full_at_ = std::max(full_at_, now) + token_time(pool[id].size);
    return id;
}

PacketId Buffer::take_if_due(PacketPool &pool, Time now, Time &retry) {
    if (packets_.empty())
        return no_packet;
    if (const auto due = earliest(pool); due > now) {
        retry = std::min(retry, due);
        return no_packet;
    }
    return take(pool, now);
}

PacketId Buffer::drawn(const PacketPool &pool, PacketId added, Random &random, PacketId &before) const {
    auto left = random.below(static_cast<std::uint64_t>(backlog_.bytes()) + room(pool[added]));
    before = no_packet;
    for (auto id = packets_.head; id != no_packet; id = pool[id].next) {
        const auto taken = room(pool[id]);
        if (left < taken)
            return id;
        left -= taken;
        before = id;
    }
    return added;
}

} // namespace kuijia::packet

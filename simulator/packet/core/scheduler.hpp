// Several queues of one port: the choice of a packet's queue, and of the queue served next.
#pragma once

#include "admission.hpp"
#include "backlog.hpp"
#include "hashed_credits.hpp"
#include "packets.hpp"
#include "port.hpp"
#include "random.hpp"

#include <vector>

namespace kuijia::packet {

// By the packet's level (one queue per level), by the input it arrived through (one queue per crosspoint), or by the
// credits of its flow's bin (two queues).
enum class Classifier : std::uint8_t { level, input, credits };

// Strict: the first queue that is not empty; with two queues by credits: the one currently served first. Round robin:
// each queue in turn, up to its weight in packets.
enum class Order : std::uint8_t { strict, round_robin };

struct SchedulerRules {
    Classifier classifier;
    Order order;
    std::vector<QueueRules> queues;
    std::vector<std::uint32_t> weights;
    HashedCreditsRules credits; // for the classifier `credits`
};

class Scheduler {
  public:
    Scheduler(const SchedulerRules &rules, std::uint64_t seed);

    // Puts a packet into its queue, or drops it, or drops others to make room. Dropped packets are counted at the port
    // and handed to `dropped`, which returns them to the pool.
    template <typename Dropped>
    void offer(PacketPool &pool, PacketId id, std::uint32_t input, Port &port, Time now, Random &random,
               const Dropped &dropped);

    struct Choice {
        PacketId packet;
        Time retry; // without a packet: when there may be one; `never` if all queues are empty
    };

    // Removes and returns the packet to send next.
    Choice choose(PacketPool &pool, Time now);

    // Removes and returns any packet; `no_packet` if there is none.
    PacketId flush(PacketPool &pool, Time now);

    std::size_t queues() const { return queues_.size(); }
    std::int64_t bytes(std::size_t queue) const { return queues_[queue].backlog.bytes(); }

  private:
    struct Queue {
        Gate gate;
        std::uint32_t weight;
        PacketList packets;
        Backlog backlog;
        Time empty_since = 0;
        Rate token_rate;
        Time full_at = 0; // when the token bucket would be full again

        Queue(const QueueRules &rules, std::uint32_t weight_)
            : gate(rules), weight(weight_), token_rate(rules.shaped > 0 ? rules.shaped : 1) {}

        bool shaped() const { return gate.rules().shaped > 0; }
        // Returns the bytes of the queue's memory that a packet occupies, in whole cells.
        std::uint32_t room(const Packet &packet) const {
            const auto cell = gate.rules().cell;
            return (packet.size + cell - 1) / cell * cell;
        }
        Time earliest(const PacketPool &pool) const;
        PacketId take(PacketPool &pool, Time now);
    };

    std::size_t queue_of(const Packet &packet, std::uint32_t input);

    // Draws one of the queue's packets and the new one, with probabilities in proportion to the room they take.
    static PacketId drawn(const PacketPool &pool, const Queue &queue, PacketId added, Random &random, PacketId &before);

    Classifier classifier_;
    Order order_;
    HashedCredits credits_;
    std::vector<Queue> queues_;
    std::size_t turn_ = 0;
    std::uint32_t served_ = 0; // packets of the queue whose turn it is
};

template <typename Dropped>
void Scheduler::offer(PacketPool &pool, PacketId id, std::uint32_t input, Port &port, Time now, Random &random,
                      const Dropped &dropped) {
    auto &queue = queues_[queue_of(pool[id], input)];
    const auto room = queue.room(pool[id]);
    const auto drop = [&](PacketId lost) {
        ++port.counters.dropped_packets;
        port.counters.dropped_bytes += pool[lost].size;
        dropped(lost);
    };
    if (queue.gate.rules().overflow == Overflow::random) {
        while (!queue.gate.fits(room, queue.backlog.bytes())) {
            PacketId before = no_packet;
            const auto lost = drawn(pool, queue, id, random, before);
            if (lost == id)
                return drop(lost);
            queue.packets.remove(pool, before, lost);
            queue.backlog.remove(now, queue.room(pool[lost]));
            port.backlog.remove(now, pool[lost].size);
            drop(lost);
        }
    }
    const auto idle = queue.packets.empty() ? now - queue.empty_since : 0;
    const auto verdict = queue.gate.judge(pool[id], room, queue.backlog.bytes(), idle, port.rate, random);
    if (verdict == Verdict::drop)
        return drop(id);
    if (verdict == Verdict::mark) {
        PacketId before = no_packet;
        const auto chosen = queue.gate.rules().mark_random ? drawn(pool, queue, id, random, before) : id;
        auto &packet = pool[chosen];
        packet.marked = packet.ecn_capable;
        port.counters.marked_packets += packet.marked;
    }
    queue.packets.append(pool, id);
    queue.backlog.add(now, room);
    port.backlog.add(now, pool[id].size);
}

} // namespace kuijia::packet

// A queue discipline as a port sees it: the packets that wait for its link, and which goes next.
//
// A discipline is a file pair here and an entry in registry.hpp. Its rules have, beside their `fields`:
//   name         of the data class in simulator/packet/queues.py
//   discipline   makes the queues of one port
//   only         where they may be nothing but one simple queue, which a port serves by itself: the rules of that queue
#pragma once

#include "packets.hpp"
#include "port.hpp"
#include "random.hpp"
#include "units.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace kuijia::packet {

// What the ports of a node with the same queueing have in common, if anything: without it a discipline chooses by its
// own packets alone, so that it may be asked later, as if it were the time at which the link was free.
struct SharedByPorts {
    virtual ~SharedByPorts() = default;
};

// Where the queues of a port are.
struct Site {
    std::uint32_t inputs; // of the port's node, at least 1
    std::uint64_t seed;
    std::shared_ptr<SharedByPorts> &shared; // null for the first of the ports
};

// What one of several queues has done.
struct QueueCounters {
    std::uint64_t sent_packets = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t dropped_packets = 0;
    std::uint64_t dropped_bytes = 0;
    std::uint64_t lost_packets = 0; // that waited when the link failed
};

// The arrival of a packet at a port.
struct Arrival {
    PacketPool &pool;
    Port &port;
    Random &random;
    Time now;
    std::uint32_t input;            // that the packet came through
    PacketList dropped{};           // what made room or found none; the simulation gives these back to the pool
    QueueCounters *queue = nullptr; // of the queue that packets come into, if its discipline counts them

    void drop(PacketId id) {
        ++port.counters.dropped_packets;
        port.counters.dropped_bytes += pool[id].size;
        if (queue != nullptr) {
            ++queue->dropped_packets;
            queue->dropped_bytes += pool[id].size;
        }
        dropped.append(pool, id);
    }
};

struct Choice {
    PacketId packet;
    Time retry; // without a packet: when there may be one; `never` if nothing waits
};

class Discipline {
  public:
    Discipline() = default;
    Discipline(const Discipline &) = delete;
    Discipline &operator=(const Discipline &) = delete;
    virtual ~Discipline() = default;

    // Puts a packet into a queue, or drops it, or drops others to make room.
    virtual void offer(PacketId id, Arrival &arrival) = 0;

    // Removes and returns the packet to send next.
    virtual Choice choose(PacketPool &pool, Time now) = 0;

    // Removes and returns any packet; `no_packet` if there is none.
    virtual PacketId flush(PacketPool &pool, Time now) = 0;

    // Returns when all its packets will have been sent, as far as it knows: those that it cannot foresee do not count.
    virtual Time drained_at(const Port &port) const { return port.free_at; }

    // Counters of each queue, if it counts them.
    virtual std::span<const QueueCounters> queue_counters() const { return {}; }
};

} // namespace kuijia::packet

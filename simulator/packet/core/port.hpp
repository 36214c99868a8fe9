// An output port with the link behind it.
#pragma once

#include "packets.hpp"
#include "queues/admission.hpp"
#include "queues/backlog.hpp"
#include "random.hpp"
#include "units.hpp"

#include <algorithm>
#include <cstdint>

namespace kuijia::packet {

struct PortCounters {
    std::uint64_t sent_packets = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t dropped_packets = 0; // by the queue
    std::uint64_t dropped_bytes = 0;
    std::uint64_t marked_packets = 0;
    std::uint64_t lost_packets = 0; // by the link, because it has failed or is lossy, or by a fault of the switch
};

inline constexpr std::uint32_t no_discipline = 0xffffffff;
inline constexpr std::uint32_t none_and_crosses = 0xfffffffe; // no discipline, and the port `crosses`

// In a port with a single first-in, first-out queue, a packet's departure is known when it arrives. Such a port needs
// no event at the end of a transmission: waiting packets are already in the list of those on the link, and `settle`
// counts the departed ones when somebody asks. Ports with a discipline keep only packets on the link in the list.
//
// A packet that comes and goes touches the first two cache lines only.
struct alignas(64) Port {
    PacketList link; // in order of arrival at the far end
    PacketId first_waiting = no_packet;
    std::uint32_t discipline = no_discipline;
    Time free_at = 0; // end of the last transmission so far
    Time delay = 0;
    Rate rate;
    std::int32_t untouched = 0; // bytes up to which the queue takes packets as they are
    bool up = true;
    bool lossy = false;    // the link, or the switch that sends, may lose packets
    bool crosses = false;  // the link leads to a part of the network that another simulation does
    Time first_begins = 0; // when the transmission of the first waiting packet begins
    Backlog backlog;
    PortCounters counters;
    double loss = 0;
    std::uint32_t input = 0; // number of the far node's input that the link leads to
    const FifoRules *rules;  // of the queue of a port without a discipline
    Red red;

    Port(Rate rate_, Time delay_, const FifoRules *rules_)
        : delay(delay_), rate(rate_), untouched(rules_ != nullptr ? rules_->untouched() : 0), rules(rules_) {}

    // The functions below are for ports without a discipline.

    bool offer(PacketPool &pool, PacketId id, Time now, Random &random) {
        auto &packet = pool[id];
        // Without those of its packets that have begun, a backlog that leaves the packet as it is would also do so.
        if (free_at <= now || backlog.bytes() + packet.size > std::min<std::int64_t>(untouched, backlog.peak()))
            settle(pool, now);
        if (backlog.bytes() + packet.size > untouched) {
            const auto idle = now > free_at ? now - free_at : 0;
            switch (judge(*rules, red, packet, packet.size, backlog.bytes(), idle, rate, random)) {
            case Verdict::drop:
                ++counters.dropped_packets;
                counters.dropped_bytes += packet.size;
                return false;
            case Verdict::mark:
                packet.marked = true;
                ++counters.marked_packets;
                break;
            case Verdict::take:
                break;
            }
        }
        if (free_at > now) {
            if (first_waiting == no_packet) {
                first_waiting = id;
                first_begins = free_at;
            }
            backlog.add(now, packet.size);
            free_at += rate.of(packet.size);
        } else {
            free_at = now + rate.of(packet.size);
            count_sent(packet);
        }
        packet.at = free_at + delay;
        link.append(pool, id);
        return true;
    }

    // Accounts for the packets whose transmission has begun by now.
    void settle(const PacketPool &pool, Time now) {
        while (first_waiting != no_packet && first_begins <= now)
            begin_first(pool);
    }

    // Accounts for the first waiting packet: its transmission has begun.
    void begin_first(const PacketPool &pool) {
        const auto &packet = pool[first_waiting];
        backlog.remove(first_begins, packet.size);
        count_sent(packet);
        first_waiting = packet.next;
        first_begins = packet.at - delay;
    }

    void count_sent(const Packet &packet) {
        ++counters.sent_packets;
        counters.sent_bytes += packet.size;
    }
};

} // namespace kuijia::packet

// An output port with the link behind it.
#pragma once

#include "compiler.hpp"
#include "departures.hpp"
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
// no event at the end of a transmission: waiting packets are already on their way to the far end, and `settle` counts
// the departed ones when somebody asks. Ports with a discipline have no `waiting`: their packets wait there.
//
// A packet that comes and goes touches the first two cache lines only.
struct alignas(64) Port {
    Departures waiting;
    Time free_at = 0; // end of the last transmission so far
    Time delay = 0;
    Rate rate;
    std::int32_t untouched = 0; // bytes up to which the queue takes packets as they are
    std::int32_t usual = 0;     // the same, or the peak of the queue if it is less
    Backlog backlog;
    bool up = true;
    bool lossy = false;   // the link, or the switch that sends, may lose packets
    bool crosses = false; // the link leads to a part of the network that another simulation does
    std::uint32_t discipline = no_discipline;
    PacketList link; // those that come to the far end as events, in order
    PortCounters counters;
    double loss = 0;
    std::uint32_t input = 0; // number of the far node's input that the link leads to
    const FifoRules *rules;  // of the queue of a port without a discipline
    Red red;

    Port(Rate rate_, Time delay_, const FifoRules *rules_)
        : delay(delay_), rate(rate_), untouched(rules_ != nullptr ? rules_->untouched() : 0), rules(rules_) {}

    bool has_discipline() const { return discipline < none_and_crosses; }

    // Returns the byte-seconds of waiting until `now`, up to which the port is settled.
    double queued_byte_seconds(Time now) const {
        if (rules == nullptr)
            return backlog.integral(now);
        auto until_now = backlog;
        waiting.for_each([&](const Departure &next) { until_now.remove_after(next.begins - now, next.size); });
        return until_now.integral();
    }

    // The functions below are for ports without a discipline.

    // Takes a packet and knows when it arrives at the far end; returns false if it is dropped instead.
    KUIJIA_ALWAYS_INLINE bool offer(Packet &packet, Time now, Random &random) {
        const std::uint32_t size = packet.size;
        const bool idle = free_at <= now;
        if (idle)
            settle_all();
        else if (backlog.bytes() + size > usual) // without what has begun, a backlog below it would be below it, too
            settle(now);
        if (backlog.bytes() + size > untouched && !admit(packet, now, random)) [[unlikely]]
            return false;
        if (idle) {
            free_at = now + rate.of(size);
            count_sent(1, size);
        } else {
            waiting.add({free_at, size});
            if (backlog.add_for(free_at - now, size)) [[unlikely]]
                usual = static_cast<std::int32_t>(std::min<std::int64_t>(untouched, backlog.peak()));
            free_at += rate.of(size);
        }
        packet.at = free_at + delay;
        return true;
    }

    // Accounts for the packets whose transmission has begun by now.
    KUIJIA_ALWAYS_INLINE void settle(Time now) {
        while (!waiting.empty() && waiting.first().begins <= now) {
            const auto size = waiting.first().size;
            backlog.remove_after(0, size);
            count_sent(1, size);
            waiting.drop_first();
        }
    }

    // Forgets the packets that wait.
    void empty(Time now) {
        settle(now);
        for (; !waiting.empty(); waiting.drop_first())
            backlog.remove_after(waiting.first().begins - now, waiting.first().size);
    }

    void count_sent(std::uint32_t packets, std::int64_t bytes) {
        counters.sent_packets += packets;
        counters.sent_bytes += static_cast<std::uint64_t>(bytes);
    }

  private:
    // Accounts for all packets: their transmissions have begun.
    void settle_all() {
        count_sent(waiting.count(), backlog.bytes());
        backlog.clear();
        waiting.clear();
    }

    // Marks or drops a packet that the queue does not take as it is; returns false if it is dropped.
    KUIJIA_NEVER_INLINE bool admit(Packet &packet, Time now, Random &random) {
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
        return true;
    }
};

} // namespace kuijia::packet

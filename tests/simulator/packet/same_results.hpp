// Compares two runs of one scenario, which must come to the same to the bit.
#pragma once

#include <cstring>
#include <stdexcept>

namespace kuijia::packet {

inline void require(bool holds, const char *fault) {
    if (!holds)
        throw std::logic_error(fault);
}

// Requires that two records without gaps between their numbers are the same to the bit.
template <typename Rules> void require_same(const Rules &one, const Rules &other, const char *fault) {
    require(std::memcmp(&one, &other, sizeof(Rules)) == 0, fault);
}

template <typename One, typename Other> void compare(One &one, Other &other) {
    require(one.now() == other.now(), "the times differ");
    require(one.events() == other.events(), "the numbers of events differ");
    require(one.unfinished() == other.unfinished(), "the numbers of flows that have not ended differ");
    require_same(one.totals(), other.totals(), "the totals differ");
    require(one.packets_in_flight() == other.packets_in_flight(), "the packets on their way differ");
    for (std::size_t number = 0; number < one.flows(); ++number) {
        require_same(one.record(number), other.record(number), "the records of flows differ");
        const auto here = one.counters(number);
        const auto there = other.counters(number);
        require(here.goodput == there.goodput && here.outstanding == there.outstanding && here.window == there.window &&
                    here.round_trip == there.round_trip,
                "the states of flows differ");
    }
    for (std::size_t link = 0; link < one.links(); ++link) {
        auto &here = one.port(link);
        auto &there = other.port(link);
        require_same(here.counters, there.counters, "the counters of links differ");
        require(here.backlog.bytes() == there.backlog.bytes() && here.backlog.peak() == there.backlog.peak() &&
                    here.queued_byte_seconds(one.now()) == there.queued_byte_seconds(other.now()),
                "the queues differ");
    }
    require(one.on_links() == other.on_links(), "the packets on links differ");
}

} // namespace kuijia::packet

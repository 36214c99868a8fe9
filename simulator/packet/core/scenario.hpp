// The simulated scenario as plain data, and its validation.
#pragma once

#include "scheduler.hpp"
#include "tcp_sender.hpp"
#include "units.hpp"

#include <cstdint>
#include <vector>

namespace kuijia::packet {

struct LinkRules {
    std::int64_t bits_per_second;
    Time delay;
    double loss;            // probability that the link loses a packet
    std::uint32_t queueing; // index into the scenario's queueing rules
    std::uint32_t input;    // number of the far node's input that the link leads to
};

// The queues of a port. A single queue without shaping, random drops, random marks or cells needs no scheduler.
using Queueing = SchedulerRules;

enum class FlowKind : std::uint8_t { tcp, constant_rate, listed };

struct FlowRules {
    FlowKind kind;
    std::uint8_t level;
    std::uint32_t rules;    // tcp: index into the scenario's TCP rules; listed: index into its lists
    std::uint32_t forward;  // index into the scenario's routes
    std::uint32_t backward; // the same for acknowledgements
    Time start;
    std::uint64_t bytes;          // tcp: payload to deliver; constant_rate: to send, headers included; 0 for no end
    std::int64_t bits_per_second; // constant_rate: rate of packets with their headers
    std::uint32_t packet;         // constant_rate: bytes of a packet with its header
};

struct ListedPacket {
    Time time;
    std::uint32_t size;
    bool ecn_capable;
};

struct LinkChange {
    Time time;
    std::uint32_t link;
    bool up;
};

struct RouteChange {
    Time time;
    std::uint32_t flow;
    std::uint32_t forward;
    std::uint32_t backward;
};

struct Scenario {
    std::uint64_t seed = 0;
    std::vector<LinkRules> links;
    std::vector<Queueing> queueings;
    std::vector<std::vector<std::uint32_t>> routes; // links in order
    std::vector<TcpRules> tcp;
    std::vector<std::vector<ListedPacket>> lists;
    std::vector<FlowRules> flows;
    std::vector<LinkChange> link_changes;
    std::vector<RouteChange> route_changes;
    std::vector<std::uint32_t> probed; // links whose queues are sampled
    Time probed_every = never;

    // Throws std::invalid_argument, saying what is wrong.
    void validate() const;
};

} // namespace kuijia::packet

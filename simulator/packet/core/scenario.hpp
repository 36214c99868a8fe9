// The simulated scenario as plain data, and its validation.
#pragma once

#include "faults.hpp"
#include "fields.hpp"
#include "queues/registry.hpp"
#include "routing/registry.hpp"
#include "transports/registry.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace kuijia::packet {

struct LinkRules {
    std::int64_t bits_per_second;
    Time delay;
    double loss;            // probability that the link loses a packet
    std::uint32_t queueing; // index into the scenario's queueings
    std::uint32_t source;   // node that sends
    std::uint32_t target;   // node that receives
    std::uint32_t input;    // number of the target's input that the link leads to

    static auto fields() {
        return std::tuple{
            rate("rate", &LinkRules::bits_per_second),
            duration("delay", &LinkRules::delay),
            number("loss", &LinkRules::loss, 0, 1, "must be between 0 and 1"),
            plain("queueing", &LinkRules::queueing),
            plain("source", &LinkRules::source),
            plain("target", &LinkRules::target),
            plain("input", &LinkRules::input),
        };
    }
};

inline constexpr std::size_t most_routes = std::size_t{1} << label_bits;

struct LinkChange {
    Time time;
    std::uint32_t link;
    bool up;

    static auto fields() {
        return std::tuple{
            duration("time", &LinkChange::time),
            plain("link", &LinkChange::link),
            plain("up", &LinkChange::up),
        };
    }
};

struct RouteChange {
    Time time;
    std::uint32_t flow;
    std::uint32_t forward;
    std::uint32_t backward;

    static auto fields() {
        return std::tuple{
            duration("time", &RouteChange::time),
            plain("flow", &RouteChange::flow),
            plain("forward", &RouteChange::forward),
            plain("backward", &RouteChange::backward),
        };
    }
};

struct Scenario {
    std::uint64_t seed = 0;
    bool own_streams = false; // the transport of each flow draws from a stream of its own
    std::uint32_t nodes = 0;
    std::vector<LinkRules> links;
    std::vector<QueueingRules> queueings;
    std::vector<std::uint32_t> hosts;               // nodes that forward nothing
    std::vector<std::vector<std::uint32_t>> routes; // links in order
    std::vector<std::vector<std::uint32_t>> paths;  // routes that a sender chooses from
    ForwardingRules forwarding;
    PathChoiceRules choice;
    std::deque<TransportRules> transports; // a deque, because flows refer to its elements
    std::vector<FlowRules> flows;
    std::vector<LinkChange> link_changes;
    std::vector<LinkChange> known_changes; // when routing learns of them, if switches forward
    std::vector<RouteChange> route_changes;
    std::vector<RandomDropRules> random_drops;
    std::vector<BlackHoleRules> black_holes;
    std::vector<std::uint32_t> probed; // links whose queues are sampled
    Time probed_every = never;

    // Throws std::invalid_argument, saying what is wrong.
    void validate() const;
    void validate_route(const std::vector<std::uint32_t> &route, std::size_t which) const;
    static void validate_path(const std::vector<std::uint32_t> &path, std::size_t which, std::size_t known_routes);
    void validate_flow(const FlowRules &flow, std::size_t which) const;
};

} // namespace kuijia::packet

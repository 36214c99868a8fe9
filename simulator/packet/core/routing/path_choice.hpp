// Path selection at the sender, packet by packet, among the routes of its flow.
//
// A path choice is a file pair here and an entry in registry.hpp. Its rules have, beside their `fields`, the `name` of
// the data class in simulator/packet/load_balancing.py, and `choice`, which makes it for a simulation.
#pragma once

#include "fields.hpp"
#include "packets.hpp"
#include "random.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <tuple>

namespace kuijia::packet {

class PathNetwork;

// The routes that a packet may take: those of its flow's set on which no link is known to be down, or all of the set if
// there is none. The same set has the same routes until `version` changes.
struct Choices {
    std::span<const std::uint32_t> routes; // by number, at least one
    std::uint32_t set;
    std::uint32_t version;

    std::uint32_t count() const { return static_cast<std::uint32_t>(routes.size()); }
};

// Numbers that a path choice has counted, for readers of results.
struct PathCounters {
    std::uint64_t moves = 0;  // of flows to another path
    std::uint64_t failed = 0; // paths found failed, for all hosts or for two
};

// The place that a hash of the flow's number gives among the routes: the flow keeps it while these stay the same.
inline std::uint32_t hashed_place(std::uint64_t seed, std::uint32_t flow, const Choices &choices) {
    return static_cast<std::uint32_t>(mixed(mixed(seed) + flow) % choices.count());
}

class PathChoice {
  public:
    PathChoice() = default;
    PathChoice(const PathChoice &) = delete;
    PathChoice &operator=(const PathChoice &) = delete;
    virtual ~PathChoice() = default;

    // Returns the place in `choices.routes` of the route that the packet takes. Set are its flow, direction, kind, size
    // and number, when it is sent, and if its segment is sent again. A path choice may write a number of its own into
    // the `path` of data; acknowledgements bring it back.
    virtual std::uint32_t choose(Packet &packet, const Choices &choices) = 0;

    // True if the functions below do anything.
    virtual bool listens() const { return false; }

    // True if acknowledgements shall carry the delay of the data that they answer.
    virtual bool wants_delays() const { return false; }

    // The sender has got an acknowledgement: `echo`, `path` and `sent` are those of the data that it answers.
    virtual void acknowledged(const Packet &, Time) {}
    // The flow's timer has expired: its packets, or their answers, do not arrive.
    virtual void timed_out(std::uint32_t, Time) {}
    // The flow's sender needs nothing more.
    virtual void ended(std::uint32_t, Time) {}
    // The time has come that the choice asked for with `PathNetwork::wake_at`.
    virtual void wake(Time) {}
    // A packet that `PathNetwork::probe` sent has arrived.
    virtual void probed(const Packet &, Time) {}

    virtual PathCounters counters() const { return {}; }
};

// Every packet of a flow takes the flow's first path. This saves a call per packet.
struct FixedPathRules {
    static constexpr const char *name = "FixedPath";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<PathChoice> choice(PathNetwork &, std::uint64_t) const { return nullptr; }
};

} // namespace kuijia::packet

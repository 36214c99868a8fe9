// Faults of switches that routing does not notice: packets dropped at random, or all those between certain hosts.
#pragma once

#include "fields.hpp"
#include "random.hpp"
#include "units.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

// A switch drops each packet that it forwards with a probability, from `begins` until `ends`.
struct RandomDropRules {
    std::uint32_t node;
    Time begins;
    Time ends;
    double probability;

    static auto fields() {
        return std::tuple{
            plain("switch", &RandomDropRules::node),
            duration("begins", &RandomDropRules::begins),
            duration("ends", &RandomDropRules::ends),
            number("probability", &RandomDropRules::probability, 0, 1, "must be between 0 and 1"),
        };
    }
};

// A switch drops all packets from one host to another.
struct BlackHoleRules {
    std::uint32_t node;
    Time begins;
    Time ends;
    std::uint32_t source;
    std::uint32_t target;

    static auto fields() {
        return std::tuple{
            plain("switch", &BlackHoleRules::node),   duration("begins", &BlackHoleRules::begins),
            duration("ends", &BlackHoleRules::ends),  plain("source", &BlackHoleRules::source),
            plain("target", &BlackHoleRules::target),
        };
    }
};

class SwitchFaults {
  public:
    SwitchFaults(const std::vector<RandomDropRules> &drops, const std::vector<BlackHoleRules> &holes,
                 std::uint64_t seed);

    bool any_at(std::uint32_t node) const { return switches_.contains(node); }

    // Returns true if the node, with faults or without, drops a packet between these hosts.
    bool swallow(std::uint32_t node, std::uint32_t source, std::uint32_t target, Time now);

  private:
    struct Span {
        Time begins;
        Time ends;
        bool has(Time time) const { return begins <= time && time < ends; }
    };
    struct Drop {
        Span span;
        double probability;
    };
    struct Faults {
        std::vector<Drop> drops;
        std::unordered_map<std::uint64_t, std::vector<Span>> holes; // by source and target
    };

    static std::uint64_t pair_of(std::uint32_t source, std::uint32_t target) {
        return std::uint64_t{source} << 32 | target;
    }

    std::unordered_map<std::uint32_t, Faults> switches_;
    Random random_; // its own: what else is drawn does not depend on faults
};

} // namespace kuijia::packet

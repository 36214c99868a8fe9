// The next path with each packet, as often as its weight says: DRB (Cao et al., CoNEXT 2013) and Presto* (Zhang et al.,
// SIGCOMM 2017).
#pragma once

#include "routing/path_choice.hpp"
#include "routing/path_network.hpp"

#include <unordered_map>
#include <vector>

namespace kuijia::packet {

struct PathsInTurnRules {
    static constexpr const char *name = "PathsInTurn";
    bool weighted = false;           // by the capacity of paths
    bool per_target = false;         // all packets from one host to another take turns, not those of each flow
    std::uint32_t in_a_row = 1;      // packets by a path before the next has its turn; by lighter ones in proportion
    std::vector<std::int64_t> rates; // bit/s of links that weights follow; those beyond the last have their own

    static auto fields() {
        return std::tuple{
            plain("weighted", &PathsInTurnRules::weighted),
            plain("per_target", &PathsInTurnRules::per_target),
            number("in_a_row", &PathsInTurnRules::in_a_row, 1, 1000, "must be between 1 and 1000"),
            numbers("rates", &PathsInTurnRules::rates, slowest, fastest, "must be between 10 kbit/s and 1 Tbit/s",
                    Unit::megabits),
        };
    }
    std::unique_ptr<PathChoice> choice(PathNetwork &network, std::uint64_t seed) const;
};

// Returns a round in which each place comes as often as its weight says, and as evenly as possible: the place that is
// furthest behind is next (smooth weighted round robin). Weights are reduced by their common divisor, and rounded if
// the round would still have more than 4096 turns.
std::vector<std::uint32_t> weighted_round(std::vector<std::uint64_t> weights);

// Returns a round in which the place with the greatest weight comes so often in a row, and each other in proportion,
// but at least once.
std::vector<std::uint32_t> round_in_rows(const std::vector<std::uint64_t> &weights, std::uint32_t in_a_row);

class PathsInTurn final : public PathChoice {
  public:
    PathsInTurn(const PathsInTurnRules &rules, const PathNetwork &network, std::uint64_t seed)
        : rules_(rules), network_(network), seed_(seed) {}

    std::uint32_t choose(Packet &packet, const Choices &choices) override;

  private:
    struct Round {
        std::uint32_t version = 0;
        std::vector<std::uint32_t> places;
    };

    std::uint32_t &turn_of(const Packet &packet);
    std::uint32_t counter_of(const Packet &packet);
    const std::vector<std::uint32_t> &round_of(const Choices &choices);

    PathsInTurnRules rules_;
    const PathNetwork &network_;
    std::uint64_t seed_;
    std::vector<std::uint32_t> counters_;                       // number of the counter of each flow's directions
    std::vector<std::uint32_t> turns_;                          // the counters
    std::unordered_map<std::uint64_t, std::uint32_t> of_hosts_; // number of the counter
    std::vector<Round> rounds_;                                 // of each set of paths
};

} // namespace kuijia::packet

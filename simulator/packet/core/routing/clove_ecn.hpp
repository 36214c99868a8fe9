// CLOVE-ECN (Katta et al., HotNets 2016): flowlets take a path at random, by weights that each host keeps for the paths
// to a rack. A marked path loses a part of its weight to the others.
#pragma once

#include "routing/path_choice.hpp"
#include "routing/rack_paths.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

struct CloveEcnRules {
    static constexpr const char *name = "CloveEcn";
    Time gap = 150 * (second / 1'000'000);  // between two flowlets
    double kept = 0.67;                     // share of its weight that a marked path keeps
    Time pause = 40 * (second / 1'000'000); // between two reductions of a weight
    bool hashed_answers = false;            // acknowledgements keep a path by hash, not by flowlets

    static auto fields() {
        return std::tuple{
            duration("gap", &CloveEcnRules::gap),
            number("kept", &CloveEcnRules::kept, 0, 1, "must be between 0 and 1"),
            duration("pause", &CloveEcnRules::pause),
            plain("hashed_answers", &CloveEcnRules::hashed_answers),
        };
    }
    std::unique_ptr<PathChoice> choice(PathNetwork &network, std::uint64_t seed) const;
};

// Weights of paths, 1 each at first; their sum stays the number of paths.
class PathWeights {
  public:
    void resize(std::size_t paths) { weights_.resize(std::max(paths, weights_.size())); }
    std::size_t size() const { return weights_.size(); }
    double operator[](std::size_t path) const { return weights_[path].value; }

    // A packet that took this path was marked.
    void marked(std::size_t path, Time now, const CloveEcnRules &rules);

  private:
    struct Weight {
        double value = 1;
        Time reduced = -longest;
    };
    std::vector<Weight> weights_;
};

class CloveEcn final : public PathChoice {
  public:
    CloveEcn(const CloveEcnRules &rules, const PathNetwork &network, std::uint64_t seed)
        : rules_(rules), network_(network), racks_(network), seed_(seed), random_(seed) {}

    std::uint32_t choose(Packet &packet, const Choices &choices) override;
    bool listens() const override { return true; }
    void acknowledged(const Packet &packet, Time now) override;
    PathCounters counters() const override { return counters_; }

  private:
    struct Flowlet {
        bool begun = false;
        Time last = 0;
        std::uint32_t place = 0;
        std::uint32_t set = 0;
        std::uint32_t version = 0;
        std::uint32_t route = 0;
        std::uint16_t path = 0;    // of the route
        std::uint32_t weights = 0; // number in `weights_`
    };

    void begin(Flowlet &flowlet, const Packet &packet, const Choices &choices);
    static bool follow(Flowlet &flowlet, const Choices &choices);
    std::uint32_t weights_of(std::uint32_t host, std::uint32_t pair);

    CloveEcnRules rules_;
    const PathNetwork &network_;
    RackPaths racks_;
    std::uint64_t seed_;
    Random random_;
    std::vector<Flowlet> flowlets_; // of each flow's two directions
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
    std::vector<PathWeights> weights_; // by host and pair of racks
    PathCounters counters_;
};

} // namespace kuijia::packet

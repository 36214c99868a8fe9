// FlowBender (Kabbani et al., CoNEXT 2014): a flow keeps its path until too many of its packets are marked in a round
// trip, or its timer expires; then it takes another, at random.
#pragma once

#include "routing/path_choice.hpp"

#include <vector>

namespace kuijia::packet {

struct FlowBenderRules {
    static constexpr const char *name = "FlowBender";
    double marked = 0.05;          // T
    std::uint32_t round_trips = 1; // N

    static auto fields() {
        return std::tuple{
            number("marked", &FlowBenderRules::marked, 0, 1, "must be between 0 and 1"),
            number("round_trips", &FlowBenderRules::round_trips, 1, 1u << 30, "must be between 1 and 2^30"),
        };
    }
    std::unique_ptr<PathChoice> choice(PathNetwork &network, std::uint64_t seed) const;
};

// Counts the marks of a flow, round trip by round trip: one ends with the acknowledgement of all that had been sent
// when it began.
class MarkCount {
  public:
    // The sender has sent the segments below `next`.
    void sent(std::uint32_t next) { next_ = next > next_ ? next : next_; }

    // Returns true if the flow must move.
    bool acknowledged(std::uint32_t first_missing, bool echo, const FlowBenderRules &rules);

    void restart() { bad_ = 0; }

  private:
    std::uint32_t next_ = 0;
    std::uint32_t end_ = 0; // first segment that does not belong to the round trip
    std::uint32_t all_ = 0;
    std::uint32_t marked_ = 0;
    std::uint32_t bad_ = 0; // round trips with too many marks
};

class FlowBender final : public PathChoice {
  public:
    FlowBender(const FlowBenderRules &rules, std::uint64_t seed) : rules_(rules), seed_(seed), random_(seed) {}

    std::uint32_t choose(Packet &packet, const Choices &choices) override;
    bool listens() const override { return true; }
    void acknowledged(const Packet &packet, Time now) override;
    void timed_out(std::uint32_t flow, Time now) override;
    PathCounters counters() const override { return counters_; }

  private:
    struct Flow {
        std::uint64_t draw = 0; // chooses the path, as a hash
        MarkCount marks;
    };

    Flow &at(std::uint32_t flow);
    void move(Flow &flow);

    FlowBenderRules rules_;
    std::uint64_t seed_;
    Random random_;
    std::vector<Flow> flows_;
    PathCounters counters_;
};

} // namespace kuijia::packet

// Any path, at random, for each packet (Dixit et al., random packet spraying, INFOCOM 2013).
#pragma once

#include "routing/path_choice.hpp"

namespace kuijia::packet {

struct RandomPathsRules {
    static constexpr const char *name = "RandomPaths";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<PathChoice> choice(PathNetwork &, std::uint64_t seed) const;
};

class RandomPaths final : public PathChoice {
  public:
    explicit RandomPaths(std::uint64_t seed) : random_(seed) {}

    std::uint32_t choose(Packet &packet, const Choices &choices) override;

  private:
    Random random_; // its own: drops and marks do not depend on the number of paths
};

} // namespace kuijia::packet

#include "routing/random_paths.hpp"

namespace kuijia::packet {

std::unique_ptr<PathChoice> RandomPathsRules::choice(PathNetwork &, std::uint64_t seed) const {
    return std::make_unique<RandomPaths>(mixed(seed + 0x7370726179));
}

std::uint32_t RandomPaths::choose(Packet &, const Choices &choices) {
    return static_cast<std::uint32_t>(random_.below(choices.count()));
}

} // namespace kuijia::packet

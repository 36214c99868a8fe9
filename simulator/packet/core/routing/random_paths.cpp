#include "routing/random_paths.hpp"

namespace kuijia::packet {

std::unique_ptr<PathChoice> RandomPathsRules::choice(std::uint64_t seed) const {
    return std::make_unique<RandomPaths>(mixed(seed + 0x7370726179));
}

std::uint32_t RandomPaths::choose(const Packet &, std::uint32_t paths) {
    return static_cast<std::uint32_t>(random_.below(paths));
}

} // namespace kuijia::packet

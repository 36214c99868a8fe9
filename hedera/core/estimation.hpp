// Demands of flows if only hosts' interfaces limited them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kuijia::hedera {

struct Estimate {
    std::vector<double> demand; // of each flow
    std::int32_t rounds = 0;    // number of rounds, including the last one, which changed nothing
    bool settled = true;        // true if there was such a last round
};

// Two shares of an interface that differ by less than this are equal up to rounding.
constexpr double same = 1e-9;

// Throws std::invalid_argument for hosts that do not exist.
Estimate estimate(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                  double nic_rate, std::int32_t most_rounds);

} // namespace kuijia::hedera

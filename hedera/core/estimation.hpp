// Demands that flows would have if nothing but hosts' interfaces held them back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kuijia::hedera {

struct Estimate {
    std::vector<double> demand; // of each flow
    std::int32_t rounds = 0;    // in which senders or receivers changed anything, and the one in which none did
    bool settled = true;        // whether there was such a round
};

// Two shares of an interface that differ by less than this are the same, rounded differently.
constexpr double same = 1e-9;

// Throws std::invalid_argument for hosts that there are not.
Estimate estimate(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                  double nic_rate, std::int32_t most_rounds);

} // namespace kuijia::hedera

// Global first fit: each flow keeps its path, or takes the first one on which it fits.
#pragma once

#include "routes.hpp"

#include <algorithm>

namespace kuijia::hedera {

// Label of a flow whose path is chosen by the switches' hash.
constexpr std::int32_t hashed = -1;

// Places flows in the order given: those with a label in `choice` keep it; the others get the first label with room on
// every link, or none. Throws std::invalid_argument, naming the wrong entry.
template <class Routes>
void first_fit(const Routes &routes, std::span<const std::int32_t> amount, std::span<const std::int32_t> capacity,
               std::span<std::int32_t> choice) {
    require_amounts("amount", amount, routes.flows());
    require_amounts("capacity", capacity, routes.links());
    if (choice.size() != routes.flows())
        throw std::invalid_argument("choice: expected one for each flow");
    std::vector<std::int64_t> spare(capacity.begin(), capacity.end());
    const auto reserve = [&](std::size_t flow) {
        routes.path(flow, choice[flow], [&](std::int32_t link) { spare[at(link)] -= amount[flow]; });
    };
    for (std::size_t flow = 0; flow < choice.size(); ++flow) {
        if (choice[flow] < hashed || choice[flow] >= routes.labels())
            refuse("choice", flow, "a label, or -1");
        if (choice[flow] != hashed)
            reserve(flow);
    }
    for (std::size_t flow = 0; flow < choice.size(); ++flow) {
        if (choice[flow] != hashed)
            continue;
        for (std::int32_t label = 0; label < routes.labels(); ++label) {
            bool fits = true;
            routes.path(flow, label,
                        [&](std::int32_t link) { fits &= capacity[at(link)] > 0 && spare[at(link)] >= amount[flow]; });
            if (fits) {
                choice[flow] = label;
                reserve(flow);
                break;
            }
        }
    }
}

} // namespace kuijia::hedera

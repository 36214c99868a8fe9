// Global first fit: each flow stays where it is, or goes the first way on which it fits.
#pragma once

#include "routes.hpp"

#include <algorithm>

namespace kuijia::hedera {

// A flow without a label: it goes wherever the switches' hash sends it.
constexpr std::int32_t hashed = -1;

// Flows in the order given; those that have a label in `choice` keep it, the others get the first that has room on
// every link, or stay as they are. Throws std::invalid_argument, saying which entry is wrong.
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
            routes.path(flow, label, [&](std::int32_t link) {
                fits &= capacity[at(link)] > 0 && spare[at(link)] >= amount[flow];
            });
            if (fits) {
                choice[flow] = label;
                reserve(flow);
                break;
            }
        }
    }
}

} // namespace kuijia::hedera

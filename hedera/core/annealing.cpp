#include "annealing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kuijia::hedera {

namespace {

constexpr std::int64_t largest_number = std::numeric_limits<std::int32_t>::max();

std::int64_t sum_of(std::span<const std::int32_t> amount) {
    return std::accumulate(amount.begin(), amount.end(), std::int64_t{0});
}

// Returns an upper bound on the load that any placement puts on one link.
std::int64_t most_on_a_link(const FatTreeRoutes &routes, std::span<const std::int32_t> amount) {
    const auto pods = at(2 * routes.half());
    std::vector<std::int64_t> out(pods), in(pods);
    for (std::size_t flow = 0; flow < amount.size(); ++flow) {
        out[at(routes.pod(routes.edge(routes.source(flow))))] += amount[flow];
        in[at(routes.pod(routes.edge(routes.target(flow))))] += amount[flow];
    }
    return std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
}

std::int64_t most_on_a_link(const TableRoutes &, std::span<const std::int32_t> amount) { return sum_of(amount); }

void require_ranges(const char *what, std::span<const std::int32_t> first, std::size_t size) {
    if (first.size() < 2 || first.front() != 0 || at(first.back()) != size)
        throw std::invalid_argument(std::string(what) +
                                    ": expected 0 at its start and the number of members at its end");
    for (std::size_t entry = 1; entry < first.size(); ++entry)
        if (first[entry] < first[entry - 1])
            refuse(what, entry, "positions that never decrease");
}

} // namespace

void require_amounts(const char *what, std::span<const std::int32_t> amounts, std::size_t size) {
    if (amounts.size() != size)
        throw std::invalid_argument(std::string(what) + ": expected one for each");
    for (std::size_t entry = 0; entry < size; ++entry)
        if (amounts[entry] < 0)
            refuse(what, entry, "an amount that is not negative");
}

template <class Routes>
void require_placeable(const Routes &routes, std::span<const std::int32_t> amount,
                       std::span<const std::int32_t> capacity, const Schedule &schedule) {
    require_amounts("amount", amount, routes.flows());
    require_amounts("capacity", capacity, routes.links());
    if (schedule.iterations < 0)
        throw std::invalid_argument("iterations: expected a number that is not negative");
    if (!(std::isfinite(schedule.greed) && schedule.greed >= 0 && std::isfinite(schedule.unit) && schedule.unit > 0))
        throw std::invalid_argument("greed and unit: expected finite numbers, greed zero or more, unit above zero");
    if (sum_of(amount) > largest_number && most_on_a_link(routes, amount) > largest_number)
        throw std::invalid_argument("amount: expected less than 2^31 in total on any link");
}

template void require_placeable(const FatTreeRoutes &, std::span<const std::int32_t>, std::span<const std::int32_t>,
                                const Schedule &);
template void require_placeable(const TableRoutes &, std::span<const std::int32_t>, std::span<const std::int32_t>,
                                const Schedule &);

template <class Routes>
void validate(const Routes &routes, std::span<const std::int32_t> amount, std::span<const std::int32_t> capacity,
              const Seating &seating, const Schedule &schedule) {
    require_placeable(routes, amount, capacity, schedule);
    const auto slots = seating.label.size();
    if (seating.host.size() != slots)
        throw std::invalid_argument("host: expected one for each slot");
    require_below("label", seating.label, at(routes.labels()));
    require_ranges("pod_first", seating.pod_first, slots);
    require_ranges("block_first", seating.block_first, slots);
    require_ranges("edge_first", seating.edge_first, routes.hosts());
    if (seating.fee.size() != routes.hosts())
        throw std::invalid_argument("fee: expected one for each host");
    for (std::size_t host = 0; host < routes.hosts(); ++host)
        if (seating.fee[host] < 0 || seating.fee[host] > largest_number)
            refuse("fee", host, "an amount that is not negative and less than 2^31");
    Kept<std::uint8_t> seated(routes.hosts());
    for (std::size_t slot = 0; slot < slots; ++slot)
        if (const auto host = seating.host[slot]; host != -1) {
            if (host < 0 || at(host) >= routes.hosts() || seated[at(host)]++)
                refuse("host", slot, "each host once, or -1");
        }
    if (std::find(seated.begin(), seated.end(), 0) != seated.end())
        throw std::invalid_argument("host: expected every host in a slot");
}

template void validate(const FatTreeRoutes &, std::span<const std::int32_t>, std::span<const std::int32_t>,
                       const Seating &, const Schedule &);
template void validate(const TableRoutes &, std::span<const std::int32_t>, std::span<const std::int32_t>,
                       const Seating &, const Schedule &);

} // namespace kuijia::hedera

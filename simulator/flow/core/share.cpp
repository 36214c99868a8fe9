#include "elastic.hpp"
#include "inelastic.hpp"
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace kuijia::flow {

namespace {

constexpr std::size_t short_path = 16;

[[noreturn]] void refuse(const char *what, std::size_t entry, const char *problem, const char *expected) {
    throw std::invalid_argument(std::string(what) + "[" + std::to_string(entry) + "]: " + problem + ", expected " +
                                expected);
}

void validate_path(const Problem &problem, std::size_t flow, std::vector<std::int64_t> &last_flow) {
    const auto links = static_cast<std::int64_t>(problem.links.size());
    if (problem.first[flow + 1] < problem.first[flow] || problem.first[flow + 1] > links)
        refuse("first", flow + 1, "is not the end of a path", "positions in links that never decrease");
    const auto path = problem.path(flow);
    for (auto hop = path.begin(); hop != path.end(); ++hop) {
        if (*hop < 0 || static_cast<std::size_t>(*hop) >= problem.size())
            refuse("flows", flow, "crosses a link that does not exist", "a position in capacity");
        // Most paths are so short that looking back costs less than an access to the link's entry.
        const bool crossed = path.size() <= short_path
                                 ? std::find(path.begin(), hop, *hop) != hop
                                 : std::exchange(last_flow[static_cast<std::size_t>(*hop)],
                                                 static_cast<std::int64_t>(flow)) == static_cast<std::int64_t>(flow);
        if (crossed)
            refuse("flows", flow, "crosses a link twice", "a simple path");
    }
}

} // namespace

void validate(const Problem &problem) {
    const auto flows = problem.flows();
    if (problem.first.size() != flows + 1 || problem.weight.size() != flows || problem.level.size() != flows ||
        problem.elastic.size() != flows)
        throw std::invalid_argument(
            "arrays of different lengths, expected an entry for each flow and one more in first");
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (flows > most || problem.size() > most || problem.links.size() > most)
        throw std::invalid_argument("problem too large, expected fewer than 2^31 flows, links, and links on all paths");
    if (problem.first[0] != 0 || problem.first[flows] != static_cast<std::int64_t>(problem.links.size()))
        throw std::invalid_argument("first: does not span links, expected 0 at its start and their number at its end");
    for (std::size_t link = 0; link < problem.size(); ++link)
        if (!(std::isfinite(problem.capacity[link]) && problem.capacity[link] >= 0))
            refuse("capacity", link, "is not a capacity", "a finite number that is not negative");
    std::vector<std::int64_t> last_flow(problem.size(), -1);
    for (std::size_t flow = 0; flow < flows; ++flow) {
        validate_path(problem, flow, last_flow);
        if (!(problem.offered[flow] >= 0))
            refuse("offered", flow, "is not a rate", "a number that is not negative");
        if (!(std::isfinite(problem.weight[flow]) && problem.weight[flow] > 0))
            refuse("weight", flow, "is not a weight", "a finite number greater than zero");
        if (std::isinf(problem.offered[flow]) && (!problem.elastic[flow] || problem.path(flow).empty()))
            refuse("offered", flow, "is infinite", "an infinite offer only of an elastic flow that crosses links");
    }
}

Outcome share(const Problem &problem) {
    validate(problem);
    Outcome outcome{std::vector<double>(problem.flows()),
                    std::vector<double>(problem.capacity.begin(), problem.capacity.end()),
                    std::vector<double>(problem.size())};
    std::vector<double> left(problem.capacity.begin(), problem.capacity.end());

    // Sort by level, inelastic flows first within each, otherwise in the order given.
    std::vector<std::int32_t> order(problem.flows());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](std::int32_t flow) {
        const auto number = static_cast<std::size_t>(flow);
        return std::pair(problem.level[number], problem.elastic[number] != 0);
    };
    const auto before = [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); };
    if (!std::is_sorted(order.begin(), order.end(), before))
        std::stable_sort(order.begin(), order.end(), before);

    Crossings crossings(problem);
    std::optional<Filling> filling; // each is created only when there are flows for it
    std::optional<Thinning> thinning;
    for (auto begin = order.begin(); begin != order.end();) {
        const auto [level, elastic] = key(*begin);
        const auto end = std::find_if(begin, order.end(),
                                      [&, wanted = key(*begin)](std::int32_t flow) { return key(flow) != wanted; });
        const std::span<const std::int32_t> flows(begin, end);
        if (elastic) {
            if (!filling)
                filling.emplace(problem, crossings);
            filling->fill(flows, left, outcome.goodput);
        } else {
            if (!thinning)
                thinning.emplace(problem, crossings);
            outcome.settled &= thinning->thin(flows, left, outcome.goodput, outcome.dropped);
        }
        begin = end;
    }
    for (std::size_t link = 0; link < problem.size(); ++link)
        outcome.load[link] = problem.capacity[link] - left[link];
    return outcome;
}

} // namespace kuijia::flow

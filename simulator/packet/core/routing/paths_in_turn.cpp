#include "routing/paths_in_turn.hpp"

#include "scenario.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kuijia::packet {

namespace {

constexpr std::uint64_t longest_round = 4096;
constexpr std::uint32_t no_counter = 0xffffffff;

// Returns the bit/s of the slowest link of a route, without those of hosts if there are others.
std::uint64_t capacity(const PathNetwork &network, const std::vector<std::int64_t> &rates,
                       const std::vector<std::uint32_t> &route) {
    const auto rate = [&](auto link) {
        return static_cast<std::uint64_t>(link < rates.size() ? rates[link] : network.link(link).bits_per_second);
    };
    const auto links = route.size() < 3 ? std::span(route) : std::span(route).subspan(1, route.size() - 2);
    auto least = rate(links.front());
    for (const auto link : links)
        least = std::min(least, rate(link));
    return least;
}

} // namespace

std::vector<std::uint32_t> weighted_round(std::vector<std::uint64_t> weights) {
    std::uint64_t divisor = 0;
    for (const auto weight : weights)
        divisor = std::gcd(divisor, weight);
    for (auto &weight : weights)
        weight /= divisor;
    auto total = std::reduce(weights.begin(), weights.end());
    if (const auto most = std::ranges::max(weights); total > std::max(longest_round, weights.size() * 1ul)) {
        const auto share = std::max(std::uint64_t{1}, longest_round / weights.size());
        for (auto &weight : weights)
            weight = std::max(std::uint64_t{1}, (weight * share + most / 2) / most);
        total = std::reduce(weights.begin(), weights.end());
    }
    std::vector<std::int64_t> behind(weights.size(), 0);
    std::vector<std::uint32_t> round;
    for (std::uint64_t turn = 0; turn < total; ++turn) {
        for (std::size_t place = 0; place < weights.size(); ++place)
            behind[place] += static_cast<std::int64_t>(weights[place]);
        const auto next = std::ranges::max_element(behind);
        *next -= static_cast<std::int64_t>(total);
        round.push_back(static_cast<std::uint32_t>(next - behind.begin()));
    }
    return round;
}

std::vector<std::uint32_t> round_in_rows(const std::vector<std::uint64_t> &weights, std::uint32_t in_a_row) {
    const auto most = static_cast<double>(std::ranges::max(weights));
    std::vector<std::uint32_t> round;
    for (std::uint32_t place = 0; place < weights.size(); ++place) {
        const auto turns = std::lround(in_a_row * (static_cast<double>(weights[place]) / most));
        round.insert(round.end(), static_cast<std::size_t>(std::max(1l, turns)), place);
    }
    return round;
}

std::unique_ptr<PathChoice> PathsInTurnRules::choice(PathNetwork &network, std::uint64_t seed) const {
    return std::make_unique<PathsInTurn>(*this, network, mixed(seed + 0x7475726e));
}

std::uint32_t PathsInTurn::choose(Packet &packet, const Choices &choices) {
    const auto turn = turn_of(packet)++;
    if (!rules_.weighted)
        return turn / rules_.in_a_row % choices.count();
    const auto &round = round_of(choices);
    return round[turn % round.size()];
}

std::uint32_t &PathsInTurn::turn_of(const Packet &packet) {
    const auto place = 2 * std::size_t{packet.flow} + packet.backward;
    if (place >= counters_.size())
        counters_.resize(place + 1, no_counter);
    if (counters_[place] == no_counter)
        counters_[place] = counter_of(packet);
    return turns_[counters_[place]];
}

// Returns the number of the counter, a new one if need be. They begin on different paths, or all would meet on the
// first.
std::uint32_t PathsInTurn::counter_of(const Packet &packet) {
    const auto number = static_cast<std::uint32_t>(turns_.size());
    auto key = 2 * std::uint64_t{packet.flow} + packet.backward;
    if (rules_.per_target) {
        const auto ends = network_.ends(packet.flow);
        key = packet.backward ? std::uint64_t{ends.target} << 32 | ends.source
                              : std::uint64_t{ends.source} << 32 | ends.target;
        const auto [known, is_new] = of_hosts_.try_emplace(key, number);
        if (!is_new)
            return known->second;
    }
    turns_.push_back(static_cast<std::uint32_t>(mixed(mixed(seed_) + key)) >> 1);
    return number;
}

const std::vector<std::uint32_t> &PathsInTurn::round_of(const Choices &choices) {
    if (choices.set >= rounds_.size())
        rounds_.resize(choices.set + std::size_t{1});
    auto &round = rounds_[choices.set];
    if (round.version != choices.version || round.places.empty()) {
        round.version = choices.version;
        std::vector<std::uint64_t> weights;
        for (const auto route : choices.routes)
            weights.push_back(capacity(network_, rules_.rates, network_.route(route)));
        round.places =
            rules_.in_a_row > 1 ? round_in_rows(weights, rules_.in_a_row) : weighted_round(std::move(weights));
    }
    return round.places;
}

} // namespace kuijia::packet

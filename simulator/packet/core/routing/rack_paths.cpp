#include "routing/rack_paths.hpp"

#include "scenario.hpp"

#include <algorithm>

namespace kuijia::packet {

std::uint32_t RackPaths::reverse(std::uint32_t pair) const {
    const auto found = numbers_.find({pairs_[pair].target, pairs_[pair].source});
    return found == numbers_.end() ? pairs() : found->second;
}

RackPaths::Place RackPaths::learn(std::uint32_t route) {
    if (route >= places_.size())
        places_.resize(route + std::size_t{1}, {0, no_path});
    const auto &links = network_.route(route);
    const auto source = network_.link(links.front()).target;
    const auto target = network_.link(links.back()).source;
    const auto [known, is_new] = numbers_.try_emplace({source, target}, pairs());
    if (is_new)
        pairs_.push_back({source, target, {}});
    auto &paths = pairs_[known->second].paths;
    const auto links_between = inner(links);
    auto path = std::ranges::find_if(paths, [&](const auto &each) { return std::ranges::equal(each, links_between); }) -
                paths.begin();
    if (path == std::ssize(paths)) {
        if (paths.size() < no_path)
            paths.emplace_back(links_between.begin(), links_between.end());
        else
            --path; // more paths than numbers
    }
    return places_[route] = {known->second, static_cast<std::uint16_t>(path)};
}

} // namespace kuijia::packet

#include "routing/shortest_paths.hpp"

#include "scenario.hpp"

#include <limits>

namespace kuijia::packet {

ShortestPaths::ShortestPaths(std::uint32_t nodes, const std::vector<LinkRules> &links,
                             const std::vector<std::uint32_t> &hosts)
    : links_(links), is_host_(nodes, false), up_(links.size(), true), incoming_(nodes), tables_(nodes) {
    for (const auto host : hosts)
        is_host_[host] = true;
    for (std::uint32_t link = 0; link < links.size(); ++link)
        incoming_[links[link].target].push_back(link);
}

std::span<const std::uint32_t> ShortestPaths::choices(std::uint32_t node, std::uint32_t target) {
    auto &table = tables_[target];
    if (table == nullptr)
        table = toward(target);
    return {table->links.data() + table->first[node], table->links.data() + table->first[node + 1]};
}

void ShortestPaths::set_known(std::uint32_t link, bool up) {
    if (up_[link] == up)
        return;
    up_[link] = up;
    for (auto &table : tables_)
        table.reset();
}

std::uint32_t ShortestPaths::source(std::uint32_t link) const { return links_[link].source; }

std::uint32_t ShortestPaths::target(std::uint32_t link) const { return links_[link].target; }

std::int64_t ShortestPaths::bits_per_second(std::uint32_t link) const { return links_[link].bits_per_second; }

std::unique_ptr<ShortestPaths::Table> ShortestPaths::toward(std::uint32_t target) const {
    constexpr auto far = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> distance(tables_.size(), far);
    std::vector<std::uint32_t> reached{target};
    distance[target] = 0;
    for (std::size_t place = 0; place < reached.size(); ++place) {
        const auto node = reached[place];
        if (is_host_[node] && node != target)
            continue;
        for (const auto link : incoming_[node])
            if (const auto before = links_[link].source; up_[link] && distance[before] == far) {
                distance[before] = distance[node] + 1;
                reached.push_back(before);
            }
    }
    const auto begins_path = [&](std::size_t link) {
        const auto &of = links_[link];
        return up_[link] && distance[of.source] != far && distance[of.target] != far &&
               distance[of.source] == distance[of.target] + 1 && (!is_host_[of.target] || of.target == target);
    };
    auto table = std::make_unique<Table>();
    table->first.resize(tables_.size() + 1);
    for (std::size_t link = 0; link < links_.size(); ++link)
        table->first[links_[link].source + 1] += begins_path(link);
    for (std::size_t node = 0; node < tables_.size(); ++node)
        table->first[node + 1] += table->first[node];
    table->links.resize(table->first.back());
    auto next = table->first;
    for (std::uint32_t link = 0; link < links_.size(); ++link)
        if (begins_path(link))
            table->links[next[links_[link].source]++] = link;
    return table;
}

} // namespace kuijia::packet

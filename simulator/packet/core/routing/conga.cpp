#include "routing/conga.hpp"

#include <algorithm>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t no_number = 0xffffffff;

// A packet's header in `hop`, whose highest bit says that there is one: routes, with which packets begin, have fewer
// than 25 bits.
struct Header {
    PathLoad path;   // of the packet
    PathLoad report; // on one of the other direction

    static constexpr std::uint32_t mark = 1u << 31;
    static constexpr unsigned tag_at = 20, level_at = 16, report_tag_at = 5;
    static constexpr std::uint32_t level_mask = 0xf;

    static bool is_in(const Packet &packet) { return (packet.hop & mark) != 0; }

    static Header of(const Packet &packet) {
        const auto hop = packet.hop;
        return {{hop >> tag_at & no_tag, static_cast<std::uint8_t>(hop >> level_at & level_mask)},
                {hop >> report_tag_at & no_tag, static_cast<std::uint8_t>(hop & level_mask)}};
    }

    void put_into(Packet &packet) const {
        packet.hop = mark | path.tag << tag_at | std::uint32_t{path.level} << level_at | report.tag << report_tag_at |
                     report.level;
    }
};

} // namespace

std::unique_ptr<Forwarding> CongaRules::forwarding(ShortestPaths &paths, std::uint64_t seed) const {
    return std::make_unique<Conga>(paths, seed, *this);
}

Conga::Conga(ShortestPaths &paths, std::uint64_t seed, const CongaRules &rules)
    : paths_(paths), rules_(rules), further_on_(paths, seed), random_(mixed(seed + 0x636f6e6761)),
      tags_(paths.links(), no_tag), leaf_(paths.nodes(), no_number), leaf_number_(paths.nodes(), no_number) {
    std::vector<std::uint32_t> uplinks(paths.nodes(), 0);
    for (std::uint32_t link = 0; link < paths.links(); ++link) {
        const auto source = paths.source(link);
        const auto target = paths.target(link);
        loads_.emplace_back(paths.bits_per_second(link), rules.period, rules.discount);
        if (!paths.is_host(target))
            tags_[link] = std::min(uplinks[source]++, no_tag);
        else if (leaf_[target] == no_number)
            leaf_[target] = source;
    }
}

std::uint32_t Conga::next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t before) {
    if (!Header::is_in(packet))
        return depart(node, target, packet, now);
    const auto link = further_on_.next(node, target, packet, now, before);
    if (link == no_link)
        return link;
    if (paths_.is_host(paths_.target(link)))
        arrive(target, packet, now);
    else
        travel(link, packet, now);
    return link;
}

// Gives a packet its header at its first switch, unless this is also its last one.
std::uint32_t Conga::depart(std::uint32_t node, std::uint32_t target, Packet &packet, Time now) {
    const auto choices = paths_.choices(node, target);
    if (choices.empty() || paths_.is_host(paths_.target(choices.front())))
        return further_on_.next(node, target, packet, now, no_link);
    auto &known = table(node, leaf_[target] == no_number ? target : leaf_[target]);
    auto &flowlet = flowlet_of(packet);
    const bool usable = flowlet.link != no_link && std::ranges::binary_search(choices, flowlet.link);
    if (!usable || now - flowlet.last > rules_.gap)
        flowlet.link =
            choices.size() == 1 ? choices.front() : least_loaded(choices, known, usable ? flowlet.link : no_link, now);
    flowlet.leaf = node;
    flowlet.last = now;
    Header{{tags_[flowlet.link], 0}, known.report(now)}.put_into(packet);
    travel(flowlet.link, packet, now);
    return flowlet.link;
}

// Returns the link with the least load here or further on: if it is one of them the link `before`, or any at random.
std::uint32_t Conga::least_loaded(Choices choices, const CongestionTable &table, std::uint32_t before, Time now) {
    levels_.clear();
    for (const auto link : choices)
        levels_.push_back(std::max(loads_[link].level(rules_.bits, now), table.level(tags_[link], now)));
    const auto least = std::ranges::min(levels_);
    const auto at = std::ranges::lower_bound(choices, before) - choices.begin();
    if (before != no_link && levels_[static_cast<std::size_t>(at)] == least)
        return before;
    auto left = random_.below(static_cast<std::uint64_t>(std::ranges::count(levels_, least)));
    std::size_t place = 0;
    while (levels_[place] != least || left-- > 0)
        ++place;
    return choices[place];
}

// Counts a packet on a link between switches, and lets it note the load if it has met none that is larger.
void Conga::travel(std::uint32_t link, Packet &packet, Time now) {
    auto &load = loads_[link];
    load.add(packet.size, now);
    const auto level = load.level(rules_.bits, now);
    auto header = Header::of(packet);
    if (level <= header.path.level)
        return;
    header.path.level = level;
    header.put_into(packet);
}

// Reads the header of a packet at its last switch.
void Conga::arrive(std::uint32_t target, const Packet &packet, Time now) {
    const auto header = Header::of(packet);
    auto &known = table(leaf_[target], flowlet_of(packet).leaf);
    if (header.path.tag != no_tag)
        known.record(header.path, now);
    if (header.report.tag != no_tag)
        known.learn(header.report, now);
}

Conga::Flowlet &Conga::flowlet_of(const Packet &packet) {
    const auto place = 2 * std::size_t{packet.flow} + packet.backward;
    if (place >= flowlets_.size())
        flowlets_.resize(std::max(place + 1, 2 * flowlets_.size()));
    return flowlets_[place];
}

CongestionTable &Conga::table(std::uint32_t leaf, std::uint32_t other) {
    const auto place = number(other);
    auto &row = tables_[number(leaf)];
    if (place >= row.size())
        row.resize(place + std::size_t{1});
    if (row[place] == nullptr)
        row[place] = std::make_unique<CongestionTable>(rules_.aging);
    return *row[place];
}

std::uint32_t Conga::number(std::uint32_t leaf) {
    auto &number = leaf_number_[leaf];
    if (number == no_number) {
        number = static_cast<std::uint32_t>(tables_.size());
        tables_.emplace_back();
    }
    return number;
}

} // namespace kuijia::packet

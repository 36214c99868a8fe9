#include "routing/flow_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t ipv4 = 0x0800;
constexpr std::uint32_t mpls = 0x8847;
constexpr std::uint32_t most_tables = 255;
constexpr std::uint32_t match_all = 127;

void require_entry(bool holds, const char *problem) {
    if (!holds)
        throw std::invalid_argument(problem);
}

constexpr MatchKey packed(std::uint64_t in_port, std::uint64_t destination, std::uint64_t eth_type, std::uint64_t label,
                          std::uint64_t traffic_class, std::uint64_t tos) {
    return {in_port << 32 | destination, eth_type << 32 | label << 11 | traffic_class << 8 | tos};
}

MatchKey mask_of(const EntryRow &entry) {
    const auto all = [&](MatchField field, std::uint32_t bits) { return (entry.matched & field) != 0 ? bits : 0; };
    return packed(all(match_in_port, 0xffffffff), all(match_destination, entry.mask), all(match_eth_type, 0xffff),
                  all(match_label, 0xfffff), all(match_traffic_class, 7), all(match_dscp, 0xfc) | all(match_ecn, 3));
}

} // namespace

MatchKey MatchKey::of(std::uint32_t in_port, std::uint32_t destination, std::uint32_t header, const Headers &headers) {
    if (!Headers::has_label(header))
        return packed(in_port, destination, ipv4, 0, 0, header);
    const auto label = headers.label(header);
    return packed(in_port, destination, mpls, label >> 3, label & 7, headers.tos(header));
}

void FlowTables::set(const std::vector<EntryRow> &entries) {
    std::vector<std::vector<Shape>> tables;
    for (std::uint32_t place = 0; place < entries.size(); ++place) {
        const auto &entry = entries[place];
        require_entry(entry.table < most_tables, "an entry must be in one of 255 tables");
        require_entry(entry.next == absent || (entry.next > entry.table && entry.next < most_tables),
                      "an entry must go to a later table");
        require_entry(entry.matched <= match_all && entry.eth_type <= 0xffff && entry.dscp < 64 && entry.ecn < 4 &&
                          entry.label < 1u << 20 && entry.traffic_class < 8,
                      "an entry must match values that its fields can have");
        if (entry.table >= tables.size())
            tables.resize(entry.table + 1);
        auto &shapes = tables[entry.table];
        const auto mask = mask_of(entry);
        const bool needs_label = (entry.matched & (match_label | match_traffic_class)) != 0;
        auto found = std::ranges::find_if(shapes, [&](const Shape &shape) {
            return shape.priority == entry.priority && shape.mask == mask && shape.needs_label == needs_label;
        });
        if (found == shapes.end())
            found = shapes.insert(shapes.end(), Shape{entry.priority, mask, needs_label, std::vector<Cell>(2)});
        const auto key = packed(entry.in_port, entry.destination, entry.eth_type, entry.label, entry.traffic_class,
                                entry.dscp << 2 | entry.ecn);
        found->put(key & mask, place);
    }
    for (auto &shapes : tables)
        std::ranges::stable_sort(shapes, std::ranges::greater(), &Shape::priority);
    tables_ = std::move(tables);
}

void FlowTables::Shape::put(const MatchKey &key, std::uint32_t entry) {
    if (2 * (taken + 1) > cells.size()) {
        std::vector<Cell> before(2 * cells.size());
        before.swap(cells);
        taken = 0;
        for (const auto &cell : before)
            if (cell.entry != absent)
                put(cell.key, cell.entry);
    }
    auto place = key.hash();
    while (cells[place & (cells.size() - 1)].entry != absent && cells[place & (cells.size() - 1)].key != key)
        ++place;
    auto &cell = cells[place & (cells.size() - 1)];
    taken += cell.entry == absent;
    cell = {key, entry};
}

} // namespace kuijia::packet

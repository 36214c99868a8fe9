// Random flow tables and groups for switches that follow them: small numbers, so that they often fit each other.
#pragma once

#include "random.hpp"
#include "routing/table_rows.hpp"

#include <cstdint>
#include <vector>

namespace kuijia::packet {

class RandomTables {
  public:
    // Outputs lead to one of these ports, or to one that may not exist.
    RandomTables(Random &random, std::vector<std::uint32_t> ports) : random_(random), ports_(std::move(ports)) {
        ports_.push_back(below(4));
    }

    TableRows tables() {
        TableRows rows;
        for (auto count = 1 + below(6); count-- > 0;)
            rows.entries.push_back(entry(rows));
        add_groups(rows);
        return rows;
    }

    TableRows groups() {
        TableRows rows;
        add_groups(rows);
        return rows;
    }

  private:
    std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
    std::uint32_t port() { return ports_[below(ports_.size())]; }

    EntryRow entry(TableRows &rows) {
        EntryRow entry{};
        entry.table = below(4) == 0 ? below(3) : 0;
        entry.priority = below(3);
        entry.matched = below(3) == 0 ? below(128) : 0;
        entry.in_port = port();
        entry.eth_type = below(2) == 0 ? 0x0800 : 0x8847;
        entry.mask = below(2) == 0 ? 0xffffff00 : 0;
        entry.label = below(3);
        entry.traffic_class = below(3);
        entry.actions = actions(rows, below(4));
        entry.written = actions(rows, below(3));
        entry.next = below(3) == 0 ? entry.table + 1 + below(2) : absent;
        return entry;
    }

    void add_groups(TableRows &rows) {
        for (auto count = below(4); count-- > 0;) {
            rows.groups.push_back({below(4), below(2) == 0, below(4)});
            for (auto buckets = rows.groups.back().buckets; buckets-- > 0;) {
                const auto watch_port = below(2) == 0 ? port() : absent;
                const auto watch_group = below(3) == 0 ? below(4) : absent;
                rows.buckets.push_back({watch_port, watch_group, actions(rows, below(4))});
            }
        }
    }

    std::uint32_t actions(TableRows &rows, std::uint32_t count) {
        for (auto left = count; left-- > 0;) {
            const auto kind = below(3) == 0 ? static_cast<std::uint8_t>(ActionKind::output)
                                            : static_cast<std::uint8_t>(below(action_kinds));
            rows.actions.push_back({kind, kind == static_cast<std::uint8_t>(ActionKind::output) ? port() : below(4)});
        }
        return count;
    }

    Random &random_;
    std::vector<std::uint32_t> ports_;
};

} // namespace kuijia::packet

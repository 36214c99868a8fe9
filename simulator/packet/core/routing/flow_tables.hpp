// The flow tables of one switch, looked up by hashing: one hash table for all entries that match the same fields.
#pragma once

#include "random.hpp"
#include "routing/headers.hpp"
#include "routing/table_rows.hpp"

#include <bit>
#include <vector>

namespace kuijia::packet {

// What entries match of a packet, in 128 bits.
struct MatchKey {
    std::uint64_t low;  // in port, destination
    std::uint64_t high; // Ethernet type, label, traffic class, TOS byte

    static MatchKey of(std::uint32_t in_port, std::uint32_t destination, std::uint32_t header, const Headers &headers);
    MatchKey operator&(const MatchKey &mask) const { return {low & mask.low, high & mask.high}; }
    bool operator==(const MatchKey &) const = default;
    std::uint64_t hash() const { return mixed(low ^ std::rotl(high * 0x9e3779b97f4a7c15, 23)); }
};

class FlowTables {
  public:
    // Throws std::invalid_argument if an entry is invalid. An entry replaces an earlier one with the same match and
    // priority.
    void set(const std::vector<EntryRow> &entries);

    // Returns the position of the matching entry of greatest priority, or `absent`. Of several, the first kind of
    // match that came has it.
    std::uint32_t find(std::uint32_t table, const MatchKey &key, bool has_label) const {
        if (table >= tables_.size())
            return absent;
        for (const auto &shape : tables_[table])
            if (has_label || !shape.needs_label)
                if (const auto found = shape.find(key & shape.mask); found != absent)
                    return found;
        return absent;
    }

  private:
    struct Cell {
        MatchKey key;
        std::uint32_t entry = absent;
    };
    // Entries that match the same fields at the same priority.
    struct Shape {
        std::uint32_t priority;
        MatchKey mask;
        bool needs_label;
        std::vector<Cell> cells; // a power of two, at most half of them taken
        std::size_t taken = 0;

        std::uint32_t find(const MatchKey &key) const {
            for (auto place = key.hash();; ++place) {
                const auto &cell = cells[place & (cells.size() - 1)];
                if (cell.entry == absent || cell.key == key)
                    return cell.entry;
            }
        }
        void put(const MatchKey &key, std::uint32_t entry);
    };

    std::vector<std::vector<Shape>> tables_; // the greatest priority first
};

} // namespace kuijia::packet

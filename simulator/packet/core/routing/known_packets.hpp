// Packets that a switch knows, with their way through its tables, as in the exact-match cache of Open vSwitch.
#pragma once

#include "routing/table_rows.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kuijia::packet {

// A packet as it comes to a switch.
struct Incoming {
    std::uint32_t port;
    std::uint32_t destination; // IPv4 address
    std::uint32_t header;
    std::uint32_t slot; // for groups that select: the place of the bucket, modulo their number

    bool operator==(const Incoming &) const = default;
};

// The same as it leaves; `port` is `absent` if it does not.
struct Outgoing {
    std::uint32_t port = absent;
    std::uint32_t link = absent; // that the port leads to, if it leads to one
    std::uint32_t header = 0;
    std::uint32_t queue = absent; // `absent` if no action has set one
};

// Packets whose way does not depend on their slot are kept with the slot `absent`.
class KnownPackets {
  public:
    // Returns how a packet leaves the switch, null if that is not known.
    const Outgoing *find(Incoming packet) const {
        if (cells_.empty())
            return nullptr;
        const auto slot = packet.slot;
        packet.slot = absent;
        if (const auto &cell = cells_[place_of(packet)]; cell.packet == packet)
            return &cell.left;
        packet.slot = slot;
        const auto &cell = cells_[place_of(packet)];
        return cell.packet == packet ? &cell.left : nullptr;
    }

    // Keeps how a packet leaves, in place of another whose key has the same hash.
    void keep(Incoming packet, bool by_slot, const Outgoing &left) {
        if (by_slot && packet.slot == absent)
            return;
        if (cells_.empty())
            cells_.resize(std::size_t{1} << place_bits);
        if (!by_slot)
            packet.slot = absent;
        cells_[place_of(packet)] = {packet, left};
    }

    void forget() { cells_.clear(); }

  private:
    static constexpr unsigned place_bits = 12;

    struct Cell {
        Incoming packet{absent, absent, absent, 0}; // no packet has such a header
        Outgoing left;
    };

    static std::size_t place_of(const Incoming &packet) {
        const auto low = std::uint64_t{packet.port} << 32 | packet.destination;
        const auto high = std::uint64_t{packet.header} << 32 | packet.slot;
        return (low * 0x9e3779b97f4a7c15 ^ std::rotl(high * 0xbf58476d1ce4e5b9, 29)) * 0x94d049bb133111eb >>
               (64 - place_bits);
    }

    std::vector<Cell> cells_; // none, or all places
};

} // namespace kuijia::packet

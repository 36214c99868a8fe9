// Packets, their pool, and lists of them.
#pragma once

#include "units.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace kuijia::packet {

using PacketId = std::uint32_t;
inline constexpr PacketId no_packet = 0xffffffff;

enum class Kind : std::uint8_t {
    data,
    acknowledgement,
    syn,
    syn_ack,
    emulation,
    credit,
    request,
    stop,
    probe,
    path_probe
};

// Segments [begin, end).
struct Range {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t size() const { return end - begin; }
    bool operator==(const Range &) const = default;
};

inline constexpr std::size_t most_blocks = 3;
inline constexpr std::uint32_t no_flow = 0xffffffff; // of a packet that path selection sent for itself
inline constexpr std::uint16_t no_path = 0xffff;

// A packet fills one cache line.
struct alignas(64) Packet {
    Time at;           // arrival at the far end of the link that it waits for or is on
    Time sent;         // when it was sent; an acknowledgement carries the time of the data it answers
    PacketId next;     // the next packet in its list
    std::uint32_t hop; // position of its link in the table of routes; the number of its route if switches forward it
    std::uint32_t flow;
    std::uint32_t number;    // data: number of the segment; acknowledgement: first missing segment
    std::uint32_t size : 24; // bytes on the wire
    bool ecn_capable : 1;
    bool marked : 1;         // congestion experienced (RFC 3168)
    bool echo : 1;           // acknowledgement: the data it answers was marked
    bool backward : 1;       // sent by the receiver of its flow
    bool again : 1;          // data: its segment was sent before
    std::uint8_t blocks : 2; // how many of `sacked` there are
    Kind kind;
    std::uint8_t level;        // priority, 0 first
    std::uint16_t path;        // as path selection numbers it; acknowledgement: that of the data it answers
    Range sacked[most_blocks]; // RFC 2018; credit: numbers of what it answers
};
static_assert(sizeof(Packet) == 64);

// Where path selection wants it, receivers return the delay of what they answer in place of a third block.
inline bool has_delay(const Packet &packet) { return packet.blocks < most_blocks; }
inline Time delay_of(const Packet &packet) {
    const auto &word = packet.sacked[most_blocks - 1];
    return static_cast<Time>(std::uint64_t{word.begin} << 32 | word.end);
}
inline void set_delay(Packet &packet, Time delay) {
    if (!has_delay(packet))
        return;
    const auto word = static_cast<std::uint64_t>(delay);
    packet.sacked[most_blocks - 1] = {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

class PacketPool {
  public:
    Packet &operator[](PacketId id) { return packets_[id]; }
    const Packet &operator[](PacketId id) const { return packets_[id]; }
    Packet *data() { return packets_.get(); }

    // Packets may move.
    PacketId take() {
        if (free_ == no_packet)
            grow();
        const auto id = free_;
        free_ = packets_[id].next;
        ++in_use_;
        return id;
    }

    void give_back(PacketId id) {
        packets_[id].next = free_;
        free_ = id;
        --in_use_;
    }

    std::size_t in_use() const { return in_use_; }
    std::size_t capacity() const { return capacity_; }

  private:
    static constexpr std::size_t first_capacity = 256;

    void grow() {
        const auto larger = std::max(first_capacity, 2 * capacity_);
        auto packets = std::make_unique_for_overwrite<Packet[]>(larger);
        std::copy_n(packets_.get(), capacity_, packets.get());
        packets_ = std::move(packets);
        for (auto id = larger; id-- > capacity_;) {
            packets_[id].next = free_;
            free_ = static_cast<PacketId>(id);
        }
        capacity_ = larger;
    }

    std::unique_ptr<Packet[]> packets_;
    std::size_t capacity_ = 0;
    PacketId free_ = no_packet;
    std::size_t in_use_ = 0;
};

// A first-in, first-out list, linked through the packets.
struct PacketList {
    PacketId head = no_packet;
    PacketId tail = no_packet;

    bool empty() const { return head == no_packet; }

    void append(PacketPool &pool, PacketId id) {
        pool[id].next = no_packet;
        if (empty())
            head = id;
        else
            pool[tail].next = id;
        tail = id;
    }

    PacketId take_first(const PacketPool &pool) {
        const auto id = head;
        head = pool[id].next;
        return id;
    }

    // Removes `id`, which follows `before`, or is first if `before` is `no_packet`.
    void remove(PacketPool &pool, PacketId before, PacketId id) {
        (before == no_packet ? head : pool[before].next) = pool[id].next;
        if (tail == id)
            tail = before;
    }
};

} // namespace kuijia::packet

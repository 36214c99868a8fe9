// What a simulation knows that does one part of a network, while others do the rest: PartedSimulation has them all.
//
// Each of them has the whole scenario. It starts the senders of its nodes and the receivers of its nodes, so a flow
// between two parts has a transport in both, of which one has only the sender's events and the other the receiver's.
#pragma once

#include "event_queue.hpp"
#include "packets.hpp"
#include "units.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace kuijia::packet {

// The end of a flow's sender: the receiver takes nothing more after this event.
struct SenderEnd {
    std::uint32_t flow;
    EventOrder::Key when;
};

// Packets that a part has sent by a link to another, in order.
struct Batch {
    std::uint32_t link;
    std::vector<Packet> packets;
};

// What one part tells another.
struct Mail {
    std::vector<Batch> batches;
    std::vector<SenderEnd> ends;

    bool empty() const { return batches.empty() && ends.empty(); }
};

// The packets on a link that comes from another part. They come to the pool of this part when they arrive, so that
// they take memory that was used just before.
class Transit {
  public:
    bool empty() const { return batches_.empty(); }
    const Packet &first() const { return batches_.front()[passed_]; }

    void add(std::vector<Packet> &&packets) {
        count_ += packets.size();
        batches_.push_back(std::move(packets));
    }

    void drop_first() {
        --count_;
        if (++passed_ == batches_.front().size()) {
            batches_.erase(batches_.begin());
            passed_ = 0;
        }
    }

    std::size_t count() const { return count_; }

  private:
    std::vector<std::vector<Packet>> batches_; // none is empty
    std::size_t passed_ = 0;                   // packets of the first one
    std::size_t count_ = 0;
};

struct Part {
    using Key = EventOrder::Key;

    std::uint32_t number;
    std::shared_ptr<const std::vector<std::uint32_t>> of_node;
    EventOrder order;
    Time shortest;                             // delay between two parts
    std::vector<Key> done;                     // by part: all its events before this one
    std::vector<std::vector<Packet>> outgoing; // by link
    std::vector<std::uint32_t> used;           // links with outgoing packets
    std::vector<std::vector<SenderEnd>> ended; // by part
    std::vector<Transit> transit;              // by link
    std::vector<std::uint32_t> crossing{};     // links to other parts whose ports choose late
    std::vector<SenderEnd> ends{};             // of flows whose receivers are here and still alive
    Source current = no_source;                // of the event that happens now
    std::uint32_t waits_for = 0;               // the part that must go on first, after a run that ended early

    bool has(std::uint32_t node) const { return (*of_node)[node] == number; }

    // Returns the key before which all events up to a time are.
    static Key after(Time time) { return static_cast<Key>(time + 1) << 64; }
};

} // namespace kuijia::packet

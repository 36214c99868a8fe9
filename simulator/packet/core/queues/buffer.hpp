// One first-in, first-out queue of a discipline: admission, what waits, and the token bucket that it waits for.
#pragma once

#include "queues/admission.hpp"
#include "queues/backlog.hpp"
#include "queues/discipline.hpp"

namespace kuijia::packet {

class alignas(64) Buffer {
  public:
    // With `held_while_sent`, a packet occupies its memory until its transmission has ended. With `foresees`, it is
    // known when all will have left.
    explicit Buffer(const FifoRules &rules, bool held_while_sent = false, bool foresees = false)
        : untouched_(rules.untouched()), cell_(rules.cell), shaped_(rules.shaping.has_value()),
          held_while_sent_(held_while_sent), foresees_(foresees && shaped_),
          token_rate_(rules.shaping ? rules.shaping->rate : 1),
          burst_time_(rules.shaping ? token_rate_.of(static_cast<std::uint32_t>(rules.shaping->burst)) : 0),
          rules_(rules) {}

    bool empty() const { return packets_.empty(); }
    std::int64_t bytes() const { return backlog_.bytes(); } // of whole cells

    // Returns the bytes of the queue's memory that a packet occupies, in whole cells.
    std::uint32_t room(const Packet &packet) const {
        return cell_ == 1 ? packet.size : (packet.size + cell_ - 1) / cell_ * cell_;
    }

    // Returns the bytes of the first packet; there must be one.
    std::uint32_t first_size(const PacketPool &pool) const { return pool[packets_.head].size; }

    // Takes the packet, or drops it, or drops others to make room.
    void offer(PacketId id, Arrival &arrival);

    // Returns when the token bucket lets the first packet go, 0 without one.
    Time earliest(const PacketPool &pool) const;

    PacketId take(PacketPool &pool, Time now);

    // Returns when its last packet will have left, if tokens are all it waits for and no other queue uses the link; 0
    // without a token bucket. It `foresees`.
    Time drained_at() const { return packets_.empty() ? 0 : drained_at_; }

    // Returns the first packet if it may go; otherwise lowers `retry` to when it may.
    PacketId take_if_due(PacketPool &pool, Time now, Time &retry);

  private:
    // Draws one of the queue's packets and the new one, with probabilities in proportion to the room they take.
    PacketId drawn(const PacketPool &pool, PacketId added, Random &random, PacketId &before) const;

    // Returns the bytes that the packet in transmission occupies, if it came from here and they are not free yet.
    std::int64_t held(const Arrival &arrival) const {
        return held_room_ > 0 && arrival.now < sent_at(arrival.port) ? held_room_ : 0;
    }

    // Returns when the last packet that was taken had been sent, or its link failed.
    Time sent_at(const Port &port) const { return std::min(taken_at_ + port.rate.of(taken_size_), port.free_at); }

    // Judges a packet that the queue does not take as it is; returns false if it is dropped.
    bool admit(PacketId id, Arrival &arrival, std::uint32_t needed, std::int64_t sent);

    // What each packet touches comes first, in two cache lines.
    PacketList packets_;
    std::int32_t untouched_; // bytes up to which packets are taken as they are
    std::uint32_t cell_;     // bytes
    bool shaped_;
    bool held_while_sent_;
    bool foresees_;
    Backlog backlog_;        // of whole cells
    Time full_at_ = 0;       // when the token bucket would be full again
    mutable Time timed_ = 0; // of `timed_size_` bytes at the token bucket's rate
    mutable std::uint32_t timed_size_ = 0;
    std::uint32_t taken_size_ = 0; // bytes of the last packet that was taken
    std::uint32_t held_room_ = 0;  // bytes of its cells, if they are held
    Rate token_rate_;
    Time burst_time_;
    Time taken_at_ = 0;
    Time drained_at_ = 0; // with a token bucket: when the last packet will have left
    Time full_after_ = 0; // when the bucket would be full again after it
    FifoRules rules_;
    Red red_;

    void foresee(const Packet &packet, const Arrival &arrival);

    // Returns the time of so many bytes at the token bucket's rate; packets of one size spare the division.
    Time token_time(std::uint32_t size) const {
        if (size != timed_size_) {
            timed_size_ = size;
            timed_ = token_rate_.of(size);
        }
        return timed_;
    }
};

} // namespace kuijia::packet

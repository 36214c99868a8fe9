// Admission of packets to a queue: take, mark or drop.
#pragma once

#include "packets.hpp"
#include "random.hpp"
#include "units.hpp"

namespace kuijia::packet {

enum class Marking : std::uint8_t { none, threshold, red };
enum class Overflow : std::uint8_t { tail, random };

struct QueueRules {
    std::int64_t limit;  // bytes that may wait, without the packet in transmission
    std::int64_t low;    // bytes: the threshold, or the lower one of red
    std::int64_t high;   // red only: bytes of the upper threshold
    double probability;  // red only: probability of a mark or drop at `high`
    double weight;       // red only: weight of a new packet in the average
    std::int64_t shaped; // bit/s of the token bucket that packets wait for; 0 for none
    std::int64_t burst;  // bytes of a full bucket
    std::uint32_t cell;  // bytes of a cell: a packet occupies whole cells of `limit` and `low`
    Marking marking;
    Overflow overflow; // the packet dropped when one does not fit: the new one, or one of all, drawn by size
    bool mark_random;  // mark one of all packets, drawn by size, instead of the new one
};

enum class Verdict : std::uint8_t { take, mark, drop };

// Random early detection (Floyd and Jacobson, 1993), on bytes. Packets that cannot be marked are dropped (RFC 3168
// section 7).
class Red {
  public:
    Verdict judge(const QueueRules &rules, bool ecn_capable, std::int64_t waiting, std::int64_t missed,
                  Random &random) {
        for (; missed > 0 && average_ >= 1; --missed)
            average_ *= 1 - rules.weight;
        average_ += rules.weight * (static_cast<double>(waiting) - average_);
        const auto low = static_cast<double>(rules.low);
        const auto high = static_cast<double>(rules.high);
        if (average_ < low) {
            since_last_ = -1;
            return Verdict::take;
        }
        since_last_ += 1;
        if (average_ >= high) {
            since_last_ = 0;
            return Verdict::drop;
        }
        const double chance = rules.probability * (average_ - low) / (high - low);
        if (since_last_ * chance < 1 && random.unit() >= chance / (1 - since_last_ * chance))
            return Verdict::take;
        since_last_ = 0;
        return ecn_capable ? Verdict::mark : Verdict::drop;
    }

  private:
    double average_ = 0;
    double since_last_ = -1; // packets taken since the last one that was marked or dropped
};

class Gate {
  public:
    explicit Gate(const QueueRules &rules) : rules_(rules) {}

    const QueueRules &rules() const { return rules_; }
    bool fits(std::uint32_t room, std::int64_t waiting) const { return waiting + room <= rules_.limit; }

    // The packet takes `room` bytes; `waiting` bytes are in the queue, or it has been empty for `idle`.
    Verdict judge(const Packet &packet, std::uint32_t room, std::int64_t waiting, Time idle, Rate rate,
                  Random &random) {
        if (rules_.marking == Marking::red) {
            const auto verdict = red_.judge(rules_, packet.ecn_capable, waiting, idle / rate.of(usual_packet), random);
            if (verdict == Verdict::drop)
                return verdict;
            return fits(room, waiting) ? verdict : Verdict::drop;
        }
        if (!fits(room, waiting))
            return Verdict::drop;
        // RFC 8257 section 3.1.
        const bool marks = rules_.marking == Marking::threshold && waiting > rules_.low && packet.ecn_capable;
        return marks ? Verdict::mark : Verdict::take;
    }

  private:
    static constexpr std::uint32_t usual_packet = 500; // bytes of the packets that red assumes during idle time

    QueueRules rules_;
    Red red_;
};

} // namespace kuijia::packet

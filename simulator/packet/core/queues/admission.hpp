// Admission of packets to a queue: take, mark or drop.
#pragma once

#include "fields.hpp"
#include "packets.hpp"
#include "random.hpp"
#include "units.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <variant>

namespace kuijia::packet {

class Discipline;
struct Site;

// Marks packets that find more than `size` bytes waiting (RFC 8257 section 3.1). With `drops`, packets that cannot be
// marked are dropped instead: the selective dropping of Aeolus (Hu et al., SIGCOMM 2020, section 4).
struct ThresholdRules {
    static constexpr const char *name = "Threshold";
    std::int64_t size = 0;
    bool drops = false;

    static auto fields() {
        return std::tuple{
            number("size", &ThresholdRules::size, 0, largest_queue, "must be between 0 and 2^30 bytes"),
            plain("drops", &ThresholdRules::drops),
        };
    }
};

struct RedRules {
    static constexpr const char *name = "Red";
    std::int64_t low = 0;   // bytes of the average queue
    std::int64_t high = 1;  // the same
    double probability = 1; // of a mark or drop at `high`
    double weight = 1;      // of a new packet in the average

    static auto fields() {
        return std::tuple{
            number("low", &RedRules::low, 0, largest_queue, "must be between 0 and 2^30 bytes"),
            number("high", &RedRules::high, 0, largest_queue, "must be between 0 and 2^30 bytes"),
            number("probability", &RedRules::probability, above_zero, 1, "must be above 0 and at most 1"),
            number("weight", &RedRules::weight, above_zero, 1, "must be above 0 and at most 1"),
        };
    }
    const char *fault() const { return low < high ? nullptr : "RED's high threshold must be above the low one"; }
};

struct TokenBucketRules {
    static constexpr const char *name = "TokenBucket";
    std::int64_t rate = slowest; // bit/s
    std::int64_t burst = 1;      // bytes of a full bucket

    static auto fields() {
        return std::tuple{
            kuijia::packet::rate("rate", &TokenBucketRules::rate),
            number("burst", &TokenBucketRules::burst, 1, largest_packet, "must be between 1 and 2^20 bytes"),
        };
    }
};

using MarkingRules = std::variant<std::monostate, ThresholdRules, RedRules>;

struct FifoRules {
    static constexpr const char *name = "Fifo";
    std::int64_t limit = largest_queue; // bytes that may wait, without the packet in transmission
    MarkingRules marking;
    bool random_drop = false;                // if one does not fit, drop one of all, drawn by size
    bool random_mark = false;                // mark one of all, drawn by size, instead of the new one
    std::optional<TokenBucketRules> shaping; // what packets wait for
    std::uint32_t cell = 1;                  // bytes of a cell: a packet occupies whole cells of all limits

    static auto fields() {
        return std::tuple{
            number("limit", &FifoRules::limit, 1, largest_queue, "must be between 1 and 2^30 bytes"),
            plain("marking", &FifoRules::marking),
            plain("random_drop", &FifoRules::random_drop),
            plain("random_mark", &FifoRules::random_mark),
            plain("shaping", &FifoRules::shaping),
            number("cell", &FifoRules::cell, 1, largest_packet, "must be between 1 and 2^20 bytes"),
        };
    }

    const FifoRules *only(std::uint32_t) const { return this; }
    std::unique_ptr<Discipline> discipline(const Site &site) const;

    // Returns the bytes, with the packet, up to which the queue neither drops nor marks it, whatever came before.
    std::int32_t untouched() const {
        const auto *threshold = std::get_if<ThresholdRules>(&marking);
        const auto most = threshold != nullptr ? std::min(limit, threshold->size) : marking.index() == 0 ? limit : -1;
        return static_cast<std::int32_t>(most);
    }

    // Returns true if a port knows when a packet will leave as soon as the packet comes.
    bool simple() const { return !shaping && !random_drop && !random_mark && cell == 1; }
};

enum class Verdict : std::uint8_t { take, mark, drop };

// Random early detection (Floyd and Jacobson, 1993), on bytes. Packets that cannot be marked are dropped (RFC 3168
// section 7).
class Red {
  public:
    Verdict judge(const RedRules &rules, bool ecn_capable, std::int64_t waiting, std::int64_t missed, Random &random) {
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

// Returns true if a packet that takes `room` bytes fits into the queue in which `waiting` bytes are.
inline bool fits(const FifoRules &rules, std::uint32_t room, std::int64_t waiting) {
    return waiting + room <= rules.limit;
}

// The packet takes `room` bytes; `waiting` bytes are in the queue, or it has been empty for `idle`.
inline Verdict judge(const FifoRules &rules, Red &red, const Packet &packet, std::uint32_t room, std::int64_t waiting,
                     Time idle, Rate rate, Random &random) {
    constexpr std::uint32_t usual_packet = 500; // bytes of the packets that red assumes during idle time
    if (const auto *by_red = std::get_if<RedRules>(&rules.marking)) {
        const auto verdict = red.judge(*by_red, packet.ecn_capable, waiting, idle / rate.of(usual_packet), random);
        if (verdict == Verdict::drop)
            return verdict;
        return fits(rules, room, waiting) ? verdict : Verdict::drop;
    }
    if (!fits(rules, room, waiting))
        return Verdict::drop;
    const auto *threshold = std::get_if<ThresholdRules>(&rules.marking);
    if (threshold == nullptr || waiting <= threshold->size)
        return Verdict::take;
    if (packet.ecn_capable)
        return Verdict::mark;
    return threshold->drops ? Verdict::drop : Verdict::take;
}

} // namespace kuijia::packet

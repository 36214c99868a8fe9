// The segments of a flow that is sent by credits: what its sender knows of them, and what has arrived at its receiver.
//
// Paths keep the order of packets: what arrives tells that all that was sent before and has not arrived is lost. After
// a change of paths this may be wrong, and a segment is sent twice.
#pragma once

#include "packets.hpp"
#include "ranges.hpp"

#include <algorithm>
#include <optional>

namespace kuijia::packet {

class SentSegments {
  public:
    explicit SentSegments(std::uint32_t count) : count_(count) {}

    std::uint32_t count() const { return count_; }
    bool finished() const { return missing_ == count_; }
    std::uint32_t never_sent() const { return count_ - next_; }
    std::uint32_t outstanding() const { return next_ - missing_ - arrived_.count(); }
    std::uint32_t retransmitted() const { return retransmitted_; }

    // Returns how many segments wait to be sent: those lost and those never sent.
    std::uint32_t waiting() const { return lost_.count() + never_sent(); }

    // Returns of how many of the first `count` segments it is not known whether they arrived when they were first sent.
    std::uint32_t unknown(std::uint32_t count) const { return count - std::min(count, std::max(judged_, missing_)); }

    // Returns the next segment that was never sent.
    std::uint32_t take_new() { return next_++; }

    // Returns the next segment to send with a credit, in the order of Aeolus (section 3.3): lost ones, then those never
    // sent. Its third kind, sent and not yet acknowledged, is left out: their acknowledgements are on the way, and the
    // probe behind them finds those that are lost.
    std::optional<std::uint32_t> take();

    // Learns which segments have arrived.
    void acknowledged(const Packet &packet);

    // The receiver has kept nothing beyond `missing` that was sent with a credit: all of it has to be sent again.
    void go_back(std::uint32_t missing) {
        missing_ = std::max(missing_, missing);
        arrived_.remove_below(missing_);
        lost_.remove_below(missing_);
        resent_.clear();
        judge(missing_, next_);
    }

    // A probe leaves: its answer tells of all that was sent before.
    std::uint32_t probed() {
        resent_.clear();
        return next_;
    }
    void probe_answered(std::uint32_t sent_before) { judge(missing_, std::min(sent_before, next_)); }

  private:
    bool has_arrived(std::uint32_t number) const { return number < missing_ || arrived_.contains(number); }
    // Takes for lost what has not arrived of these segments, unless it was sent again.
    void judge(std::uint32_t from, std::uint32_t below);

    std::uint32_t count_;
    std::uint32_t next_ = 0;    // the first that was never sent
    std::uint32_t missing_ = 0; // the first that has not arrived
    std::uint32_t judged_ = 0;  // those below have arrived or are lost, as far as their first transmission goes
    std::uint32_t retransmitted_ = 0;
    RangeSet arrived_; // beyond `missing_`
    RangeSet lost_;    // and not sent again
    RangeSet resent_;  // since the last probe
};

class ArrivedSegments {
  public:
    explicit ArrivedSegments(std::uint32_t count) : count_(count) {}

    bool finished() const { return missing_ == count_; }
    std::uint32_t missing() const { return missing_; }
    const RangeSet &beyond() const { return beyond_; }

    struct News {
        bool is_new;
        bool leaves_gap; // what was sent before is lost
    };
    News received(std::uint32_t number);

  private:
    std::uint32_t count_;
    std::uint32_t missing_ = 0;
    std::uint32_t highest_ = 0; // all that arrived is below
    RangeSet beyond_;
};

} // namespace kuijia::packet

// The sending half of a TCP connection: the next segment to send, and the retransmission timer.
//
// It does not know the network: `Tcp` passes it acknowledgements and the time, and asks it for segments.
// Segments are numbered from 0, all but the last of full size, so that counting segments is counting bytes.
#pragma once

#include "congestion_control.hpp"
#include "packets.hpp"
#include "ranges.hpp"
#include "tcp_rules.hpp"
#include "units.hpp"

#include <memory>

namespace kuijia::packet {

struct TcpCounters {
    std::uint32_t sent = 0;
    std::uint32_t retransmitted = 0;
    std::uint32_t timeouts = 0;
    std::uint32_t recoveries = 0;
};

class TcpSender {
  public:
    TcpSender(const TcpRules &rules, std::uint32_t segments);

    // Returns what to send at `now`, if windows and unsent data allow anything.
    enum class Sends : std::uint8_t { nothing, syn, segment };
    struct Next {
        Sends what;
        std::uint32_t number;
        bool again = false; // it was sent before
    };
    Next next(Time now);

    void syn_acknowledged(Time now, Time sent);
    void acknowledged(const Packet &packet, Time now, Random &random);

    // Returns when `timed_out` must be called, unless something changes before; `never` while nothing is outstanding.
    Time deadline() const { return deadline_; }
    void timed_out(Time now);

    // Returns when the next segment may leave, if segments are paced.
    Time paced_until() const { return paced_until_; }

    bool finished() const { return first_missing_ == segments_; }
    std::uint32_t outstanding() const { return next_ - first_missing_; }
    double window() const { return window_.size; }
    Time round_trip() const { return smoothed_; }
    const TcpCounters &counters() const { return counters_; }

  private:
    enum class State : std::uint8_t { closed, syn_sent, open, reduced, recovery, loss };

    bool in_order() const { return state_ == State::open || state_ == State::reduced; }
    // Returns the pipe of RFC 6675: segments sent that have neither arrived nor been lost.
    double in_flight() const {
        const bool all = sacked_.empty() && duplicates_ == 0 && lost_below_ <= first_missing_;
        return all ? outstanding() : in_flight_of_some();
    }
    double in_flight_of_some() const;
    std::uint32_t lost_and_not_resent() const;
    void note_sacked(const Packet &packet, std::uint32_t advanced, Time now);
    void note_delivered(Range segments, Time now);
    std::uint32_t delivered() const { return first_missing_ + (rules_->sack ? sacked_.count() : duplicates_); }
    void note_sent(std::uint32_t number, bool was_idle, Time now);
    double pace() const;
    void measure(Time sample);
    void restart_timer(Time now);
    void recover(Time now);
    void react_to_mark(Time now);

    const TcpRules *rules_;
    CongestionControl control_;
    Window window_;
    std::uint32_t segments_;
    std::uint32_t first_missing_ = 0; // SND.UNA
    std::uint32_t next_ = 0;          // SND.NXT
    std::uint32_t lost_below_ = 0;    // unacknowledged segments below it are lost (IsLost of RFC 6675)
    std::uint32_t resent_below_ = 0;  // HighRxt of RFC 6675, plus one
    std::uint32_t recovery_end_ = 0;  // RecoveryPoint
    std::uint32_t mark_end_ = 0;      // end of the window in which the sender has already reacted to marks
    std::uint32_t duplicates_ = 0;    // without SACK: segments that must have arrived, by duplicate acknowledgements
    bool must_send_ = false;          // the first segment of a recovery is sent whatever is in flight
    bool wants_feedback_ = false;     // the control is told of each acknowledgement
    bool paced_ = false;              // segments may be
    State state_ = State::closed;
    std::uint8_t backoff_ = 0;
    Time smoothed_ = 0; // SRTT of RFC 6298
    Time variation_ = 0;
    Time timeout_;
    Time deadline_ = never;
    Time paced_until_ = 0;
    RangeSet sacked_;
    std::unique_ptr<DeliveryRate> delivery_; // if the congestion control wants it
    TcpCounters counters_;
};

} // namespace kuijia::packet

#include "tcp_sender.hpp"

#include <algorithm>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t duplicate_threshold = 3; // DupThresh of RFC 6675
constexpr std::uint8_t most_backoff = 30;

CongestionControl control_of(const TcpRules &rules) {
    switch (rules.congestion) {
    case Congestion::cubic:
        return Cubic(rules.counting_limit);
    case Congestion::dctcp:
        return Dctcp(rules.counting_limit, rules.dctcp_gain, rules.dctcp_least_window);
    default:
        return Reno(rules.counting_limit);
    }
}

} // namespace

TcpSender::TcpSender(const TcpRules &rules, std::uint32_t segments)
    : rules_(&rules), control_(control_of(rules)), window_{rules.initial_window}, segments_(segments),
      timeout_(rules.first_timeout) {}

TcpSender::Next TcpSender::next(Time now) {
    if (state_ == State::closed) {
        state_ = rules_->handshake ? State::syn_sent : State::open;
        if (state_ == State::syn_sent) {
            restart_timer(now);
            return {Sends::syn, 0};
        }
    }
    if (state_ == State::syn_sent)
        return {Sends::nothing, 0};
    if (!must_send_ && in_flight() + 1 > window_.size) {
        // RFC 3168 section 6.1.2: marks have reduced the window below one segment; only the timer sends again.
        if (outstanding() == 0 && deadline_ == never && !finished())
            restart_timer(now);
        return {Sends::nothing, 0};
    }
    auto number = next_;
    if (resent_below_ < lost_below_) // NextSeg of RFC 6675, rule 1
        number = sacked_.first_missing(std::max(resent_below_, first_missing_));
    if (number < lost_below_ && number < next_) {
        resent_below_ = number + 1;
        ++counters_.retransmitted;
    } else if (next_ < segments_ && outstanding() < rules_->receive_window) { // rule 2
        number = next_++;
    } else { // rule 3
        number = sacked_.first_missing(std::max(resent_below_, first_missing_));
        if (state_ != State::recovery || number >= sacked_.end())
            return {Sends::nothing, 0};
        resent_below_ = number + 1;
        ++counters_.retransmitted;
    }
    must_send_ = false;
    ++counters_.sent;
    if (deadline_ == never)
        restart_timer(now);
    return {Sends::segment, number};
}

// Returns the pipe of RFC 6675: segments sent that have neither arrived nor been lost.
double TcpSender::in_flight() const {
    const auto gone = (rules_->sack ? sacked_.count() : duplicates_) + lost_and_not_resent();
    return outstanding() > gone ? outstanding() - gone : 0;
}

std::uint32_t TcpSender::lost_and_not_resent() const {
    const auto from = std::max(resent_below_, first_missing_);
    return from < lost_below_ ? lost_below_ - from - sacked_.count_within(from, lost_below_) : 0;
}

void TcpSender::syn_acknowledged(Time now, Time sent) {
    if (state_ != State::syn_sent)
        return;
    state_ = State::open;
    deadline_ = never;
    backoff_ = 0;
    measure(now - sent);
}

void TcpSender::acknowledged(const Packet &packet, Time now) {
    if (state_ == State::closed || state_ == State::syn_sent || packet.number < first_missing_ || packet.number > next_)
        return;
    const auto advanced = packet.number - first_missing_;
    const bool was_full = outstanding() + 1 > window_.size;
    first_missing_ = packet.number;
    if (advanced > 0) {
        measure(now - packet.sent);
        backoff_ = 0;
        outstanding() > 0 ? restart_timer(now) : void(deadline_ = never);
    }
    note_sacked(packet, advanced);
    std::visit([&](auto &control) { control.observe(first_missing_, advanced, packet.echo, next_); }, control_);

    if ((state_ == State::recovery || state_ == State::loss) && first_missing_ >= recovery_end_)
        state_ = State::open;
    if (state_ == State::reduced && first_missing_ > mark_end_)
        state_ = State::open;
    if (in_order() && lost_below_ > first_missing_)
        return recover(now);
    if (packet.echo)
        react_to_mark(now);
    // Only windows that limit the sender grow, and none within a round trip after a reduction for a mark.
    if (advanced > 0 && was_full && (state_ == State::open || state_ == State::loss))
        std::visit([&](auto &control) { control.grow(window_, advanced, {now, smoothed_}); }, control_);
}

void TcpSender::note_sacked(const Packet &packet, std::uint32_t advanced) {
    if (rules_->sack) {
        sacked_.remove_below(first_missing_);
        for (std::uint32_t block = 0; block < packet.blocks; ++block)
            sacked_.add({std::max(packet.sacked[block].begin, first_missing_), packet.sacked[block].end});
        if (sacked_.count() >= duplicate_threshold)
            lost_below_ = std::max(lost_below_, sacked_.from_top(duplicate_threshold - 1));
        return;
    }
    // RFC 6582: without SACK three duplicates indicate one loss, and a partial acknowledgement the next one.
    if (advanced == 0) {
        duplicates_ += outstanding() > duplicates_;
        const bool of_news = recovery_end_ == 0 || first_missing_ > recovery_end_;
        if (duplicates_ >= duplicate_threshold && in_order() && of_news)
            lost_below_ = first_missing_ + 1;
        return;
    }
    const bool partial = state_ == State::recovery && first_missing_ < recovery_end_;
    duplicates_ = partial && duplicates_ >= advanced ? duplicates_ + 1 - advanced : 0;
    if (partial)
        lost_below_ = std::max(lost_below_, first_missing_ + 1);
}

// RFC 6675 section 5 number 4.
void TcpSender::recover(Time now) {
    const auto in_flight = std::min<double>(outstanding(), window_.size);
    std::visit([&](auto &control) { control.lost(window_, in_flight, {now, smoothed_}); }, control_);
    state_ = State::recovery;
    recovery_end_ = next_;
    mark_end_ = next_;
    resent_below_ = first_missing_;
    must_send_ = true;
    ++counters_.recoveries;
}

// RFC 3168 section 6.1.2: reacts once per window, and not in addition to a loss.
void TcpSender::react_to_mark(Time now) {
    if (state_ != State::open || first_missing_ <= mark_end_)
        return;
    const auto in_flight = std::min<double>(outstanding(), window_.size);
    std::visit([&](auto &control) { control.marked(window_, in_flight, {now, smoothed_}); }, control_);
    mark_end_ = next_;
    state_ = State::reduced;
}

void TcpSender::timed_out(Time now) {
    deadline_ = never;
    backoff_ = std::min<std::uint8_t>(backoff_ + 1, most_backoff); // RFC 6298 number 5.5
    ++counters_.timeouts;
    if (state_ == State::syn_sent) {
        state_ = State::closed; // `next` opens again
        return;
    }
    if (backoff_ == 1) { // RFC 5681 section 3.1: the threshold falls once per segment, however often it times out
        const auto in_flight = std::min<double>(outstanding(), window_.size);
        std::visit([&](auto &control) { control.timed_out(window_, in_flight, {now, smoothed_}); }, control_);
    }
    window_.size = 1;
    state_ = State::loss;
    recovery_end_ = next_;
    mark_end_ = next_;
    lost_below_ = next_;
    resent_below_ = first_missing_;
    duplicates_ = 0;
}

// RFC 6298 section 2; timestamps (RFC 7323) distinguish segments from their retransmissions.
void TcpSender::measure(Time sample) {
    if (smoothed_ == 0) {
        smoothed_ = sample;
        variation_ = sample / 2;
    } else {
        const auto error = sample > smoothed_ ? sample - smoothed_ : smoothed_ - sample;
        variation_ += (error - variation_) / 4;
        smoothed_ += (sample - smoothed_) / 8;
    }
    timeout_ = std::clamp(smoothed_ + 4 * variation_, rules_->min_timeout, rules_->max_timeout);
}

void TcpSender::restart_timer(Time now) {
    const bool below_most = timeout_ < rules_->max_timeout >> backoff_;
    deadline_ = now + (below_most ? timeout_ << backoff_ : rules_->max_timeout);
}

} // namespace kuijia::packet

#include "tcp_sender.hpp"

#include <algorithm>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t duplicate_threshold = 3; // DupThresh of RFC 6675
constexpr std::uint8_t most_backoff = 30;

// Of controls that do not pace themselves: windows per round trip, as in Linux.
constexpr double pace_in_slow_start = 2;
constexpr double pace_after = 1.2;

} // namespace

TcpSender::TcpSender(const TcpRules &rules, std::uint32_t segments)
    : rules_(&rules), control_(control_of(rules)), window_{rules.initial_window}, segments_(segments),
      timeout_(rules.first_timeout) {
    std::visit(
        [&](const auto &control) {
            wants_feedback_ = control.wants_feedback;
            paced_ = control.paces || rules.paced;
            if (control.wants_rate)
                delivery_ = std::make_unique<DeliveryRate>();
        },
        control_);
}

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
    const bool was_idle = outstanding() == 0;
    const auto in_flight = this->in_flight();
    if (!must_send_ && in_flight + 1 > window_.size) {
        // RFC 3168 section 6.1.2: marks have reduced the window below one segment; only the timer sends again.
        if (outstanding() == 0 && deadline_ == never && !finished())
            restart_timer(now);
        return {Sends::nothing, 0};
    }
    auto number = next_;
    bool again = true;
    if (resent_below_ < lost_below_) // NextSeg of RFC 6675, rule 1
        number = sacked_.first_missing(std::max(resent_below_, first_missing_));
    if (number < lost_below_ && number < next_) {
        resent_below_ = number + 1;
        ++counters_.retransmitted;
    } else if (next_ < segments_ && outstanding() < rules_->receive_window) { // rule 2
        number = next_++;
        again = false;
    } else { // rule 3
        number = sacked_.first_missing(std::max(resent_below_, first_missing_));
        if (state_ != State::recovery || number >= sacked_.end()) {
            if (delivery_ && next_ == segments_)
                delivery_->limit_by_application(in_flight);
            return {Sends::nothing, 0};
        }
        resent_below_ = number + 1;
        ++counters_.retransmitted;
    }
    must_send_ = false;
    ++counters_.sent;
    note_sent(number, was_idle, now);
    if (deadline_ == never)
        restart_timer(now);
    return {Sends::segment, number, again};
}

double TcpSender::in_flight_of_some() const {
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

// Returns the segments per second at which to send, 0 for no limit.
double TcpSender::pace() const {
    const auto own = std::visit([&](const auto &control) { return control.pace(window_, smoothed_); }, control_);
    if (own > 0 || !rules_->paced || smoothed_ == 0)
        return own;
    return (window_.slow_start() ? pace_in_slow_start : pace_after) * window_.size / seconds(smoothed_);
}

void TcpSender::note_sent(std::uint32_t number, bool was_idle, Time now) {
    if (delivery_) {
        if (was_idle)
            std::visit([&](auto &control) { control.restarts(delivery_->app_limited()); }, control_);
        delivery_->sent(number, was_idle, now);
    }
    if (!paced_)
        return;
    if (const auto rate = pace(); rate > 0)
        paced_until_ = now + static_cast<Time>(std::min(second / rate, static_cast<double>(rules_->max_timeout)));
}

void TcpSender::acknowledged(const Packet &packet, Time now, Random &random) {
    if (state_ == State::closed || state_ == State::syn_sent || packet.number < first_missing_ || packet.number > next_)
        return;
    const auto advanced = packet.number - first_missing_;
    const bool was_full = outstanding() + 1 > window_.size;
    const bool was_used = outstanding() + 1 > rules_->grows_from * window_.size;
    const auto delivered_before = delivered();
    const auto in_flight_before = wants_feedback_ ? in_flight() : 0;
    if (delivery_)
        note_delivered({first_missing_, packet.number}, now);
    first_missing_ = packet.number;
    if (advanced > 0) {
        measure(now - packet.sent);
        backoff_ = 0;
        outstanding() > 0 ? restart_timer(now) : void(deadline_ = never);
    }
    note_sacked(packet, advanced, now);
    std::visit([&](auto &control) { control.observe(first_missing_, advanced, packet.echo, next_); }, control_);

    if ((state_ == State::recovery || state_ == State::loss) && first_missing_ >= recovery_end_) {
        state_ = State::open;
        std::visit([&](auto &control) { control.recovered(window_); }, control_);
    }
    if (state_ == State::reduced && first_missing_ > mark_end_)
        state_ = State::open;
    bool may_grow = false;
    if (in_order() && lost_below_ > first_missing_) {
        recover(now);
    } else {
        if (packet.echo)
            react_to_mark(now);
        // Only windows that are used grow, and none within a round trip after a reduction for a mark. A window can be
        // used and not full: a card that is full, or a pace, lets its segments leave later than it does.
        may_grow = advanced > 0 && was_used && (state_ == State::open || state_ == State::loss);
        if (may_grow)
            std::visit([&](auto &control) { control.grow(window_, advanced, {now, smoothed_}); }, control_);
    }
    const auto sample = now - packet.sent;
    if (!wants_feedback_ || delivered() <= delivered_before || sample <= 0)
        return;
    const double came = delivered() - delivered_before;
    Feedback feedback{now,
                      sample,
                      smoothed_ > 0 ? smoothed_ : sample,
                      first_missing_,
                      next_,
                      came,
                      std::max(0.0, in_flight_before - in_flight() - came),
                      in_flight(),
                      was_full,
                      in_order(),
                      may_grow,
                      {},
                      delivery_.get(),
                      random};
    if (delivery_) {
        delivery_->forget_below(first_missing_);
        feedback.rate = delivery_->sample(sample);
    }
    std::visit([&](auto &control) { control.acknowledged(window_, feedback); }, control_);
}

// Counts segments that had not been acknowledged selectively.
void TcpSender::note_delivered(Range segments, Time now) {
    for (auto number = sacked_.first_missing(segments.begin); number < segments.end;
         number = sacked_.first_missing(number + 1))
        delivery_->delivered(number, now);
}

void TcpSender::note_sacked(const Packet &packet, std::uint32_t advanced, Time now) {
    if (rules_->sack) {
        sacked_.remove_below(first_missing_);
        for (std::uint32_t block = 0; block < packet.blocks; ++block) {
            const Range segments{std::max(packet.sacked[block].begin, first_missing_), packet.sacked[block].end};
            if (delivery_)
                note_delivered(segments, now);
            sacked_.add(segments);
        }
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

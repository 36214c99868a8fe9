#include "transports/bbr.hpp"

namespace kuijia::packet {

namespace {

constexpr double high_gain = 2.885390081777927; // BBRHighGain = 2 / ln 2
constexpr Time bandwidth_rounds = 10;           // BtlBwFilterLen
constexpr double growing = 1.25;                // section 4.3.2.2: bandwidth that still grows
constexpr unsigned rounds_until_full = 3;       // section 4.3.2.2
constexpr double least_window = 4;              // BBRMinPipeCwnd
constexpr double quanta = 3;                    // section 4.2.3.2: three quanta of one segment
constexpr unsigned phases = 8;                  // BBRGainCycleLen

} // namespace

Bbr::Bbr(double initial_window, const BbrSetting &setting)
    : setting_(setting), initial_window_(initial_window), pacing_gain_(high_gain), window_gain_(high_gain) {}

// BBRInitPacingRate (section 4.2.1): without a round-trip time as if it were a millisecond.
double Bbr::first_pace(Time round_trip) const {
    const auto nominal = initial_window_ / (round_trip > 0 ? seconds(round_trip) : 1e-3);
    return (1 - setting_.pacing_margin) * high_gain * nominal;
}

// BBRUpdateOnACK (section 3.5.1).
void Bbr::acknowledged(Window &window, const Feedback &feedback) {
    if (!is_paced_) {
        pacing_rate_ = first_pace(feedback.smoothed);
        is_paced_ = true;
    }
    update_bandwidth(feedback);
    check_cycle_phase(feedback);
    check_full_pipe(feedback);
    check_drain(feedback);
    update_round_trip(window, feedback);
    set_pacing_rate(pacing_gain_);
    set_window(window, feedback);
}

// BBRUpdateRound and BBRUpdateBtlBw (sections 4.1.1.3 and 4.1.1.5).
void Bbr::update_bandwidth(const Feedback &feedback) {
    const auto &rate = feedback.rate;
    round_start_ = rate.known && rate.prior_delivered >= next_round_delivered_;
    if (round_start_) {
        next_round_delivered_ = feedback.delivery->total();
        ++round_count_;
        conserves_packets_ = false; // section 4.2.3.4: for one round trip
    }
    if (rate.rate > 0 && (rate.rate >= bandwidth() || !rate.app_limited))
        bandwidth_.add(round_count_, rate.rate, bandwidth_rounds);
}

// BBRInflight (section 4.2.3.2): the bandwidth-delay product times `gain`, and what batches need.
double Bbr::inflight(double gain) const {
    return round_trip_ == never ? initial_window_ : gain * bandwidth() * seconds(round_trip_) + quanta;
}

// BBRCheckCyclePhase and BBRIsNextCyclePhase (section 4.3.4.3).
void Bbr::check_cycle_phase(const Feedback &feedback) {
    if (state_ != State::probe_bandwidth)
        return;
    const auto before = feedback.in_flight + feedback.delivered + feedback.lost;
    const bool full_length = feedback.now - cycle_stamp_ > round_trip_;
    const bool next = pacing_gain_ > 1   ? full_length && (feedback.lost > 0 || before >= inflight(pacing_gain_))
                      : pacing_gain_ < 1 ? full_length || before <= inflight(1)
                                         : full_length;
    if (next)
        advance_cycle_phase(feedback.now);
}

void Bbr::advance_cycle_phase(Time now) {
    cycle_stamp_ = now;
    cycle_index_ = (cycle_index_ + 1) % phases;
    pacing_gain_ = cycle_index_ == 0 ? 1 + setting_.probing_gain : cycle_index_ == 1 ? 1 - setting_.probing_gain : 1;
}

// BBRCheckFullPipe (section 4.3.2.2): three rounds in which the bandwidth has not grown by a quarter.
void Bbr::check_full_pipe(const Feedback &feedback) {
    if (filled_pipe_ || !round_start_ || feedback.rate.app_limited)
        return;
    if (bandwidth() >= full_bandwidth_ * growing) {
        full_bandwidth_ = bandwidth();
        full_count_ = 0;
        return;
    }
    filled_pipe_ = ++full_count_ >= rounds_until_full;
}

// BBRCheckDrain (section 4.3.3).
void Bbr::check_drain(const Feedback &feedback) {
    if (state_ == State::startup && filled_pipe_) {
        state_ = State::drain;
        pacing_gain_ = 1 / high_gain;
        window_gain_ = high_gain;
    }
    if (state_ == State::drain && feedback.in_flight <= inflight(1))
        enter_probe_bandwidth(feedback);
}

// BBREnterStartup (section 4.3.2.1).
void Bbr::enter_startup() {
    state_ = State::startup;
    pacing_gain_ = window_gain_ = high_gain;
}

// BBREnterProbeBW (section 4.3.4.3): begins at any phase but that of draining.
void Bbr::enter_probe_bandwidth(const Feedback &feedback) {
    state_ = State::probe_bandwidth;
    window_gain_ = setting_.window_gain;
    cycle_index_ = static_cast<unsigned>(phases - 1 - feedback.random.below(phases - 1));
    advance_cycle_phase(feedback.now);
}

// BBRUpdateRTprop and BBRCheckProbeRTT (sections 4.1.2.3 and 4.3.5).
void Bbr::update_round_trip(Window &window, const Feedback &feedback) {
    const bool expired = feedback.now - round_trip_stamp_ > setting_.round_trip_window;
    if (feedback.sample <= round_trip_ || expired) {
        round_trip_ = feedback.sample;
        round_trip_stamp_ = feedback.now;
    }
    if (state_ != State::probe_round_trip && expired && !idle_restart_) {
        prior_window_ = saved(window);
        state_ = State::probe_round_trip;
        pacing_gain_ = window_gain_ = 1;
        probe_done_ = never;
    }
    if (state_ == State::probe_round_trip)
        handle_probe_round_trip(window, feedback);
    idle_restart_ = false;
}

// BBRHandleProbeRTT and BBRExitProbeRTT (section 4.3.5).
void Bbr::handle_probe_round_trip(Window &window, const Feedback &feedback) {
    feedback.delivery->limit_by_application(feedback.in_flight);
    if (probe_done_ == never) {
        if (feedback.in_flight > least_window)
            return;
        probe_done_ = feedback.now + setting_.probe;
        probe_round_done_ = false;
        next_round_delivered_ = feedback.delivery->total();
        return;
    }
    probe_round_done_ = probe_round_done_ || round_start_;
    if (!probe_round_done_ || feedback.now <= probe_done_)
        return;
    round_trip_stamp_ = feedback.now;
    window.size = std::max(window.size, prior_window_); // BBRRestoreCwnd
    if (filled_pipe_)
        enter_probe_bandwidth(feedback);
    else
        enter_startup();
}

// BBRHandleRestartFromIdle (section 4.3.4.4).
void Bbr::restarts(bool after_idling) {
    if (!after_idling)
        return;
    idle_restart_ = true;
    if (state_ == State::probe_bandwidth)
        set_pacing_rate(1);
}

// BBRSetPacingRateWithGain (section 4.2.1): falls only when the pipe has been filled. The margin is Linux's.
void Bbr::set_pacing_rate(double gain) {
    const auto rate = (1 - setting_.pacing_margin) * gain * bandwidth();
    if (rate > 0 && (filled_pipe_ || rate > pacing_rate_))
        pacing_rate_ = rate;
}

// BBRSetCwnd (section 4.2.3.6), with BBRModulateCwndForRecovery and BBRModulateCwndForProbeRTT.
void Bbr::set_window(Window &window, const Feedback &feedback) {
    const auto target = inflight(window_gain_);
    if (entering_recovery_) {
        window.size = feedback.in_flight + std::max(feedback.delivered, 1.0);
        next_round_delivered_ = feedback.delivery->total();
        entering_recovery_ = false;
    } else if (in_recovery_ && feedback.lost > 0) {
        window.size = std::max(window.size - feedback.lost, 1.0);
    }
    if (conserves_packets_) {
        window.size = std::max(window.size, feedback.in_flight + feedback.delivered);
    } else {
        if (filled_pipe_)
            window.size = std::min(window.size + feedback.delivered, target);
        else if (window.size < target || static_cast<double>(feedback.delivery->total()) < initial_window_)
            window.size += feedback.delivered;
        window.size = std::max(window.size, least_window);
    }
    if (state_ == State::probe_round_trip)
        window.size = std::min(window.size, least_window);
}

// BBRSaveCwnd (section 4.2.3.4).
double Bbr::saved(const Window &window) const {
    const bool disturbed = in_recovery_ || state_ == State::probe_round_trip;
    return disturbed ? std::max(prior_window_, window.size) : window.size;
}

// Section 4.2.3.4, upon entering fast recovery; the window follows in `set_window`.
void Bbr::lost(Window &window, double, const Moment &) {
    prior_window_ = saved(window);
    in_recovery_ = entering_recovery_ = conserves_packets_ = true;
    filled_pipe_ = filled_pipe_ || setting_.heeds_loss;
}

// Section 4.2.3.4, upon a retransmission timeout: the sender sets the window to one segment.
void Bbr::timed_out(Window &window, double, const Moment &) {
    prior_window_ = saved(window);
    in_recovery_ = true;
    conserves_packets_ = false;
}

void Bbr::recovered(Window &window) {
    if (!in_recovery_)
        return;
    in_recovery_ = conserves_packets_ = false;
    if (state_ != State::probe_round_trip)
        window.size = std::max(window.size, prior_window_); // BBRRestoreCwnd
}

} // namespace kuijia::packet

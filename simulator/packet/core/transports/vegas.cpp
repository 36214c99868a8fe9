#include "transports/vegas.hpp"

namespace kuijia::packet {

// Section III.A: the window decreases once for the losses at one window; `TcpSender` takes care of that. The paper does
// not say by how much. Its authors' implementation keeps three quarters (Hengartner et al., INFOCOM 2000), ns-3 all but
// one segment.
void Vegas::lost(Window &window, double, const Moment &) {
    window.size = std::max(std::min(window.size * setting_.keeps, window.size - 1), smallest_window);
    window.threshold = window.size;
    measuring_ = false;
}

// As Reno, which Vegas changes.
void Vegas::timed_out(Window &window, double in_flight, const Moment &) {
    window.threshold = std::max(in_flight / 2, smallest_window);
    measuring_ = holds_ = false;
}

void Vegas::acknowledged(Window &window, const Feedback &feedback) {
    base_ = std::min(base_, feedback.sample); // BaseRTT: the least of all round-trip times
    const bool round_is_over = !measuring_ || feedback.first_missing > measured_;
    if (feedback.in_order && round_is_over) {
        // Section III.B, once per round trip: Expected = window / BaseRTT, Actual = the segments sent between a
        // distinguished segment and its acknowledgement / its round-trip time. Diff = Expected - Actual; Diff * BaseRTT
        // segments wait. The paper takes the window to be what is in transit; here it is that, also where the sender
        // does not use its window.
        const auto sent = static_cast<double>(feedback.next - measured_);
        if (measuring_)
            adjust(window, sent, sent - sent * seconds(base_) / seconds(feedback.sample), feedback.may_grow);
        measuring_ = true;
        measured_ = feedback.next;
    }
    // Section III.C: exponential growth only every other round trip; in between the window stays, for a valid
    // comparison. Linux and ns-3 compare after each one, and do not hold the window.
    if (window.slow_start() && !holds_ && feedback.may_grow)
        slow_start(window, feedback.delivered, limit_);
}

void Vegas::adjust(Window &window, double sent, double waiting, bool may_grow) {
    if (window.slow_start()) {
        holds_ = setting_.alternates && !holds_;
        if (!holds_ && waiting > setting_.gamma) { // the round trip in which the window stayed is over
            // What waits leaves the network at once, as in Linux: the paper does not say how.
            window.size = std::max(std::min(window.size, sent - waiting + 1), smallest_window);
            window.threshold = window.size;
        }
        return;
    }
    if (waiting < setting_.alpha && may_grow)
        window.size += 1;
    else if (waiting > setting_.beta)
        window.size = std::max(window.size - 1, smallest_window);
    // Where Vegas has gone by itself is no threshold for slow start.
    window.threshold = std::min(window.threshold, window.size);
}

} // namespace kuijia::packet

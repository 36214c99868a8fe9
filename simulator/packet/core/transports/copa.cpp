#include "transports/copa.hpp"

namespace kuijia::packet {

namespace {

constexpr Time least_over = 10 * second;          // section 2.1: RTTmin over 10 s
constexpr std::uint32_t same_before_doubling = 3; // section 2.1: directions of round trips
constexpr Time most_over = 4;                     // section 2.2: RTTmax over four round trips
constexpr Time patient_for = 5;                   // section 2.2: a nearly empty queue every five round trips

} // namespace

// Section 2.2: in the competitive mode 1 / delta is halved; the default mode ignores losses.
void Copa::lost(Window &, double, const Moment &) {
    lost_ = true;
    if (competing_)
        patience_ = std::max(patience_ / 2, least_patience_);
}

// The paper has no timeout. The sender begins anew with one segment, as RFC 5681 demands, but only "when a flow starts"
// (section 2.1) by slow start.
void Copa::timed_out(Window &window, double in_flight, const Moment &moment) {
    lost(window, in_flight, moment);
    slow_start_ = false;
    velocity_ = 1;
    direction_ = Direction::none;
    same_ = 0;
}

void Copa::acknowledged(Window &window, const Feedback &feedback) {
    // Section 2.1 step 1. RTTstanding is over half a smoothed round trip: it hides what delays single acknowledgements.
    least_.add(feedback.now, feedback.sample, least_over);
    standing_.add(feedback.now, feedback.sample, feedback.smoothed / 2);
    const auto queueing = std::max<Time>(0, standing_.best() - least_.best());
    if (setting_.competes)
        choose_mode(feedback, queueing);

    // Steps 2 and 3: at most the target rate 1 / (delta dq) means the window grows, else it shrinks.
    const bool below_target = window.size * seconds(queueing) <= patience_ * seconds(standing_.best());
    if (slow_start_ && below_target) { // doubles every round trip until the target is exceeded
        if (feedback.was_full)
            window.size += feedback.delivered;
        return;
    }
    slow_start_ = false;
    update_velocity(window, feedback);
    // Not in the paper either, but in implementations (mvfst): a velocity serves one direction. With the paper's letter
    // a large one takes the window back as fast as it came, and the window swings ever more.
    const auto direction = below_target ? Direction::up : Direction::down;
    if (direction != direction_ && velocity_ > 1) {
        turn();
        same_ = 0;
        direction_ = direction;
        begun_with_ = window.size;
    }
    const auto step = velocity_ * patience_ * feedback.delivered / window.size;
    if (!below_target)
        window.size = std::max(window.size - step, smallest_window);
    else if (feedback.was_full)
        window.size += step;
}

// Step 4, once per window: the direction is that from the window when the segment was sent whose acknowledgement this
// is.
void Copa::update_velocity(const Window &window, const Feedback &feedback) {
    if (begun_with_ > 0 && feedback.now - feedback.sample < window_begun_)
        return;
    const auto direction = window.size > begun_with_ ? Direction::up : Direction::down;
    if (begun_with_ > 0) {
        same_ = direction == direction_ ? same_ + 1 : 0;
        // Not in the paper: no more than a window per round trip, as no sender could follow.
        if (same_ == 0) {
            turn();
        } else if (same_ >= same_before_doubling + setting_.cautious) {
            velocity_ = std::max(1.0, std::min(2 * velocity_, window.size / patience_));
            if (setting_.cautious)
                same_ = 0;
        }
        direction_ = direction;
    }
    begun_with_ = window.size;
    window_begun_ = feedback.now;
}

// Section 2.2: others that fill the buffer keep the queue from being nearly empty at least every five round trips.
void Copa::choose_mode(const Feedback &feedback, Time queueing) {
    most_.add(feedback.now, feedback.sample, most_over * std::min(feedback.smoothed, longest));
    if (empty_at_ == 0 || seconds(queueing) <= setting_.nearly_empty * seconds(most_.best() - least_.best()))
        empty_at_ = feedback.now;
    const bool competing = (feedback.now - empty_at_) / patient_for > feedback.smoothed;
    if (!competing) {
        competing_ = false;
        patience_ = least_patience_;
        return;
    }
    if (!competing_ || feedback.now - feedback.sample >= round_begun_) { // AIMD of 1 / delta, once per round trip
        patience_ += competing_ && !lost_;
        round_begun_ = feedback.now;
        lost_ = false;
    }
    competing_ = true;
}

// Section 2.1: two windows per RTTstanding, so that pacing does not limit the rate.
double Copa::pace(const Window &window, Time) const {
    return standing_.empty() || !setting_.paced ? 0 : 2 * window.size / seconds(standing_.best());
}

} // namespace kuijia::packet

#include "transports/congestion.hpp"

#include <cmath>

namespace kuijia::packet {

namespace {

double cube(double value) { return value * value * value; }

// Returns the cube root of a number that is not negative by Newton's iteration from above, which never rises. The
// library's result differs between machines in the last place.
double cube_root(double value) {
    if (value == 0)
        return 0;
    double root = std::max(value, 1.0);
    for (;;) {
        const double better = (2 * root + value / (root * root)) / 3;
        if (!(better < root))
            return root;
        root = better;
    }
}

} // namespace

double slow_start(Window &window, double acknowledged, double limit) {
    const double grown = std::min({acknowledged, limit, window.threshold - window.size});
    window.size += grown;
    return window.slow_start() ? 0 : std::max(0.0, acknowledged - grown);
}

void Reno::grow(Window &window, double acknowledged, const Moment &) {
    if (window.slow_start())
        slow_start(window, acknowledged, limit_);
    else
        window.size += std::min(acknowledged, limit_) / window.size;
}

void Reno::lost(Window &window, double in_flight, const Moment &) {
    // FlightSize counts segments that were sent: the whole ones for which the window had room. Those beyond were sent
    // by limited transmit and are not counted (RFC 5681 section 3.2 step 2).
    window.threshold = std::max(std::floor(in_flight) / 2, smallest_window);
    window.size = window.threshold;
}

void Cubic::begin_epoch(const Window &window, Time now) {
    epoch_ = now;
    reno_ = window.size;
    if (timed_out_ || most_ < window.size) { // section 4.8; or no loss yet, or slow start passed the old maximum
        most_ = window.size;
        plateau_ = 0;
    } else {
        plateau_ = cube_root((most_ - window.size) / scale); // equation 2
    }
    timed_out_ = false;
}

void Cubic::grow(Window &window, double acknowledged, const Moment &moment) {
    if (window.slow_start()) {
        acknowledged = slow_start(window, acknowledged, limit_);
        if (acknowledged == 0)
            return;
    }
    if (epoch_ == never)
        begin_epoch(window, moment.now);
    const double since = seconds(moment.now - epoch_);
    // Section 4.3, equation 4: the window that Reno would have by now; above the old window it grows as fast as Reno's.
    const double alpha = reno_ < before_ ? 3 * (1 - beta_) / (1 + beta_) : 1;
    reno_ += alpha * acknowledged / window.size;
    if (scale * cube(since - plateau_) + most_ < reno_) {
        window.size = std::max(window.size, reno_);
        return;
    }
    // Sections 4.2, 4.4 and 4.5: the value of the curve one round trip from now, at most 1.5 windows.
    const double ahead = scale * cube(since + seconds(moment.round_trip) - plateau_) + most_;
    const double target = std::clamp(ahead, window.size, 1.5 * window.size);
    window.size += (target - window.size) / window.size * acknowledged;
}

void Cubic::lost(Window &window, double in_flight, const Moment &) {
    before_ = window.size;
    // Section 4.7: a flow that did not regain its old maximum gives way.
    most_ = fast_convergence_ && window.size < most_ ? window.size * (1 + beta_) / 2 : window.size;
    // Section 4.6 permits cwnd for FlightSize if, as here, windows that do not limit the sender do not grow.
    window.threshold = std::max(std::min(in_flight, window.size) * beta_, smallest_window);
    window.size = window.threshold;
    epoch_ = never;
}

void Cubic::timed_out(Window &window, double in_flight, const Moment &moment) {
    lost(window, in_flight, moment);
    timed_out_ = true;
}

void Dctcp::observe(std::uint32_t first_missing, std::uint32_t acknowledged, bool were_marked, std::uint32_t next) {
    acknowledged_ += acknowledged;
    marked_ += were_marked ? acknowledged : 0;
    if (first_missing <= window_end_)
        return;
    if (acknowledged_ > 0)
        alpha_ = (1 - gain_) * alpha_ + gain_ * static_cast<double>(marked_) / static_cast<double>(acknowledged_);
    acknowledged_ = marked_ = 0;
    window_end_ = next;
}

} // namespace kuijia::packet

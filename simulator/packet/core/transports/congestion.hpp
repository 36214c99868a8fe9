// Congestion controls that go by losses and marks, and what every control is told.
//
// Windows are in segments. The sender counts losses and marks within one window once.
#pragma once

#include "random.hpp"
#include "transports/delivery_rate.hpp"
#include "units.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace kuijia::packet {

struct Window {
    double size;
    double threshold = std::numeric_limits<double>::infinity(); // of slow start

    bool slow_start() const { return size < threshold; }
};

// The sender's state when it acts on acknowledgements.
struct Moment {
    Time now;
    Time round_trip; // smoothed; 0 if not yet measured
};

// All that one acknowledgement tells, for controls that go by delay or by the rate of delivery.
struct Feedback {
    Time now;
    Time sample;                 // its round-trip time, above 0
    Time smoothed;               // the smoothed round-trip time, above 0
    std::uint32_t first_missing; // SND.UNA
    std::uint32_t next;          // SND.NXT
    double delivered;            // segments that it reports for the first time, cumulatively or selectively
    double lost;                 // segments that were found lost by it
    double in_flight;            // after it: the pipe of RFC 6675
    bool was_full;               // before it, the window let nothing more be sent
    bool in_order;               // no recovery is under way
    bool may_grow;               // `grow` was called, as for controls that go by losses
    RateSample rate;
    DeliveryRate *delivery; // of the connection; null unless the control wants it
    Random &random;
};

// A control that does nothing and does not pace segments: each says where it differs.
struct Control {
    static constexpr bool wants_rate = false;     // DeliveryRate is kept for it
    static constexpr bool wants_feedback = false; // `acknowledged` is called
    static constexpr bool paces = false;          // `pace` is called

    void grow(Window &, double, const Moment &) {}
    void lost(Window &, double, const Moment &) {}
    void marked(Window &, double, const Moment &) {}
    void timed_out(Window &, double, const Moment &) {}
    void observe(std::uint32_t, std::uint32_t, bool, std::uint32_t) {}

    // After every acknowledgement that delivers something, and after `lost` if it has caused a recovery.
    void acknowledged(Window &, const Feedback &) {}
    // All that was outstanding when a recovery began has been acknowledged.
    void recovered(Window &) {}
    // A segment is about to be sent while nothing is outstanding.
    void restarts(bool /*after_idling*/) {}
    // Segments per second; 0 if the control does not pace. The smoothed round-trip time is 0 if not yet measured.
    double pace(const Window &, Time /*smoothed*/) const { return 0; }
};

inline constexpr double smallest_window = 2; // after a loss, in segments (RFC 5681 equation 4)

// Slow start of RFC 5681 section 3.1 with appropriate byte counting (RFC 3465): the window grows by the acknowledged
// segments, at most `limit` for one acknowledgement. Returns the acknowledged segments left when the threshold is
// reached.
double slow_start(Window &window, double acknowledged, double limit);

// RFC 5681 section 3.1, as used by NewReno (RFC 6582) and SACK (RFC 6675).
class Reno : public Control {
  public:
    explicit Reno(double limit) : limit_(limit) {}

    void grow(Window &window, double acknowledged, const Moment &moment);
    void lost(Window &window, double in_flight, const Moment &moment);
    void marked(Window &window, double in_flight, const Moment &moment) { lost(window, in_flight, moment); }
    void timed_out(Window &window, double in_flight, const Moment &moment) { lost(window, in_flight, moment); }

  private:
    double limit_;
};

// RFC 9438, without the HyStart++ that it recommends.
class Cubic : public Control {
  public:
    Cubic(double limit, double keeps, bool fast_convergence)
        : limit_(limit), beta_(keeps), fast_convergence_(fast_convergence) {}

    void grow(Window &window, double acknowledged, const Moment &moment);
    void lost(Window &window, double in_flight, const Moment &moment);
    void marked(Window &window, double in_flight, const Moment &moment) { lost(window, in_flight, moment); }
    void timed_out(Window &window, double in_flight, const Moment &moment);

  private:
    void begin_epoch(const Window &window, Time now);

    static constexpr double scale = 0.4; // C of section 5

    double limit_;
    double beta_; // section 4.6
    bool fast_convergence_;
    double most_ = 0;    // W_max
    double before_ = 0;  // cwnd_prior
    double plateau_ = 0; // K, seconds
    double reno_ = 0;    // W_est
    Time epoch_ = never; // when this congestion avoidance began; `never` if it has not
    bool timed_out_ = false;
};

// RFC 8257; reacts to losses as Reno does.
class Dctcp : public Control {
  public:
    Dctcp(double limit, double gain, double least) : reno_(limit), gain_(gain), least_(least) {}

    void grow(Window &window, double acknowledged, const Moment &moment) { reno_.grow(window, acknowledged, moment); }
    void lost(Window &window, double in_flight, const Moment &moment) { reno_.lost(window, in_flight, moment); }
    void timed_out(Window &window, double in_flight, const Moment &moment) { lost(window, in_flight, moment); }

    // Section 3.3 number 9, which specifies no least window.
    void marked(Window &window, double, const Moment &) {
        window.size = std::max(window.size * (1 - alpha_ / 2), least_);
        window.threshold = window.size;
    }

    // Section 3.3 numbers 4 to 8: `acknowledged` segments up to `first_missing`, all marked or none; `next` is the next
    // segment to send.
    void observe(std::uint32_t first_missing, std::uint32_t acknowledged, bool were_marked, std::uint32_t next);

  private:
    Reno reno_;
    double gain_;
    double least_;
    double alpha_ = 1;
    std::uint32_t window_end_ = 0;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t marked_ = 0;
};

} // namespace kuijia::packet

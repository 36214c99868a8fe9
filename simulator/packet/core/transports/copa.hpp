// Copa (Arun and Balakrishnan, NSDI 2018): a rate of 1 / (delta * queueing delay) segments per second.
#pragma once

#include "transports/congestion.hpp"
#include "transports/windowed_extreme.hpp"

#include <functional>

namespace kuijia::packet {

class Copa : public Control {
  public:
    // Without `competes` it stays in the default mode.
    Copa(double delta, bool competes) : least_patience_(1 / delta), patience_(1 / delta), competes_(competes) {}

    void lost(Window &window, double in_flight, const Moment &moment);
    void timed_out(Window &window, double in_flight, const Moment &moment);
    void acknowledged(Window &window, const Feedback &feedback);
    double pace(const Window &window) const;

  private:
    void choose_mode(const Feedback &feedback, Time queueing);
    void update_velocity(const Window &window, const Feedback &feedback);

    enum class Direction : std::uint8_t { none, up, down };

    double least_patience_; // 1 / delta of the default mode
    double patience_;       // 1 / delta
    bool competes_;
    bool competing_ = false;
    bool slow_start_ = true;
    bool lost_ = false; // since the last round trip of the competitive mode ended

    WindowedExtreme<Time, std::less<>> least_;    // RTTmin
    WindowedExtreme<Time, std::less<>> standing_; // RTTstanding
    WindowedExtreme<Time, std::greater<>> most_;  // RTTmax
    Time empty_at_ = 0;                           // when the queue was nearly empty for the last time
    Time round_begun_ = 0;                        // of the competitive mode

    double velocity_ = 1;
    Direction direction_ = Direction::none;
    std::uint32_t same_ = 0; // windows in which the direction has stayed
    Time window_begun_ = 0;  // when `begun_with_` was the window
    double begun_with_ = 0;
};

} // namespace kuijia::packet

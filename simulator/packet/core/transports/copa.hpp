// Copa (Arun and Balakrishnan, NSDI 2018): a rate of 1 / (delta * queueing delay) segments per second.
#pragma once

#include "transports/congestion.hpp"
#include "transports/windowed_extreme.hpp"

#include <functional>

namespace kuijia::packet {

struct CopaSetting {
    double delta;        // of the default mode
    bool competes;       // false: it stays in the default mode
    double nearly_empty; // share of RTTmax - RTTmin up to which the queue counts as nearly empty
    bool cautious;       // the velocity changes less often and less
    bool paced;
};

class Copa : public Control {
  public:
    static constexpr bool wants_feedback = true;
    static constexpr bool paces = true;

    explicit Copa(const CopaSetting &setting)
        : setting_(setting), least_patience_(1 / setting.delta), patience_(1 / setting.delta) {}

    void lost(Window &window, double in_flight, const Moment &moment);
    void timed_out(Window &window, double in_flight, const Moment &moment);
    void acknowledged(Window &window, const Feedback &feedback);
    double pace(const Window &window, Time smoothed) const;

  private:
    void choose_mode(const Feedback &feedback, Time queueing);
    void update_velocity(const Window &window, const Feedback &feedback);
    void turn() { velocity_ = setting_.cautious ? std::max(1.0, velocity_ / 2) : 1; }

    enum class Direction : std::uint8_t { none, up, down };

    CopaSetting setting_;
    double least_patience_; // 1 / delta of the default mode
    double patience_;       // 1 / delta
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

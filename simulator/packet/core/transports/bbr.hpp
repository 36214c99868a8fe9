// BBR version 1: sends at the largest rate of delivery, with two bandwidth-delay products in flight at most.
//
// By draft-cardwell-iccrg-bbr-congestion-control-00, whose names stand in the comments. Segments leave one by one, so
// that BBR.send_quantum is one segment.
#pragma once

#include "transports/congestion.hpp"
#include "transports/windowed_extreme.hpp"

#include <functional>

namespace kuijia::packet {

struct BbrSetting {
    double window_gain;     // BBR.cwnd_gain in ProbeBW
    Time round_trip_window; // RTpropFilterLen
    Time probe;             // ProbeRTTDuration
    double probing_gain;    // by how much pacing_gain differs from 1 in the first two phases of ProbeBW
    double pacing_margin;   // share by which segments are paced below the rate
    bool heeds_loss;        // a loss ends Startup, as in version 2
};

class Bbr : public Control {
  public:
    static constexpr bool wants_rate = true;
    static constexpr bool wants_feedback = true;
    static constexpr bool paces = true;

    Bbr(double initial_window, const BbrSetting &setting);

    void lost(Window &window, double in_flight, const Moment &moment);
    void timed_out(Window &window, double in_flight, const Moment &moment);
    void recovered(Window &window);
    void acknowledged(Window &window, const Feedback &feedback);
    void restarts(bool after_idling);
    double pace(const Window &, Time smoothed) const { return is_paced_ ? pacing_rate_ : first_pace(smoothed); }

  private:
    enum class State : std::uint8_t { startup, drain, probe_bandwidth, probe_round_trip };

    double first_pace(Time round_trip) const;
    double inflight(double gain) const;
    double bandwidth() const { return bandwidth_.empty() ? 0 : bandwidth_.best(); }
    void update_bandwidth(const Feedback &feedback);
    void check_cycle_phase(const Feedback &feedback);
    void advance_cycle_phase(Time now);
    void check_full_pipe(const Feedback &feedback);
    void check_drain(const Feedback &feedback);
    void update_round_trip(Window &window, const Feedback &feedback);
    void handle_probe_round_trip(Window &window, const Feedback &feedback);
    void enter_startup();
    void enter_probe_bandwidth(const Feedback &feedback);
    void set_pacing_rate(double gain);
    void set_window(Window &window, const Feedback &feedback);
    double saved(const Window &window) const;

    BbrSetting setting_;
    double initial_window_;
    State state_ = State::startup;
    double pacing_gain_;
    double window_gain_;
    double pacing_rate_ = 0; // segments per second; while `is_paced_`
    bool is_paced_ = false;

    WindowedExtreme<double, std::greater<>> bandwidth_; // BBR.BtlBwFilter, over rounds
    std::uint64_t next_round_delivered_ = 0;
    Time round_count_ = 0;
    bool round_start_ = false;

    bool filled_pipe_ = false;
    double full_bandwidth_ = 0;
    unsigned full_count_ = 0;

    Time cycle_stamp_ = 0;
    unsigned cycle_index_ = 0;

    Time round_trip_ = never; // BBR.RTprop
    Time round_trip_stamp_ = 0;
    Time probe_done_ = never; // BBR.probe_rtt_done_stamp; never for 0
    bool probe_round_done_ = false;
    bool idle_restart_ = false;

    double prior_window_ = 0;
    bool in_recovery_ = false;
    bool entering_recovery_ = false; // this acknowledgement has caused it
    bool conserves_packets_ = false;
};

} // namespace kuijia::packet

// Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995): a few segments of each flow wait in the network, no more, no
// less.
//
// Its finer retransmission timer is left out: recovery is TCP's.
#pragma once

#include "transports/congestion.hpp"

namespace kuijia::packet {

struct VegasSetting {
    double alpha;    // segments that should wait at least
    double beta;     // and at most
    double gamma;    // segments that wait when slow start ends
    double keeps;    // share of the window after a loss
    bool alternates; // slow start holds the window in every other round trip
};

class Vegas : public Control {
  public:
    static constexpr bool wants_feedback = true;

    Vegas(double limit, const VegasSetting &setting) : limit_(limit), setting_(setting) {}

    void lost(Window &window, double in_flight, const Moment &moment);
    void marked(Window &window, double in_flight, const Moment &moment) { lost(window, in_flight, moment); }
    void timed_out(Window &window, double in_flight, const Moment &moment);
    void acknowledged(Window &window, const Feedback &feedback);

  private:
    void adjust(Window &window, double sent, double waiting, bool may_grow);

    double limit_;
    VegasSetting setting_;
    Time base_ = never;          // BaseRTT
    std::uint32_t measured_ = 0; // the distinguished segment; while `measuring_`
    bool measuring_ = false;
    bool holds_ = false; // slow start: the window stays for this round trip
};

} // namespace kuijia::packet

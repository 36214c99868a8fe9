#include "transports/congestion_control.hpp"

namespace kuijia::packet {

CongestionControl control_of(const TcpRules &rules) {
    switch (rules.congestion) {
    case Congestion::cubic:
        return Cubic(rules.counting_limit, rules.cubic_keeps, rules.cubic_fast_convergence);
    case Congestion::dctcp:
        return Dctcp(rules.counting_limit, rules.dctcp_gain, rules.dctcp_least_window);
    case Congestion::vegas:
        return Vegas(rules.counting_limit, {rules.vegas_alpha, rules.vegas_beta, rules.vegas_gamma, rules.vegas_keeps,
                                            rules.vegas_alternates});
    case Congestion::copa:
        return Copa(
            {rules.copa_delta, rules.copa_competes, rules.copa_nearly_empty, rules.copa_cautious, rules.copa_paced});
    case Congestion::bbr:
        return Bbr(rules.initial_window, {rules.bbr_window_gain, rules.bbr_round_trip_window, rules.bbr_probe,
                                          rules.bbr_probing_gain, rules.bbr_pacing_margin, rules.bbr_heeds_loss});
    default:
        return Reno(rules.counting_limit);
    }
}

} // namespace kuijia::packet

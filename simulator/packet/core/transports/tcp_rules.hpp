// The parameters of TCP.
#pragma once

#include "fields.hpp"
#include "transports/transport.hpp"

#include <array>
#include <limits>
#include <memory>

namespace kuijia::packet {

enum class Congestion : std::uint8_t { new_reno, cubic, dctcp, vegas, copa, bbr };

template <> struct Names<Congestion> {
    static constexpr std::array all{"NEW_RENO", "CUBIC", "DCTCP", "VEGAS", "COPA", "BBR"};
};

struct TcpRules {
    static constexpr const char *name = "Tcp";
    static constexpr bool datagrams = false;
    static constexpr unsigned timers = 2;

    Congestion congestion = Congestion::cubic;
    bool sack = true;
    std::optional<bool> ecn; // data is ECN-capable; by default with DCTCP only
    bool handshake = false;
    std::uint32_t payload = 1460;            // bytes in a full segment
    std::uint32_t header = 40;               // bytes of all headers; an acknowledgement without SACK blocks has no more
    double initial_window = 10;              // segments
    std::uint32_t receive_window = 1u << 31; // segments
    double counting_limit = 2;               // L of RFC 3465
    double grows_from = 1;                   // part of the window that must be in use for it to grow
    double cubic_keeps = 0.7;                // share of the window after a loss, beta of RFC 9438
    bool cubic_fast_convergence = true;      // RFC 9438 section 4.7
    double dctcp_gain = 0.0625;              // g of RFC 8257
    double dctcp_least_window = 2;           // segments after a mark
    double vegas_alpha = 2;                  // segments that should wait at least
    double vegas_beta = 4;                   // and at most
    double vegas_gamma = 1;                  // segments that wait when slow start ends
    double vegas_keeps = 0.75;               // share of the window after a loss
    bool vegas_alternates = true;            // slow start grows in every other round trip only
    double copa_delta = 0.5;                 // of the default mode
    bool copa_competes = true;               // with flows that fill the buffer
    double copa_nearly_empty = 0.1;          // share of the swing of the delay
    bool copa_cautious = false;              // its velocity changes less often and less
    bool copa_paced = true;
    double bbr_window_gain = 2; // bandwidth-delay products in flight
    Time bbr_round_trip_window = 10 * second;
    Time bbr_probe = second / 5;    // of the round-trip time
    double bbr_probing_gain = 0.25; // share by which it sends more, then less, when it probes for bandwidth
    double bbr_pacing_margin = 0.01;
    bool bbr_heeds_loss = false; // a loss ends its start-up
    bool paced = false;          // the segments of all; those of Copa and BBR are in any case
    Time first_timeout = second;
    Time min_timeout = second / 5;
    Time max_timeout = 60 * second;
    std::uint32_t nic_packets = 8; // most packets in the host's card, 0 for no limit
    std::uint32_t ack_every = 1;   // in-order segments per acknowledgement
    Time ack_delay = second / 25;
    bool prior_acks = false;              // acknowledgements have level 0
    Time resequencing = 0;                // longest time that segments out of order are held back, 0 if they are not
    bool resequencing_stays = false;      // at a gap that was not filled in time, as Hermes' public simulation
    Time in_order_hold = 0;               // the same for those in order, to pass several on at once
    std::uint32_t in_order_packets = 100; // that are passed on at once in any case

    static auto fields() {
        using Of = TcpRules;
        constexpr auto most = std::numeric_limits<std::uint32_t>::max();
        constexpr auto segments = "must be between 1 and 10^6 segments";
        return std::tuple{
            plain("congestion", &Of::congestion),
            plain("sack", &Of::sack),
            plain("ecn", &Of::ecn),
            plain("handshake", &Of::handshake),
            number("payload", &Of::payload, 1, largest_packet / 2, "must be between 1 and 2^19 bytes"),
            number("header", &Of::header, 1, largest_packet / 4, "must be between 1 and 2^18 bytes"),
            number("initial_window", &Of::initial_window, 1, 1e6, segments),
            number("receive_window", &Of::receive_window, 1, most, "must be at least 1 segment"),
            number("counting_limit", &Of::counting_limit, 1, 1e6, segments),
            number("grows_from", &Of::grows_from, 0, 1, "must be between 0 and 1"),
            number("cubic_keeps", &Of::cubic_keeps, above_zero, 0.99, "must be above 0 and at most 0.99"),
            plain("cubic_fast_convergence", &Of::cubic_fast_convergence),
            number("dctcp_gain", &Of::dctcp_gain, above_zero, 1, "must be above 0 and at most 1"),
            number("dctcp_least_window", &Of::dctcp_least_window, 0, 1e6, "must be between 0 and 10^6 segments"),
            number("vegas_alpha", &Of::vegas_alpha, 0, 1e6, "must be between 0 and 10^6 segments"),
            number("vegas_beta", &Of::vegas_beta, 0, 1e6, "must be between 0 and 10^6 segments"),
            number("vegas_gamma", &Of::vegas_gamma, 0, 1e6, "must be between 0 and 10^6 segments"),
            number("vegas_keeps", &Of::vegas_keeps, 0, 1, "must be between 0 and 1"),
            plain("vegas_alternates", &Of::vegas_alternates),
            number("copa_delta", &Of::copa_delta, 1e-6, 1e6, "must be between 10^-6 and 10^6"),
            plain("copa_competes", &Of::copa_competes),
            number("copa_nearly_empty", &Of::copa_nearly_empty, 0, 1, "must be between 0 and 1"),
            plain("copa_cautious", &Of::copa_cautious),
            plain("copa_paced", &Of::copa_paced),
            number("bbr_window_gain", &Of::bbr_window_gain, 1, 1e3, "must be between 1 and 1000"),
            duration("bbr_round_trip_window", &Of::bbr_round_trip_window, 1),
            duration("bbr_probe", &Of::bbr_probe),
            number("bbr_probing_gain", &Of::bbr_probing_gain, 0, 0.99, "must be between 0 and 0.99"),
            plain("bbr_heeds_loss", &Of::bbr_heeds_loss),
            number("bbr_pacing_margin", &Of::bbr_pacing_margin, 0, 0.99, "must be between 0 and 0.99"),
            plain("paced", &Of::paced),
            duration("first_timeout", &Of::first_timeout, 1),
            duration("min_timeout", &Of::min_timeout, 1),
            duration("max_timeout", &Of::max_timeout, 1),
            number("nic_packets", &Of::nic_packets, 0, 1 << 16, "must be at most 2^16"),
            number("ack_every", &Of::ack_every, 1, most, "must be at least 1 segment"),
            duration("ack_delay", &Of::ack_delay, 1),
            plain("prior_acks", &Of::prior_acks),
            duration("resequencing", &Of::resequencing),
            plain("resequencing_stays", &Of::resequencing_stays),
            duration("in_order_hold", &Of::in_order_hold),
            number("in_order_packets", &Of::in_order_packets, 1, most, "must be at least 1"),
        };
    }
    const char *fault() const {
        if (first_timeout > max_timeout || min_timeout > max_timeout)
            return "first_timeout and min_timeout must be at most max_timeout";
        if (congestion == Congestion::bbr && !sack)
            return "BBR needs sack: without it acknowledgements do not tell which segments were delivered";
        return vegas_alpha <= vegas_beta ? nullptr : "vegas_alpha must be at most vegas_beta";
    }

    bool draws() const { return congestion == Congestion::bbr; }
    bool ecn_capable() const { return ecn.value_or(congestion == Congestion::dctcp); }
    std::uint64_t packets(std::uint64_t bytes) const { return packets_of(bytes, payload); }
    std::unique_ptr<Transport> transport(const FlowRules &flow) const;
};

} // namespace kuijia::packet

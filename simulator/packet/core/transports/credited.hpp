// The common part of transports by credits: data that leaves when a credit says so, its recovery, and the early start.
//
// Recovery: the receiver answers data that arrives behind a gap, data that was sent without a credit (Aeolus, section
// 3.3), and probes. A probe follows the last data, and comes again when the receiver has been silent for long; since it
// is as long in queues as data is, its answer tells what was lost. Lost segments need new credits. With `go_back` the
// receiver keeps no data behind a gap but what was sent without credits: it asks for all of it again, once, and again
// where data still comes behind the gap after `timeout`, as ExpressPass's public code does.
//
// Packets have these levels, whatever their flow's: 0 for what must not be lost, 1 for what is limited in its rate
// (emulation packets, ExpressPass's credits), 2 for data and probes.
#pragma once

#include "fields.hpp"
#include "transports/segments.hpp"
#include "transports/transport.hpp"

#include <algorithm>
#include <cmath>

namespace kuijia::packet {

struct CreditedRules {
    static constexpr bool datagrams = false;
    static constexpr unsigned timers = 2;

    std::uint32_t payload = 1460;      // bytes in a full segment
    std::uint32_t header = 78;         // bytes of all headers, preamble and gap of a data packet
    std::uint32_t control = 84;        // bytes of every other packet
    double share = 84.0 / (84 + 1538); // of a link's rate that emulation packets or credits may take
    bool early = false;                // data without credits until the first of them comes
    std::uint32_t early_limit = 0;     // most segments of these, 0 for no limit
    Time timeout = second / 5;         // of silence until a probe is sent, at least two round trips
    bool go_back = false;              // after a loss everything is sent again

    template <typename Of> static auto common_fields() {
        constexpr auto most = std::numeric_limits<std::uint32_t>::max();
        return std::tuple{
            number("payload", &Of::payload, 1, largest_packet / 2, "must be between 1 and 2^19 bytes"),
            number("header", &Of::header, 1, largest_packet / 4, "must be between 1 and 2^18 bytes"),
            number("control", &Of::control, 1, largest_packet / 4, "must be between 1 and 2^18 bytes"),
            number("share", &Of::share, above_zero, 1, "must be above 0 and at most 1"),
            plain("early", &Of::early),
            number("early_limit", &Of::early_limit, 0, most, "must be at least 0 segments"),
            duration("timeout", &Of::timeout, 1),
            plain("go_back", &Of::go_back),
        };
    }

    std::uint64_t packets(std::uint64_t bytes) const { return packets_of(bytes, payload); }
};

// Returns the time of so many bytes at a rate of bit/s.
inline Time time_of(double bytes, double rate) {
    return static_cast<Time>(std::clamp(std::ceil(bytes * 8e12 / rate), 1.0, static_cast<double>(longest)));
}

class Credited : public Transport {
  public:
    enum Level : std::uint8_t { of_control, of_credits, of_data };

    Credited(const CreditedRules &rules, const FlowRules &flow);

    void start(Host &host) override;
    void receive(Host &host, const Packet &packet) override;
    void wake(Host &host, unsigned timer) override;
    TransportCounters counters() const override;

  protected:
    enum Timer : unsigned { of_sender, of_receiver };

    // The sender: it has begun, credits have come, its time has come, the receiver is silent.
    virtual void begin(Host &host) = 0;
    virtual void take_credits(Host &host, const Packet &packet) = 0;
    virtual void send_due(Host &host) = 0;
    virtual Time sender_deadline() const = 0;
    virtual void fell_silent(Host &) {}

    // The receiver: a packet asks for credits, data that a credit let go has come, its time has come.
    virtual void answer(Host &host, const Packet &packet) = 0;
    virtual void credited_data(Host &, const Packet &) {}
    virtual void answer_due(Host &host) = 0;
    virtual Time receiver_deadline() const = 0;

    // Makes a small packet.
    Host::Outgoing small(Host &host, Way way, Kind kind, Level level, std::uint32_t size) const;

    // Sends the next segment with a credit, which the packet carries back if there is one; returns false if there is
    // none to send.
    bool send_with_credit(Host &host, const Packet *credit);

    // Returns for how many segments there should be credits: those that wait to be sent, and those sent without a
    // credit of which nothing is known yet, as many of them may be lost.
    std::uint32_t demand() const { return segments_.waiting() + segments_.unknown(early_sent_); }
    void note_round_trip(Time sample) { round_trip_ = round_trip_ == 0 ? sample : (4 * round_trip_ + sample) / 5; }
    bool arrived_all() const { return arrived_.finished(); }
    std::uint32_t missing() const { return arrived_.missing(); }

    SentSegments segments_;
    std::uint32_t offered_ = 0;
    std::uint32_t credits_ = 0;
    std::uint32_t unused_ = 0;
    Time round_trip_ = 0;

  private:
    void go(Host &host);
    void take_data(Host &host, const Packet &packet);
    void ask_again(Host &host);
    void answer_probe(Host &host, const Packet &packet);
    void acknowledge(Host &host, Kind kind, std::uint32_t number, const Range *blocks, std::uint8_t count) const;
    void send(Host &host, std::uint32_t number, bool scheduled, const Packet *credit);
    void send_early(Host &host);
    void end_early(Host &host);
    void send_probe(Host &host);
    void heard(Host &host);

    const CreditedRules &rules_;
    std::uint32_t last_; // bytes of payload in the last segment
    ArrivedSegments arrived_;
    std::uint64_t goodput_ = 0;
    Time asked_again_ = never; // for the first missing segment
    std::uint32_t early_sent_ = 0;
    bool is_early_;
    bool is_probed_ = true; // nothing was sent since the last probe
    bool complete_ = false;
    bool finished_ = false;
    std::uint8_t backoff_ = 0;
    std::uint32_t timeouts_ = 0;
    std::uint32_t probe_ = 0; // what was sent before the last probe
    Time probe_sent_ = never;
    Time next_early_ = 0;
    Time patience_ = 0; // when the silence has been too long
};

} // namespace kuijia::packet

// ExpressPass (Cho, Jang and Han, SIGCOMM 2017): the receiver sends credits, which compete for a share of the links on
// the way back, and each that arrives lets one data packet go. Paths there and back must have the same switches.
//
// With `as_code` the receiver's rate follows the authors' public code for ns-2 instead of Algorithm 1; what else
// differs there are parameters. Where the paper is silent: a sender with lost segments asks for credits again, and the
// rate stays at a credit per round trip at least.
#pragma once

#include "transports/credited.hpp"

#include <memory>

namespace kuijia::packet {

struct ExpressPassRules : CreditedRules {
    static constexpr const char *name = "ExpressPass";
    static constexpr bool shared_by_ends = true; // the round-trip time, which the receiver measures

    std::uint32_t smallest_credit = 76; // bytes; sizes of credits are drawn from here
    std::uint32_t largest_credit = 92;  // to here
    double initial_rate = 0.0625;       // alpha: of the most that `share` allows
    double initial_weight = 0.0625;     // w of the paper
    double least_weight = 0.01;
    double most_weight = 0.5;
    double target_loss = 0.1; // with `as_code` the scaling of the target
    double jitter = 0.05;     // of the distance between credits, either way
    bool as_code = false;
    bool floor = true;              // the rate stays at a credit per round trip at least; with `as_code` in any case
    std::uint32_t scaled_start = 0; // segments below which a flow begins with a lower rate in proportion, 0 for none
    bool early_stop = false;        // when the credits of the last round trip suffice
    bool counted = false;           // the receiver sends no more credits than the request names segments

    static auto fields() {
        using Of = ExpressPassRules;
        constexpr auto most = std::numeric_limits<std::uint32_t>::max();
        constexpr auto part = "must be above 0 and at most 1";
        return std::tuple_cat(common_fields<Of>(),
                              std::tuple{
                                  number("smallest_credit", &Of::smallest_credit, 1, largest_packet / 4,
                                         "must be between 1 and 2^18 bytes"),
                                  number("largest_credit", &Of::largest_credit, 1, largest_packet / 4,
                                         "must be between 1 and 2^18 bytes"),
                                  number("initial_rate", &Of::initial_rate, above_zero, 1, part),
                                  number("initial_weight", &Of::initial_weight, above_zero, 1, part),
                                  number("least_weight", &Of::least_weight, above_zero, 1, part),
                                  number("most_weight", &Of::most_weight, above_zero, 1, part),
                                  number("target_loss", &Of::target_loss, 0, 1, "must be between 0 and 1"),
                                  number("jitter", &Of::jitter, 0, 1, "must be between 0 and 1"),
                                  plain("as_code", &Of::as_code),
                                  plain("floor", &Of::floor),
                                  number("scaled_start", &Of::scaled_start, 0, most, "must be at least 0 segments"),
                                  plain("early_stop", &Of::early_stop),
                                  plain("counted", &Of::counted),
                              });
    }
    const char *fault() const {
        if (largest_credit < smallest_credit)
            return "largest_credit must be at least smallest_credit";
        return least_weight <= most_weight ? nullptr : "least_weight must be at most most_weight";
    }
    std::unique_ptr<Transport> transport(const FlowRules &flow) const;
};

// The rate of a receiver's credits, as a share of the most; it knows neither packets nor links.
class CreditRate {
  public:
    explicit CreditRate(const ExpressPassRules &rules) : rules_(&rules) {}

    void begin(double rate, Time now);

    // A credit has let data go: `lost` before it did not.
    void noted(std::uint32_t lost) {
        total_ += lost + 1;
        lost_ += lost;
    }

    // Changes the rate, once per round trip; `full` is the time of a credit at the highest rate.
    void adapt(Time now, Time round_trip, double full);

    double rate() const { return rate_; }

  private:
    void as_printed(double loss, double through);
    void as_coded(double loss, double through);

    const ExpressPassRules *rules_;
    double rate_ = 1;
    double weight_ = 0;
    bool has_increased_ = false;
    std::uint32_t total_ = 0;
    std::uint32_t lost_ = 0;
    Time changed_ = 0;
};

class ExpressPass final : public Credited {
  public:
    ExpressPass(const ExpressPassRules &rules, const FlowRules &flow)
        : Credited(rules, flow), rules_(rules), rate_(rules) {}

    TransportCounters counters() const override;

  protected:
    void begin(Host &host) override { ask(host); }
    void take_credits(Host &host, const Packet &packet) override;
    void send_due(Host &host) override;
    Time sender_deadline() const override { return never; }
    void fell_silent(Host &host) override;
    void answer(Host &host, const Packet &packet) override;
    void credited_data(Host &host, const Packet &packet) override;
    void answer_due(Host &host) override;
    Time receiver_deadline() const override { return is_crediting_ ? next_credit_ : never; }

  private:
    void ask(Host &host);
    bool has_enough() const;

    const ExpressPassRules &rules_;

    // The sender's.
    bool is_asking_ = false; // the receiver is to send credits
    Time counted_since_ = 0;
    std::uint32_t counted_ = 0; // credits since then
    std::uint32_t last_count_ = 0;

    // The receiver's.
    CreditRate rate_;
    bool is_crediting_ = false;
    bool has_begun_ = false;
    Time next_credit_ = never;
    std::uint32_t next_number_ = 0;
    std::uint32_t last_number_ = 0; // with `counted`: of the last credit, plus one
    std::uint32_t expected_ = 0;    // number of the credit whose data comes next unless some are lost
};

} // namespace kuijia::packet

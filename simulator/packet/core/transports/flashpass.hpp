// FlashPass (Zeng et al., ICNP 2021): the sender rehearses its data with small emulation packets, which compete for a
// share of the links on the way. The receiver returns a credit for each that arrives, and the data that belongs to it
// leaves a fixed time after it. So data comes to every link in the order and at the distance of the packets that got
// through there, however different round trips are.
//
// Where the paper is silent: Algorithm 1 judges the emulation packets of one round trip when the first credit of a
// later one comes, without those that are over-provisioned, and the rate that falls by their loss is the one at which
// they were sent, so that it does not fall twice for the same. Emulation packets leave at any moment of their slot, so
// that no flow always comes first. A credit that comes after its time is not used; no flow emulates less often than
// once per `wait`; emulation stops when there are credits for all that waits to be sent. A sender takes a little less
// than the queues let through (`pace`): those that a single flow fills are always full, and a flow that crosses several
// of them would find no place in any.
#pragma once

#include "transports/credited.hpp"

#include <array>
#include <deque>
#include <memory>

namespace kuijia::packet {

// The end of a flow's emulation: all that is left to send would have credits if no more than `most_loss` of the
// emulation packets on their way were dropped. Then further ones are marked, so that queues drop them first (the paper,
// section 3.3), or are like others, or are not sent until some of those are lost.
enum class Finishing : std::uint8_t { selective, aggressive, passive };

template <> struct Names<Finishing> {
    static constexpr std::array all{"SELECTIVE", "AGGRESSIVE", "PASSIVE"};
};

struct FlashPassRules : CreditedRules {
    static constexpr const char *name = "FlashPass";

    Time wait = second / 10; // from an emulation packet to its data
    double least_loss = 0.01;
    double most_loss = 0.1;
    double pace = 0.95; // most of `share` that a sender takes
    double jitter = 1;  // most by which an emulation packet is late, in mean distances
    Finishing finishing = Finishing::selective;
    std::uint32_t send_buffer = 0; // segments of the flow that the sender knows of; 0 for all
    std::uint32_t batch = 1;       // most credits in a packet
    std::uint32_t stamp = 8;       // bytes of each credit beyond the first

    static auto fields() {
        using Of = FlashPassRules;
        constexpr auto most = std::numeric_limits<std::uint32_t>::max();
        return std::tuple_cat(common_fields<Of>(),
                              std::tuple{
                                  duration("wait", &Of::wait, 1),
                                  number("least_loss", &Of::least_loss, 0, 1, "must be between 0 and 1"),
                                  number("most_loss", &Of::most_loss, 0, 1, "must be between 0 and 1"),
                                  number("pace", &Of::pace, above_zero, 1, "must be above 0 and at most 1"),
                                  number("jitter", &Of::jitter, 0, 1, "must be between 0 and 1"),
                                  plain("finishing", &Of::finishing),
                                  number("send_buffer", &Of::send_buffer, 0, most, "must be at least 0 segments"),
                                  number("batch", &Of::batch, 1, 1 << 12, "must be between 1 and 2^12 credits"),
                                  number("stamp", &Of::stamp, 0, 64, "must be between 0 and 64 bytes"),
                              });
    }
    bool draws() const { return jitter > 0; }
    const char *fault() const { return least_loss <= most_loss ? nullptr : "least_loss must be at most most_loss"; }
    std::unique_ptr<Transport> transport(const FlowRules &flow) const;
};

class FlashPass final : public Credited {
  public:
    FlashPass(const FlashPassRules &rules, const FlowRules &flow) : Credited(rules, flow), rules_(rules) {}

    TransportCounters counters() const override {
        auto all = Credited::counters();
        all.window = rate_;
        return all;
    }

  protected:
    void begin(Host &host) override;
    void take_credits(Host &host, const Packet &packet) override;
    void send_due(Host &host) override;
    Time sender_deadline() const override;
    void answer(Host &host, const Packet &packet) override;
    void answer_due(Host &host) override;
    Time receiver_deadline() const override { return answer_at_; }

  private:
    enum class Emulates : std::uint8_t { nothing, ordinary, over_provisioned };

    // An emulation packet on its way.
    struct Emulation {
        Time due; // when its data leaves
        bool ordinary;
        bool credited;
    };

    Emulates emulates() const;
    void emulate(Host &host, bool over_provisioned);
    void send_data(Host &host);
    void set_pace(Host &host, double rate);
    void answered_below(std::uint32_t number);
    void adapt(Host &host);

    const FlashPassRules &rules_;
    std::deque<Emulation> emulations_; // that are not known to be lost and whose time has not come
    std::uint32_t first_ = 0;          // number of the first of these
    std::uint32_t answered_ = 0;       // those below have credits or are lost
    std::uint32_t expected_ = 0;       // ordinary ones behind these
    std::uint32_t in_hand_ = 0;        // credits whose time has not come
    Time next_ = 0;                    // the next emulation packet
    Time planned_ = 0;                 // the same without jitter
    double rate_ = 1;                  // of the most that `share` and `pace` allow
    Time gap_ = 1;
    double before_ = 1;           // the rate in the round trip before, at which what is judged now was sent
    std::uint32_t judged_to_ = 0; // the next change of the rate depends on the loss of emulation packets below
    std::uint32_t judged_ = 0;    // ordinary ones among these
    std::uint32_t later_ = 0;     // and behind them
    std::uint32_t credited_ = 0;  // of those judged
    std::uint32_t credited_later_ = 0;

    // The receiver's.
    std::array<Range, most_blocks> held_{};
    std::uint8_t blocks_ = 0;
    std::uint32_t holds_ = 0;
    Time held_sent_ = 0;
    Time answer_at_ = never;
};

} // namespace kuijia::packet

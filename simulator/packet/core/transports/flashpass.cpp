#include "transports/flashpass.hpp"

#include <utility>

namespace kuijia::packet {

std::unique_ptr<Transport> FlashPassRules::transport(const FlowRules &flow) const {
    return std::make_unique<FlashPass>(*this, flow);
}

void FlashPass::begin(Host &host) {
    next_ = planned_ = host.now();
    set_pace(host, 1);
}

void FlashPass::set_pace(Host &host, double rate) {
    const auto most = rules_.share * rules_.pace * static_cast<double>(host.card_rate(Way::forward));
    const auto shortest = time_of(rules_.control, most);
    const auto slowest_rate = static_cast<double>(shortest) / static_cast<double>(std::max(rules_.wait, shortest));
    rate_ = std::clamp(rate, slowest_rate, 1.0);
    gap_ = time_of(rules_.control, most * rate_);
}

void FlashPass::send_due(Host &host) {
    send_data(host);
    while (next_ <= host.now()) {
        const auto what = emulates();
        if (what == Emulates::nothing)
            return;
        emulate(host, what == Emulates::over_provisioned);
    }
}

// Data leaves exactly `wait` after the emulation packet that it belongs to.
void FlashPass::send_data(Host &host) {
    while (!emulations_.empty()) {
        const auto &first = emulations_.front();
        const bool is_lost = !first.credited && first_ < answered_;
        if (!is_lost && first.due > host.now())
            return;
        if (first.credited) {
            --in_hand_;
            unused_ += !send_with_credit(host, nullptr);
        }
        answered_below(first_ + 1);
        emulations_.pop_front();
        ++first_;
        if (first_ > judged_to_)
            adapt(host); // all those behind them were lost
    }
}

// Those below this number have credits or are lost.
void FlashPass::answered_below(std::uint32_t number) {
    for (; answered_ < number; ++answered_)
        expected_ -= emulations_[answered_ - first_].ordinary;
}

// The finishing phase: what is left needs no more than the credits that are expected of ordinary emulation packets.
FlashPass::Emulates FlashPass::emulates() const {
    auto needed = demand();
    if (rules_.send_buffer > 0)
        needed = std::min(needed, rules_.send_buffer);
    if (needed <= in_hand_)
        return Emulates::nothing;
    if (rules_.finishing == Finishing::aggressive)
        return Emulates::ordinary;
    if (in_hand_ + expected_ * (1 - rules_.most_loss) < needed)
        return Emulates::ordinary;
    return rules_.finishing == Finishing::selective ? Emulates::over_provisioned : Emulates::nothing;
}

void FlashPass::emulate(Host &host, bool over_provisioned) {
    const auto made = small(host, Way::forward, Kind::emulation, of_credits, rules_.control);
    made.packet.number = first_ + static_cast<std::uint32_t>(emulations_.size());
    made.packet.ecn_capable = !over_provisioned;
    emulations_.push_back({host.now() + rules_.wait, !over_provisioned, false});
    expected_ += !over_provisioned;
    later_ += !over_provisioned;
    ++offered_;
    host.send(made.id);
    planned_ = std::max(planned_ + gap_, host.now());
    const auto late = rules_.jitter > 0 ? host.random().unit() * rules_.jitter * static_cast<double>(gap_) : 0;
    next_ = std::max(planned_ + static_cast<Time>(late), host.now() + 1);
}

void FlashPass::take_credits(Host &host, const Packet &packet) {
    const auto end = first_ + static_cast<std::uint32_t>(emulations_.size());
    for (std::uint8_t block = 0; block < packet.blocks; ++block) {
        for (auto number = packet.sacked[block].begin; number < packet.sacked[block].end; ++number) {
            if (number < first_ || number >= end || emulations_[number - first_].credited) {
                ++unused_; // too late
                continue;
            }
            auto &emulation = emulations_[number - first_];
            note_round_trip(host.now() - (emulation.due - rules_.wait));
            emulation.credited = true;
            ++in_hand_;
            (number < judged_to_ ? credited_ : credited_later_) += emulation.ordinary;
            answered_below(number + 1);
        }
    }
    if (answered_ > judged_to_)
        adapt(host);
}

// Algorithm 1 of the paper, once per round trip: when a credit comes for what was sent after the last change.
void FlashPass::adapt(Host &host) {
    const auto sent_at = before_;
    before_ = rate_;
    if (judged_ > 0) {
        const auto loss = 1 - static_cast<double>(credited_) / judged_;
        if (loss > rules_.most_loss)
            set_pace(host, sent_at * (1 - loss) * (1 + rules_.least_loss));
        else if (loss < rules_.least_loss)
            set_pace(host, rate_ * (1 + rules_.most_loss));
    }
    judged_to_ = first_ + static_cast<std::uint32_t>(emulations_.size());
    judged_ = std::exchange(later_, 0);
    credited_ = std::exchange(credited_later_, 0);
}

Time FlashPass::sender_deadline() const {
    const auto data = emulations_.empty() ? never : emulations_.front().due;
    return emulates() == Emulates::nothing ? data : std::min(data, next_);
}

// The receiver: a credit for each emulation packet. Several go in one packet while their data has long to wait, for at
// most half of the time that is left if the way back takes as long as the way there.
void FlashPass::answer(Host &host, const Packet &packet) {
    if (packet.kind != Kind::emulation || arrived_all())
        return;
    const auto number = packet.number;
    if (blocks_ == most_blocks && held_[blocks_ - 1].end != number)
        answer_due(host);
    if (holds_ == 0) {
        held_sent_ = packet.sent;
        const auto spare = rules_.wait - 2 * (host.now() - packet.sent);
        answer_at_ = host.now() + std::max<Time>(spare / 2, 0);
    }
    if (blocks_ > 0 && held_[blocks_ - 1].end == number)
        ++held_[blocks_ - 1].end;
    else
        held_[blocks_++] = {number, number + 1};
    if (++holds_ >= rules_.batch || answer_at_ <= host.now())
        answer_due(host);
}

void FlashPass::answer_due(Host &host) {
    answer_at_ = never;
    if (holds_ == 0)
        return;
    const auto size = rules_.control + rules_.stamp * (holds_ - 1);
    const auto made = small(host, Way::backward, Kind::credit, of_control, size);
    made.packet.sent = held_sent_;
    made.packet.number = missing();
    made.packet.blocks = blocks_ & 3;
    std::copy_n(held_.begin(), blocks_, made.packet.sacked);
    blocks_ = 0;
    holds_ = 0;
    host.send(made.id);
}

} // namespace kuijia::packet

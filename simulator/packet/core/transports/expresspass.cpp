#include "transports/expresspass.hpp"

namespace kuijia::packet {

std::unique_ptr<Transport> ExpressPassRules::transport(const FlowRules &flow) const {
    return std::make_unique<ExpressPass>(*this, flow);
}

void CreditRate::begin(double rate, Time now) {
    rate_ = rate;
    weight_ = rules_->initial_weight;
    changed_ = now;
}

void CreditRate::adapt(Time now, Time round_trip, double full) {
    if (round_trip == 0 || now - changed_ < round_trip || total_ == 0)
        return;
    const auto loss = static_cast<double>(lost_) / total_;
    const auto through = (total_ - lost_) * full / static_cast<double>(now - changed_);
    if (rules_->as_code)
        as_coded(loss, through);
    else
        as_printed(loss, through);
    if (rules_->as_code || rules_->floor)
        rate_ = std::max(rate_, std::min(1.0, full / static_cast<double>(round_trip)));
    total_ = lost_ = 0;
    changed_ = now;
}

// Algorithm 1 of the paper. Its decrease, cur_rate (1 - credit_loss), is the rate at which credits came through in the
// last round trip (section 3.2). The rate of now does not stand for cur_rate there: the losses are those of credits
// sent a round trip before, often at a higher rate.
void CreditRate::as_printed(double loss, double through) {
    const auto most = 1 + rules_->target_loss;
    if (loss <= rules_->target_loss) {
        if (has_increased_)
            weight_ = (weight_ + rules_->most_weight) / 2;
        rate_ = (1 - weight_) * rate_ + weight_ * most;
        has_increased_ = true;
    } else {
        rate_ = std::min(through, 1.0) * most;
        weight_ = std::max(weight_ / 2, rules_->least_weight);
        has_increased_ = false;
    }
}

// The rules of the public code: the target rises as the rate falls, the weight rises by steps, and a loss never raises
// the rate.
void CreditRate::as_coded(double loss, double through) {
    constexpr double step = 0.05;
    const auto target = (1 - rate_) * rules_->target_loss;
    if (loss > target) {
        rate_ = std::min(through * (1 + target), rate_);
        weight_ = std::max(weight_ / 2, rules_->least_weight);
        has_increased_ = false;
    } else {
        if (has_increased_)
            weight_ = std::min(weight_ + step, rules_->most_weight);
        has_increased_ = true;
        rate_ = weight_ + (1 - weight_) * rate_;
    }
    rate_ = std::min(rate_, 1.0);
}

void ExpressPass::ask(Host &host) {
    const auto made = small(host, Way::forward, Kind::request, of_control, rules_.control);
    made.packet.number = demand();
    is_asking_ = true;
    host.send(made.id);
}

void ExpressPass::take_credits(Host &host, const Packet &packet) {
    if (!send_with_credit(host, &packet))
        ++unused_;
    if (host.now() - counted_since_ >= round_trip_) {
        last_count_ = counted_;
        counted_ = 0;
        counted_since_ = host.now();
    }
    ++counted_;
}

bool ExpressPass::has_enough() const { return rules_.early_stop && last_count_ >= demand(); }

void ExpressPass::send_due(Host &host) {
    const bool needs = demand() > 0;
    if (needs && !is_asking_ && !has_enough())
        return ask(host);
    if (!is_asking_ || (needs && !has_enough()))
        return;
    is_asking_ = false;
    host.send(small(host, Way::forward, Kind::stop, of_control, rules_.control).id);
}

// The request, its end or all credits may have been lost.
void ExpressPass::fell_silent(Host &host) {
    last_count_ = 0;
    if (demand() > 0)
        return ask(host);
    host.send(small(host, Way::forward, Kind::stop, of_control, rules_.control).id);
}

void ExpressPass::answer(Host &host, const Packet &packet) {
    if (packet.kind == Kind::stop)
        is_crediting_ = false;
    if (packet.kind != Kind::request || is_crediting_ || arrived_all())
        return;
    is_crediting_ = true;
    last_number_ = next_number_ + packet.number;
    if (!has_begun_) {
        has_begun_ = true;
        const auto part = rules_.scaled_start > 0 ? std::min(1.0, packet.number * 1.0 / rules_.scaled_start) : 1.0;
        rate_.begin(rules_.initial_rate * std::max(part, 1e-3), host.now());
    }
    answer_due(host);
}

void ExpressPass::credited_data(Host &host, const Packet &packet) {
    const auto number = packet.sacked[0].begin;
    note_round_trip(host.now() - packet.sent);
    if (number >= expected_) { // credits keep their order while paths stay
        rate_.noted(number - expected_);
        expected_ = number + 1;
    }
    is_crediting_ = is_crediting_ && !arrived_all();
}

// Sends a credit.
void ExpressPass::answer_due(Host &host) {
    is_crediting_ = is_crediting_ && !(rules_.counted && next_number_ == last_number_);
    if (!is_crediting_)
        return;
    const auto mean = (rules_.smallest_credit + rules_.largest_credit) / 2.0;
    const auto most = rules_.share * static_cast<double>(host.card_rate(Way::backward));
    const auto full = static_cast<double>(time_of(mean, most));
    rate_.adapt(host.now(), round_trip_, full);
    const auto drawn = host.random().below(rules_.largest_credit - rules_.smallest_credit + 1);
    const auto size = rules_.smallest_credit + static_cast<std::uint32_t>(drawn);
    const auto made = small(host, Way::backward, Kind::credit, of_credits, size);
    made.packet.number = missing();
    made.packet.sacked[0] = {next_number_, next_number_ + 1};
    made.packet.blocks = 1;
    ++next_number_;
    ++offered_;
    host.send(made.id);
    const auto late = 1 + rules_.jitter * (2 * host.random().unit() - 1);
    next_credit_ = host.now() + time_of(mean * late, most * rate_.rate());
}

TransportCounters ExpressPass::counters() const {
    auto all = Credited::counters();
    all.window = rate_.rate();
    return all;
}

} // namespace kuijia::packet

#include "routing/flow_bender.hpp"

namespace kuijia::packet {

std::unique_ptr<PathChoice> FlowBenderRules::choice(PathNetwork &, std::uint64_t seed) const {
    return std::make_unique<FlowBender>(*this, mixed(seed + 0x62656e646572));
}

bool MarkCount::acknowledged(std::uint32_t first_missing, bool echo, const FlowBenderRules &rules) {
    ++all_;
    marked_ += echo;
    if (end_ == 0) // a round trip begins
        end_ = next_;
    if (first_missing < end_)
        return false;
    bad_ = marked_ > rules.marked * all_ ? bad_ + 1 : 0;
    all_ = marked_ = end_ = 0;
    if (bad_ < rules.round_trips)
        return false;
    bad_ = 0;
    return true;
}

// Answers keep the path that a hash gives them.
std::uint32_t FlowBender::choose(Packet &packet, const Choices &choices) {
    if (packet.backward)
        return static_cast<std::uint32_t>(mixed(mixed(seed_ + 1) + packet.flow) % choices.count());
    auto &flow = at(packet.flow);
    if (packet.kind == Kind::data)
        flow.marks.sent(packet.number + 1);
    return static_cast<std::uint32_t>(flow.draw % choices.count());
}

void FlowBender::acknowledged(const Packet &packet, Time) {
    auto &flow = at(packet.flow);
    if (flow.marks.acknowledged(packet.number, packet.echo, rules_))
        move(flow);
}

void FlowBender::timed_out(std::uint32_t number, Time) {
    auto &flow = at(number);
    flow.marks.restart();
    move(flow);
}

FlowBender::Flow &FlowBender::at(std::uint32_t flow) {
    for (auto number = flows_.size(); number <= flow; ++number)
        flows_.push_back({mixed(mixed(seed_) + number), {}});
    return flows_[flow];
}

void FlowBender::move(Flow &flow) {
    flow.draw = random_.next();
    ++counters_.moves;
}

} // namespace kuijia::packet

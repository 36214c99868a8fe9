#include "transports/segments.hpp"

namespace kuijia::packet {

std::optional<std::uint32_t> SentSegments::take() {
    while (!lost_.empty()) {
        const auto number = lost_.ranges().front().begin;
        lost_.remove_below(number + 1);
        if (has_arrived(number)) // it was only late
            continue;
        resent_.add({number, number + 1});
        ++retransmitted_;
        return number;
    }
    return next_ < count_ ? std::optional(next_++) : std::nullopt;
}

void SentSegments::acknowledged(const Packet &packet) {
    missing_ = std::max(missing_, packet.number);
    lost_.remove_below(missing_);
    arrived_.remove_below(missing_);
    resent_.remove_below(missing_);
    auto top = missing_;
    if (packet.kind != Kind::credit) {
        for (std::uint8_t block = 0; block < packet.blocks; ++block) {
            arrived_.add({std::max(packet.sacked[block].begin, missing_), packet.sacked[block].end});
            top = std::max(top, packet.sacked[block].end);
        }
    }
    judge(judged_, top);
}

void SentSegments::judge(std::uint32_t from, std::uint32_t below) {
    for (auto number = std::max(from, missing_); number < below; ++number) {
        number = arrived_.first_missing(number);
        if (number < below && !resent_.contains(number))
            lost_.add({number, number + 1});
    }
    judged_ = std::max(judged_, below);
}

ArrivedSegments::News ArrivedSegments::received(std::uint32_t number) {
    const bool leaves_gap = number > highest_;
    highest_ = std::max(highest_, number + 1);
    if (number < missing_ || beyond_.contains(number))
        return {false, false};
    if (number != missing_) {
        beyond_.add({number, number + 1});
        return {true, leaves_gap};
    }
    missing_ = beyond_.first_missing(number + 1);
    beyond_.remove_below(missing_);
    return {true, false};
}

} // namespace kuijia::packet

#include "tcp_receiver.hpp"

#include <algorithm>

namespace kuijia::packet {

TcpReceiver::Acknowledgements TcpReceiver::received(const Packet &packet, Time now) {
    Acknowledgements answers;
    const Origin origin{packet.sent, packet.path};
    const auto answer = [&](Origin of) { answers.all[answers.count++] = acknowledgement(of); };
    // RFC 8257 section 3.2: held-back segments are acknowledged with their own mark. Senders without DCTCP get the same
    // exact echo instead of one repeated until they react (RFC 3168 section 6.1.3).
    const bool mark_changed = packet.marked != marked_;
    if (mark_changed && held_ > 0)
        answer(held_origin_);
    marked_ = packet.marked;

    const auto number = packet.number;
    if (number != missing_) {
        if (number > missing_) {
            beyond_.add({number, number + 1});
            note_block(beyond_.around(number));
        }
        answer(held_ > 0 ? held_origin_ : origin); // RFC 5681 section 4.2: at once
        return answers;
    }
    const bool filled_gap = !beyond_.empty();
    missing_ = beyond_.first_missing(number + 1);
    beyond_.remove_below(missing_);
    if (held_++ == 0) {
        held_origin_ = origin;
        deadline_ = now + rules_->ack_delay;
    }
    if (held_ >= rules_->ack_every || filled_gap || mark_changed || finished())
        answer(held_origin_);
    return answers;
}

TcpReceiver::Acknowledgement TcpReceiver::timed_out() { return acknowledgement(held_origin_); }

TcpReceiver::Acknowledgement TcpReceiver::acknowledgement(Origin origin) {
    held_ = 0;
    deadline_ = never;
    Acknowledgement answer{missing_, origin.sent, origin.path, marked_, 0, {}};
    if (!rules_->sack || beyond_.empty()) {
        blocks_ = 0;
        return answer;
    }
    // RFC 2018 section 4: the block of the newest segment first, then those reported last, each once.
    std::array<std::uint32_t, most_blocks> kept{};
    for (std::uint8_t place = 0; place < blocks_; ++place) {
        if (recent_[place] < missing_)
            continue;
        const auto block = beyond_.around(recent_[place]);
        const auto known = answer.sacked.begin() + answer.blocks;
        if (std::find(answer.sacked.begin(), known, block) != known)
            continue;
        kept[answer.blocks] = recent_[place];
        answer.sacked[answer.blocks++] = block;
    }
    blocks_ = answer.blocks;
    recent_ = kept;
    return answer;
}

void TcpReceiver::note_block(Range block) {
    const auto known = recent_.begin() + blocks_;
    auto place =
        std::find_if(recent_.begin(), known, [&](auto number) { return block.begin <= number && number < block.end; });
    if (place == known) {
        blocks_ = std::min<std::uint8_t>(blocks_ + 1, most_blocks);
        place = recent_.begin() + blocks_ - 1;
    }
    std::rotate(recent_.begin(), place, place + 1);
    recent_[0] = block.begin;
}

} // namespace kuijia::packet

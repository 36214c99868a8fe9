#include "queues/hashed_credits.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<Discipline> HashedCreditsRules::discipline(const Site &site) const {
    return std::make_unique<HashedCredits>(*this, site.seed);
}

HashedCredits::HashedCredits(const HashedCreditsRules &rules, std::uint64_t seed)
    : queues_{Buffer(rules.queue), Buffer(rules.queue)}, credits_(rules.credits),
      hashed_anew_after_(rules.hashed_anew_after), left_(rules.bins, rules.credits), key_(mixed(seed)) {}

void HashedCredits::offer(PacketId id, Arrival &arrival) {
    queues_[queue_of(arrival.pool[id].flow)].offer(id, arrival);
}

Choice HashedCredits::choose(PacketPool &pool, Time now) {
    if (queues_[first_].empty())
        exchange(now);
    auto retry = never; // for tokens: what waits in the second queue may not overtake its flow meanwhile
    const auto id = queues_[first_].take_if_due(pool, now, retry);
    return {id, retry};
}

PacketId HashedCredits::flush(PacketPool &pool, Time now) {
    for (auto &queue : queues_)
        if (!queue.empty())
            return queue.take(pool, now);
    return no_packet;
}

std::size_t HashedCredits::queue_of(std::uint32_t flow) {
    auto &left = left_[(mixed(flow) ^ key_) % left_.size()];
    if (left == 0)
        return 1 - first_;
    --left;
    return first_;
}

void HashedCredits::exchange(Time now) {
    first_ = 1 - first_;
    std::fill(left_.begin(), left_.end(), credits_);
    if (now - hashed_anew_ >= hashed_anew_after_) {
        key_ = mixed(key_ + 0x9e3779b97f4a7c15);
        hashed_anew_ = now;
    }
}

} // namespace kuijia::packet

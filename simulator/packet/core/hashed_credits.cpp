#include "hashed_credits.hpp"

#include "random.hpp"

#include <algorithm>

namespace kuijia::packet {

HashedCredits::HashedCredits(const HashedCreditsRules &rules, std::uint64_t seed)
    : rules_(rules), left_(rules.bins, rules.credits), key_(mixed(seed)) {}

std::size_t HashedCredits::queue_of(std::uint32_t flow) {
    auto &left = left_[(mixed(flow) ^ key_) % left_.size()];
    if (left == 0)
        return 1 - first_;
    --left;
    return first_;
}

void HashedCredits::exchange(Time now) {
    first_ = 1 - first_;
    std::fill(left_.begin(), left_.end(), rules_.credits);
    if (now - hashed_anew_ >= rules_.hashed_anew_after) {
        key_ = mixed(key_ + 0x9e3779b97f4a7c15);
        hashed_anew_ = now;
    }
}

} // namespace kuijia::packet

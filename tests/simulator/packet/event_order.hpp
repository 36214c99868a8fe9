// Holds the queue of events against a set in order.
#pragma once

#include "event_queue.hpp"
#include "random.hpp"

#include <set>
#include <stdexcept>
#include <utility>

namespace kuijia::packet {

// Throws if events do not come in order of time, or others than those that were put into the queue. Their number and
// the time from now until they happen change by orders of magnitude, so that slots do, too. The order within a moment
// is in the results that are the same to the bit.
inline void check_event_order(Random &random, std::uint64_t events) {
    EventQueue queue(random.next(), static_cast<Source>(random.below(8)));
    std::multiset<std::pair<Time, Source>> expected;
    Time now = 0;
    const auto take = [&] {
        now = queue.next_time();
        const auto found = expected.find({now, queue.take()});
        if (found == expected.end() || now != expected.begin()->first)
            throw std::logic_error("an event comes out of order");
        expected.erase(found);
    };
    for (auto phases = 1 + random.below(4); phases-- > 0;) {
        const auto most = std::size_t{1} << random.below(12);
        const auto far = std::uint64_t{1} << random.below(44);
        for (auto count = random.below(events); count-- > 0;) {
            while (expected.size() < most) {
                const auto gap = random.below(16) == 0 ? random.below(std::uint64_t{1} << 50) : random.below(far);
                const auto time = now + static_cast<Time>(gap);
                const auto source = static_cast<Source>(random.below(2000));
                queue.push(time, source);
                expected.emplace(time, source);
            }
            for (auto taken = 1 + random.below(2); taken-- > 0 && !expected.empty();)
                take();
        }
    }
    while (!expected.empty())
        take();
    if (queue.next_time() != never)
        throw std::logic_error("there are more events than there should be");
}

} // namespace kuijia::packet

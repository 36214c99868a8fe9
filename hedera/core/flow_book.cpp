#include "flow_book.hpp"

#include "routes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kuijia::hedera {

namespace {

constexpr double megabits = 8e-6; // in a byte
constexpr double shortest = 1e-3; // minimum seconds over which a rate is computed

template <class Entries> std::size_t place_of(const Entries &entries, std::uint64_t key) {
    const auto mask = entries.size() - 1;
    auto place = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15) >> 32) & mask;
    while (entries[place].taken && entries[place].key != key)
        place = (place + 1) & mask;
    return place;
}

} // namespace

FlowBook::FlowBook(std::int32_t switches) {
    if (switches < 0)
        throw std::invalid_argument("switches: expected a number that is not negative");
    switches_.resize(at(switches));
}

void FlowBook::validate(const Poll &poll) const {
    require_below("switches", poll.switches, switches_.size());
    const auto flows = poll.key.size();
    if (poll.first.size() != poll.switches.size() + 1 || poll.bytes.size() != flows || poll.age.size() != flows)
        throw std::invalid_argument("expected one more entry in first than switches, and bytes and age for each flow");
    if (flows > 0x7fffffff)
        throw std::invalid_argument("key: expected fewer than 2^31 flows");
    if (poll.first.front() != 0 || poll.first.back() != static_cast<std::int64_t>(flows))
        throw std::invalid_argument("first: expected 0 at its start and the number of flows at its end");
    std::vector<std::uint8_t> seen(switches_.size());
    for (std::size_t answer = 0; answer < poll.switches.size(); ++answer) {
        if (poll.first[answer + 1] < poll.first[answer])
            refuse("first", answer + 1, "positions that never decrease");
        if (seen[at(poll.switches[answer])]++)
            refuse("switches", answer, "each switch once");
        const auto &polled = switches_[at(poll.switches[answer])];
        if (!std::isfinite(poll.time) || (polled.polled && !(poll.time > polled.time)))
            refuse("switches", answer, "a time later than that of the switch's last poll");
    }
}

Reading FlowBook::read(const Poll &poll) {
    validate(poll);
    Reading reading{std::vector<double>(poll.key.size()), std::vector<std::int32_t>(poll.key.size(), -1)};
    switch_of_.resize(poll.key.size());
    entry_of_.resize(poll.key.size());
    for (std::size_t answer = 0; answer < poll.switches.size(); ++answer) {
        const auto begin = static_cast<std::size_t>(poll.first[answer]);
        const auto end = static_cast<std::size_t>(poll.first[answer + 1]);
        std::fill(switch_of_.begin() + poll.first[answer], switch_of_.begin() + poll.first[answer + 1],
                  poll.switches[answer]);
        read_switch(switches_[at(poll.switches[answer])], poll, begin, end, reading);
    }
    return reading;
}

void FlowBook::read_switch(Switch &polled, const Poll &poll, std::size_t begin, std::size_t end, Reading &reading) {
    std::swap(polled.entries, polled.before);
    polled.entries.assign(std::bit_ceil(2 * (end - begin) + 2), Entry{0, 0, -1, false});
    const double elapsed = poll.time - polled.time; // of no meaning at the first poll, at which no flow is known
    for (auto flow = begin; flow < end; ++flow) {
        const auto key = poll.key[flow];
        auto passed = poll.bytes[flow];
        double seconds = poll.age[flow];
        std::int32_t label = -1;
        if (!polled.before.empty())
            if (const auto &known = polled.before[place_of(polled.before, key)]; known.taken) {
                label = known.label;
                if (passed >= known.bytes) {
                    passed -= known.bytes;
                    seconds = elapsed;
                } else {
                    seconds = std::min(seconds, elapsed);
                }
            }
        reading.rate[flow] = static_cast<double>(passed) * megabits / std::max(seconds, shortest);
        reading.label[flow] = label;
        const auto place = place_of(polled.entries, key);
        polled.entries[place] = {key, poll.bytes[flow], label, true};
        entry_of_[flow] = static_cast<std::int32_t>(place);
    }
    polled.time = poll.time;
    polled.polled = true;
}

void FlowBook::note(std::span<const std::int32_t> label) {
    if (label.size() != switch_of_.size())
        throw std::invalid_argument("label: expected one for each flow of the last poll");
    for (std::size_t flow = 0; flow < label.size(); ++flow)
        switches_[at(switch_of_[flow])].entries[at(entry_of_[flow])].label = label[flow];
}

} // namespace kuijia::hedera

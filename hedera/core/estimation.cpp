#include "estimation.hpp"

#include "kept_memory.hpp"
#include "routes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kuijia::hedera {

namespace {

// Flows stand in the order of their receivers. Those that no receiver has limited yet have their sender's share, and
// what a sender has left for them needs no look at the others: a round costs a sender nothing but a division.
class Estimation {
  public:
    Estimation(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target)
        : sources_(source), targets_(target), first_(at(hosts) + 2), place_(source.size()), source_(source.size()), demand_(source.size(), rises),
          share_(at(hosts)), senders_(at(hosts)), rising_(at(hosts)) {
        for (const auto host : target)
            ++first_[at(host) + 2];
        std::int32_t most = 0;
        for (std::size_t host = 0; host < at(hosts); ++host) {
            rising_[host] = first_[host + 2];
            most = std::max(most, first_[host + 2]);
            first_[host + 2] += first_[host + 1];
        }
        for (std::size_t flow = 0; flow < source.size(); ++flow) {
            const auto place = first_[at(target[flow]) + 1]++;
            place_[flow] = place;
            source_[at(place)] = source[flow];
            ++senders_[at(source[flow])].rising;
        }
        asking_.resize(at(most));
    }

    // Whether anything has changed.
    bool round() {
        changed_ = false;
        for (std::size_t host = 0; host < senders_.size(); ++host)
            send(host);
        // Where a receiver has limited all its flows, or no sender of them has changed, it would find what it found before.
        const bool is_selective = moved_.size() < senders_.size() / 2;
        if (is_selective)
            mark_receivers();
        moved_.clear();
        for (std::size_t host = 0; host < rising_.size(); ++host)
            if (rising_[host] > 0 && (!is_selective || std::exchange(marked_[host], 0)))
                receive(host);
        return changed_;
    }

    std::vector<double> demands() const {
        std::vector<double> demand(place_.size());
        for (std::size_t flow = 0; flow < demand.size(); ++flow) {
            const double share = share_[at(sources_[flow])], fixed = demand_[at(place_[flow])];
            demand[flow] = fixed == rises ? share : fixed;
        }
        return demand;
    }

  private:
    // In place of a demand: the flow's is its sender's share.
    static constexpr double rises = -1;

    struct Sender {
        double fixed = 0;        // in sum, of the flows that a receiver has limited
        std::int32_t rising = 0; // how many others there are
    };

    struct Asking {
        double demand;
        std::size_t place;
    };

    double now(std::size_t place) const {
        const double share = share_[at(source_[place])], fixed = demand_[place]; // both, so that nothing is guessed
        return fixed == rises ? share : fixed;
    }

    void send(std::size_t host) {
        const auto &sender = senders_[host];
        if (sender.rising == 0)
            return;
        const double share = std::max(0.0, 1 - sender.fixed) / sender.rising;
        if (std::abs(share - share_[host]) > same) {
            share_[host] = share;
            changed_ = true;
            moved_.push_back(static_cast<std::int32_t>(host));
        }
    }

    // Marks whoever is sent to by a sender whose share has changed.
    void mark_receivers() {
        if (marked_.empty())
            list_receivers();
        for (const auto host : moved_)
            for (auto entry = sent_first_[at(host)]; entry < sent_first_[at(host) + 1]; ++entry)
                marked_[at(sent_to_[at(entry)])] = 1;
    }

    void list_receivers() {
        marked_.resize(rising_.size());
        sent_first_.resize(senders_.size() + 2);
        sent_to_.resize(sources_.size());
        for (const auto host : sources_)
            ++sent_first_[at(host) + 2];
        for (std::size_t host = 2; host < sent_first_.size(); ++host)
            sent_first_[host] += sent_first_[host - 1];
        for (std::size_t flow = 0; flow < sources_.size(); ++flow)
            sent_to_[at(sent_first_[at(sources_[flow]) + 1]++)] = targets_[flow];
    }

    void receive(std::size_t host) {
        const auto begin = at(first_[host]), count = at(first_[host + 1]) - begin;
        double total = 0;
        for (std::size_t flow = 0; flow < count; ++flow) {
            const double demand = now(begin + flow);
            total += demand;
            asking_[flow] = {demand, begin + flow};
        }
        if (total <= 1 + same)
            return;
        // Flows that ask for less than their share have it, and leave more for the others.
        double share = 1.0 / static_cast<double>(count), taken = 0;
        auto limited = count;
        for (std::size_t before = 0; limited != before;) {
            before = std::exchange(limited, 0); // not zero again, as all together exceed the interface
            for (std::size_t flow = 0; flow < before; ++flow) {
                const auto asked = asking_[flow];
                const bool is_less = asked.demand < share - same;
                taken += is_less ? asked.demand : 0;
                asking_[limited] = asked;
                limited += !is_less;
            }
            share = (1 - taken) / static_cast<double>(limited);
        }
        for (std::size_t flow = 0; flow < limited; ++flow)
            limit(asking_[flow].place, share, host);
    }

    void limit(std::size_t place, double share, std::size_t host) {
        auto &sender = senders_[at(source_[place])];
        auto &demand = demand_[place];
        const bool was_rising = demand == rises; // a guess of one in two, so that nothing hangs on it
        const double before = was_rising ? 0 : demand;
        sender.rising -= was_rising;
        rising_[host] -= was_rising;
        sender.fixed += share - before;
        changed_ |= was_rising | (std::abs(before - share) > same);
        demand = share;
    }

    std::span<const std::int32_t> sources_, targets_;
    Kept<std::int32_t> moved_;                 // senders whose share has changed in this round
    Kept<std::int32_t> sent_first_, sent_to_;  // the receivers of each sender, made when they are first asked for
    Kept<std::uint8_t> marked_;                // receivers that are to be looked at
    Kept<std::int32_t> first_; // of each receiver, where its flows begin
    Kept<std::int32_t> place_; // of each flow
    Kept<std::int32_t> source_;
    Kept<double> demand_;
    Kept<double> share_; // of each sender, what each of its flows has that rises
    Kept<Sender> senders_;
    Kept<std::int32_t> rising_; // of each receiver, how many flows it has not limited
    Kept<Asking> asking_; // of a receiver, room for the flows of any
    bool changed_ = false;
};

} // namespace

Estimate estimate(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                  std::int32_t most_rounds) {
    if (hosts < 0)
        throw std::invalid_argument("hosts: expected how many there are");
    if (source.size() != target.size())
        throw std::invalid_argument("target: expected as many as sources");
    if (source.size() > 0x7fffffff)
        throw std::invalid_argument("source: expected fewer than 2^31 flows");
    require_below("source", source, at(hosts));
    require_below("target", target, at(hosts));
    Estimation estimation(hosts, source, target);
    Estimate found;
    do
        ++found.rounds;
    while (!(found.settled = !estimation.round()) && found.rounds < most_rounds);
    found.demand = estimation.demands();
    return found;
}

} // namespace kuijia::hedera

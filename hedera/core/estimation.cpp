#include "estimation.hpp"

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
        for (std::size_t host = 0; host < at(hosts); ++host) {
            rising_[host] = first_[host + 2];
            first_[host + 2] += first_[host + 1];
        }
        for (std::size_t flow = 0; flow < source.size(); ++flow) {
            const auto place = first_[at(target[flow]) + 1]++;
            place_[flow] = place;
            source_[at(place)] = source[flow];
            ++senders_[at(source[flow])].rising;
        }
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
        for (std::size_t flow = 0; flow < demand.size(); ++flow)
            demand[flow] = now(at(place_[flow]));
        return demand;
    }

  private:
    // In place of a demand: the flow's is its sender's share.
    static constexpr double rises = -1;

    struct Sender {
        double fixed = 0;        // in sum, of the flows that a receiver has limited
        std::int32_t rising = 0; // how many others there are
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
        asked_.resize(count);
        double total = 0;
        for (std::size_t flow = 0; flow < count; ++flow)
            total += asked_[flow] = now(begin + flow);
        if (total <= 1 + same)
            return;
        // Flows that ask for less than their share have it, and leave more for the others.
        double share = 1.0 / static_cast<double>(count);
        for (auto limited = count;;) {
            double taken = 0;
            std::size_t others = 0;
            for (const auto demand : asked_) {
                const bool is_less = demand < share - same;
                taken += is_less ? demand : 0;
                others += !is_less;
            }
            if (others == limited)
                break;
            limited = others; // all together exceed the interface: one is left
            share = (1 - taken) / static_cast<double>(limited);
        }
        for (std::size_t flow = 0; flow < count; ++flow)
            if (asked_[flow] >= share - same)
                limit(begin + flow, share, host);
    }

    void limit(std::size_t place, double share, std::size_t host) {
        auto &sender = senders_[at(source_[place])];
        auto &demand = demand_[place];
        if (demand == rises) {
            --sender.rising;
            --rising_[host];
            sender.fixed += share;
            changed_ = true;
        } else {
            changed_ |= std::abs(demand - share) > same;
            sender.fixed += share - demand;
        }
        demand = share;
    }

    std::span<const std::int32_t> sources_, targets_;
    std::vector<std::int32_t> moved_;                 // senders whose share has changed in this round
    std::vector<std::int32_t> sent_first_, sent_to_;  // the receivers of each sender, made when they are first asked for
    std::vector<std::uint8_t> marked_;                // receivers that are to be looked at
    std::vector<std::int32_t> first_; // of each receiver, where its flows begin
    std::vector<std::int32_t> place_; // of each flow
    std::vector<std::int32_t> source_;
    std::vector<double> demand_;
    std::vector<double> share_; // of each sender, what each of its flows has that rises
    std::vector<Sender> senders_;
    std::vector<std::int32_t> rising_; // of each receiver, how many flows it has not limited
    std::vector<double> asked_;        // of a receiver
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

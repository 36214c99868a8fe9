#include "estimation.hpp"

#include "kept_memory.hpp"
#include "routes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kuijia::hedera {

namespace {

// A receiver's flows are consecutive: first those that rise, which have their sender's share, then those that it has
// limited. From one round to the next shares never fall and limits never rise, so a limited flow stays limited, at its
// receiver's current limit; only rising flows need to be visited.
class Estimation {
  public:
    Estimation(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target)
        : sources_(source), targets_(target), first_(at(hosts) + 2), source_(source.size()), share_(at(hosts)),
          senders_(at(hosts)), receivers_(at(hosts)) {
        for (const auto host : target)
            ++first_[at(host) + 2];
        std::int32_t most = 0;
        for (std::size_t host = 0; host < at(hosts); ++host) {
            receivers_[host].rising = first_[host + 2];
            most = std::max(most, first_[host + 2]);
            first_[host + 2] += first_[host + 1];
        }
        for (std::size_t flow = 0; flow < source.size(); ++flow) {
            source_[at(first_[at(target[flow]) + 1]++)] = source[flow];
            ++senders_[at(source[flow])].rising;
        }
        asking_.resize(at(most));
        limited_.resize(at(most));
    }

    // Returns true if anything has changed.
    bool round() {
        changed_ = false;
        for (std::size_t host = 0; host < senders_.size(); ++host)
            send(host);
        // Receivers that have limited all their flows, or whose senders have not changed, would repeat their result.
        const bool is_selective = moved_.size() < senders_.size() / 2;
        if (is_selective)
            mark_receivers();
        moved_.clear();
        for (std::size_t host = 0; host < receivers_.size(); ++host)
            if (receivers_[host].rising > 0 && (!is_selective || std::exchange(marked_[host], 0)))
                receive(host);
        return changed_;
    }

    std::vector<double> demands(double nic_rate) const {
        std::vector<double> demand(sources_.size());
        for (std::size_t flow = 0; flow < demand.size(); ++flow)
            demand[flow] = std::min(share_[at(sources_[flow])], receivers_[at(targets_[flow])].limit) * nic_rate;
        return demand;
    }

  private:
    struct Sender {
        double fixed = 0;        // total of the flows that a receiver has limited
        std::int32_t rising = 0; // number of the others
    };

    struct Receiver {
        double limit = std::numeric_limits<double>::infinity();
        std::int32_t rising = 0; // number of flows that it has not limited
    };

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

    // Marks the receivers of all senders whose share has changed.
    void mark_receivers() {
        if (marked_.empty())
            list_receivers();
        for (const auto host : moved_)
            for (auto entry = sent_first_[at(host)]; entry < sent_first_[at(host) + 1]; ++entry)
                marked_[at(sent_to_[at(entry)])] = 1;
    }

    void list_receivers() {
        marked_.resize(receivers_.size());
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
        auto &receiver = receivers_[host];
        const auto count = first_[host + 1] - first_[host], rising = receiver.rising, limited = count - rising;
        auto *const source = &source_[at(first_[host])];
        auto *const asking = asking_.data();
        double total = limited > 0 ? limited * receiver.limit : 0;
        for (std::int32_t flow = 0; flow < rising; ++flow)
            total += asking[flow] = share_[at(source[flow])];
        if (total <= 1 + same)
            return;
        // Flows that ask for less than their share get it, and leave more for the others. The share only rises, except
        // from the first pass to the second: it starts at the limit, which may be too large, and then is too small.
        double share = limited > 0 ? receiver.limit : 1.0 / count, least = 0;
        for (std::int32_t pass = 0, more = -1, before = -2; pass > 2 ? more < before : more != before; ++pass) {
            before = std::exchange(more, 0);
            least = share - same;
            double taken = 0;
            for (std::int32_t flow = 0; flow < rising; ++flow) {
                const bool is_less = asking[flow] < least;
                taken += is_less ? asking[flow] : 0;
                more += !is_less;
            }
            share = (1 - taken) / (limited + more);
        }
        if (limited > 0) {
            const double change = share - receiver.limit;
            for (auto flow = rising; flow < count; ++flow)
                senders_[at(source[flow])].fixed += change;
            changed_ |= std::abs(change) > same;
        }
        receiver.limit = share;
        limit(receiver, source, share, least);
    }

    // Moves the flows that ask for at least `least` behind those that rise.
    void limit(Receiver &receiver, std::int32_t *source, double share, double least) {
        std::int32_t rising = 0, limited = 0;
        for (std::int32_t flow = 0; flow < receiver.rising; ++flow) {
            const auto from = source[flow];
            const bool is_less = asking_[at(flow)] < least;
            source[rising] = from;
            limited_[at(limited)] = from;
            rising += is_less;
            limited += !is_less;
        }
        for (std::int32_t flow = 0; flow < limited; ++flow) {
            const auto from = source[rising + flow] = limited_[at(flow)];
            auto &sender = senders_[at(from)];
            sender.fixed += share;
            --sender.rising;
        }
        receiver.rising = rising;
        changed_ |= limited > 0;
    }

    std::span<const std::int32_t> sources_, targets_;
    Kept<std::int32_t> moved_;                // senders whose share has changed in this round
    Kept<std::int32_t> sent_first_, sent_to_; // the receivers of each sender, computed on first use
    Kept<std::uint8_t> marked_;               // receivers to visit
    Kept<std::int32_t> first_;                // where the flows of each receiver begin
    Kept<std::int32_t> source_;               // source of each of them
    Kept<double> share_;                      // rate of each rising flow of a sender
    Kept<Sender> senders_;
    Kept<Receiver> receivers_;
    Kept<double> asking_;        // buffer: what the flows of a receiver ask for
    Kept<std::int32_t> limited_; // buffer: the senders of the flows that it limits
    bool changed_ = false;
};

} // namespace

Estimate estimate(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                  double nic_rate, std::int32_t most_rounds) {
    if (hosts < 0)
        throw std::invalid_argument("hosts: expected a number that is not negative");
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
    found.demand = estimation.demands(nic_rate);
    return found;
}

} // namespace kuijia::hedera

#include "parted_simulation.hpp"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

namespace kuijia::packet {

namespace {

constexpr Time slices = 4; // in the shortest delay

Parting parted_if_sound(const Scenario &scenario) {
    scenario.validate();
    return parted(scenario);
}

} // namespace

PartedSimulation::PartedSimulation(const Scenario &scenario, unsigned threads)
    : parting_(parted_if_sound(scenario)), threads_(threads), places_(parting_.parts),
      slice_(std::max<Time>(1, parting_.shortest / slices)) {
    const auto of_node = std::make_shared<const std::vector<std::uint32_t>>(parting_.of_node);
    for (std::uint32_t number = 0; number < parting_.parts; ++number) {
        auto &simulation = places_[number].simulation;
        simulation = std::make_unique<Simulation>(scenario);
        finite_ = simulation->unfinished();
        simulation->become(
            std::make_unique<Part>(Part{number,
                                        of_node,
                                        EventOrder(scenario.seed, static_cast<Source>(scenario.links.size())),
                                        parting_.shortest,
                                        std::vector<Key>(parting_.parts),
                                        std::vector<std::vector<Packet>>(scenario.links.size()),
                                        {},
                                        std::vector<std::vector<SenderEnd>>(parting_.parts),
                                        std::vector<Transit>(scenario.links.size())}));
    }
}

bool PartedSimulation::run(Time until, std::uint64_t events) {
    if (until < now_)
        return true;
    target_ = until;
    most_events_ = events_ + events;
    std::vector<std::thread> others;
    for (unsigned thread = 1; thread < std::min(threads_, parting_.parts); ++thread)
        others.emplace_back([this] { work(); });
    work();
    for (auto &thread : others)
        thread.join();
    if (fault_)
        std::rethrow_exception(std::exchange(fault_, nullptr));
    settle();
    return target_ == until || std::ranges::all_of(places_, [](const Place &place) { return place.next == never; });
}

// Takes slices of parts until all have reached the target.
void PartedSimulation::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (fault_ || std::ranges::all_of(places_, [&](const Place &place) { return place.clock >= target_; }))
            break;
        if (auto *place = choose())
            do_slice(lock, *place);
        else
            changed_.wait(lock);
    }
    changed_.notify_all();
}

// Returns the part that is behind of those that may go on; null if there is none.
PartedSimulation::Place *PartedSimulation::choose() {
    skip_silence();
    Place *best = nullptr;
    for (auto &place : places_) {
        if (place.busy || places_[place.waits_for].done < place.waits || limit_of(place) <= place.clock)
            continue;
        if (best == nullptr || place.clock < best->clock)
            best = &place;
    }
    return best;
}

Time PartedSimulation::limit_of(const Place &place) const {
    auto limit = std::min(target_, place.clock + slice_);
    const auto number = static_cast<std::size_t>(&place - places_.data());
    for (std::size_t other = 0; other < places_.size(); ++other)
        if (const auto delay = parting_.delays[other][number]; delay < never - slice_)
            limit = std::min(limit, places_[other].clock + delay);
    return limit;
}

void PartedSimulation::do_slice(std::unique_lock<std::mutex> &lock, Place &place) {
    auto &simulation = *place.simulation;
    auto &part = *simulation.part_;
    place.busy = true;
    place.limit = limit_of(place);
    auto inbox = std::exchange(place.inbox, {});
    std::vector<Mail> mail(places_.size());
    std::ranges::transform(places_, part.done.begin(), &Place::done);
    const auto before = simulation.events();
    lock.unlock();
    std::exception_ptr fault;
    Key done = 0;
    try {
        for (auto &each : inbox)
            simulation.take_over(std::move(each));
        simulation.end_receivers(place.done);
        done = simulation.run_part(place.limit);
        simulation.collect(mail);
    } catch (...) {
        fault = std::current_exception();
    }
    lock.lock();
    place.busy = false;
    if (fault) {
        fault_ = fault;
        return changed_.notify_all();
    }
    place.done = done;
    place.next = simulation.next_in_part();
    place.clock = static_cast<Time>(done >> 64) - 1;
    place.waits = place.clock < place.limit ? done : 0;
    place.waits_for = part.waits_for;
    for (std::size_t other = 0; other < places_.size(); ++other)
        if (!mail[other].empty())
            places_[other].inbox.push_back(std::move(mail[other]));
    events_ += simulation.events() - before;
    if (events_ >= most_events_)
        end_soon();
    changed_.notify_all();
}

// Lets all parts stop at the first time that none has passed.
void PartedSimulation::end_soon() {
    Time end = 0;
    for (const auto &place : places_)
        end = std::max(end, place.busy ? place.limit : place.clock);
    target_ = std::min(target_, end);
}

// Passes over the time in which nothing happens anywhere.
void PartedSimulation::skip_silence() {
    auto next = never;
    for (const auto &place : places_) {
        if (place.busy || !place.inbox.empty())
            return;
        next = std::min(next, place.next);
    }
    const auto clock = std::min(target_, next - 1);
    for (auto &place : places_)
        if (place.clock < clock) {
            place.clock = clock;
            place.done = std::max(place.done, Part::after(clock));
        }
}

// Takes over what is on its way, and brings all parts to the same time.
void PartedSimulation::settle() {
    bool over = true;
    for (auto &place : places_) {
        for (auto &mail : place.inbox)
            place.simulation->take_over(std::move(mail));
        place.inbox.clear();
        place.simulation->end_receivers(place.done);
        place.next = place.simulation->next_in_part();
        over = over && place.next == never;
        now_ = std::max(now_, place.simulation->now_);
    }
    if (!over)
        now_ = target_;
    for (auto &place : places_)
        place.simulation->now_ = now_;
}

PacketTotals PartedSimulation::totals() const {
    PacketTotals all;
    for (const auto &place : places_) {
        const auto &of = place.simulation->totals();
        all.made += of.made;
        all.arrived += of.arrived;
        all.dropped += of.dropped;
        all.lost += of.lost;
        all.unroutable += of.unroutable;
        all.swallowed += of.swallowed;
        all.data_arrived += of.data_arrived;
        all.probes += of.probes;
        all.probe_bytes += of.probe_bytes;
    }
    return all;
}

std::size_t PartedSimulation::packets_in_flight() const {
    std::size_t count = 0;
    for (const auto &place : places_) {
        count += place.simulation->packets_in_flight();
        for (const auto &transit : place.simulation->part_->transit)
            count += transit.count();
    }
    return count;
}

std::size_t PartedSimulation::packets_allocated() const {
    std::size_t count = 0;
    for (const auto &place : places_)
        count += place.simulation->packets_allocated();
    return count;
}

std::size_t PartedSimulation::unfinished() const {
    auto count = finite_;
    for (const auto &place : places_)
        count -= finite_ - place.simulation->unfinished();
    return count;
}

FlowRecord PartedSimulation::record(std::size_t number) const {
    FlowRecord all;
    for (const auto &place : places_) {
        const auto of = place.simulation->record(number);
        all.finished = std::min(all.finished, of.finished);
        all.acknowledged = std::min(all.acknowledged, of.acknowledged);
        all.goodput += of.goodput;
        all.sent_packets += of.sent_packets;
        all.arrived_packets += of.arrived_packets;
        all.dropped_packets += of.dropped_packets;
        all.marked_packets += of.marked_packets;
        all.reordered += of.reordered;
        all.next_number = std::max(all.next_number, of.next_number);
        all.retransmitted += of.retransmitted;
        all.timeouts += of.timeouts;
        all.recoveries += of.recoveries;
        all.offered += of.offered;
        all.credits += of.credits;
        all.unused += of.unused;
        all.yielded += of.yielded;
    }
    return all;
}

TransportCounters PartedSimulation::counters(std::size_t number) const {
    const auto &flow = first().flows_[number];
    auto all = at_node(flow.source).counters(number);
    if (parting_.of_node[flow.source] != parting_.of_node[flow.target])
        all.goodput += at_node(flow.target).counters(number).goodput;
    return all;
}

Port &PartedSimulation::port(std::size_t link) const {
    return at_node(first().scenario_.links[link].source).port(link);
}

std::vector<std::uint32_t> PartedSimulation::on_links() const {
    std::vector<std::uint32_t> counts(links());
    for (const auto &place : places_) {
        const auto of = place.simulation->on_links();
        std::ranges::transform(counts, of, counts.begin(), std::plus{});
        for (std::size_t link = 0; link < counts.size(); ++link)
            counts[link] += static_cast<std::uint32_t>(place.simulation->part_->transit[link].count());
    }
    return counts;
}

} // namespace kuijia::packet

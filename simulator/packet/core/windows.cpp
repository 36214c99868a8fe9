// Runs of a simulation by windows: packets pass through switches port by port, and the events of hosts come one by one.
#include "windows.hpp"

#include "compiler.hpp"
#include "simulation.hpp"

#include <algorithm>
#include <iterator>

namespace kuijia::packet {

namespace {

enum Role : std::uint8_t { begins = 1, goes_on = 2, ends_here = 4, leads_on = 8 };

// How many hops before their turn packets, ports and what waits at these are fetched.
constexpr std::size_t packets_ahead = 24;
constexpr std::size_t ports_ahead = 16;
constexpr std::size_t waiting_ahead = 6;

constexpr bool agree(unsigned roles) {
    return (roles & (begins | goes_on)) != (begins | goes_on) &&
           (roles & (ends_here | leads_on)) != (ends_here | leads_on);
}

// Returns true if a port draws no random numbers.
bool is_settled(const Port &port) {
    return port.discipline == no_discipline && !port.lossy && !std::holds_alternative<RedRules>(port.rules->marking);
}

} // namespace

// Notes for what packets of a route use its links, and leaves windows if these are not for such a route.
void Simulation::note_roles(const std::vector<std::uint32_t> &route) {
    bool fits = true;
    for (std::size_t place = 0; place < route.size(); ++place) {
        const auto link = route[place];
        auto &roles = roles_[link];
        roles |= place == 0 ? begins : goes_on;
        roles |= place + 1 == route.size() ? ends_here : leads_on;
        roles_agree_ = roles_agree_ && agree(roles);
        fits = fits && (windows_ == nullptr || place == 0 || ports_[link].delay >= windows_->delay);
    }
    if (windows_ != nullptr && !(fits && roles_agree_))
        leave_windows();
}

void Simulation::choose_windows() {
    auto delay = never; // the least of the links by which packets leave switches
    for (std::uint32_t link = 0; link < links_; ++link)
        if (roles_[link] & goes_on)
            delay = std::min(delay, ports_[link].delay);
    if (!roles_agree_ || forwarding_ != nullptr || delay < HopCalendar::shortest || delay == never ||
        !std::ranges::all_of(ports_, is_settled))
        return;
    windows_ = std::make_unique<Windows>(Windows{delay, HopCalendar(delay), LinkOrder(links_)});
}

// Makes events of all packets that are on their way to switches.
void Simulation::leave_windows() {
    pass_switches(now_); // of the present window, if its hosts have come so far
    std::vector<Hop> hops;
    windows_->calendar.for_each([&](const Hop &hop) { hops.push_back(hop); });
    windows_.reset();
    std::ranges::sort(hops, {}, &Hop::at);
    for (const auto &hop : hops)
        carry(hop.packet, hops_[pool_[hop.packet].hop]);
}

// Lets everything happen in the window that begins with the next event, or up to the next change; or this change.
void Simulation::take_window(Time from, Time until) {
    const auto change = std::min(timers_[own_timers_ + changes].armed, timers_[own_timers_ + probes].armed);
    if (from == change)
        return take_changes(from);
    const auto end = std::min({windows_->calendar.window_end(from), change, until + 1});
    for (auto time = queue_.next_time(); time < end; time = queue_.next_time())
        take_event(time);
    if (windows_ != nullptr)
        pass_switches(end);
}

// Lets the events at a moment happen, each after those packets that come to switches before it.
void Simulation::take_changes(Time time) {
    while (queue_.next_time() == time) {
        if (windows_ != nullptr) {
            std::vector<Hop> now;
            windows_->calendar.take(time + 1, [&](auto hops) { now.insert(now.end(), hops.begin(), hops.end()); });
            const auto later = std::partition(now.begin(), now.end(),
                                              [&](const Hop &hop) { return order_(event_of(hop), queue_.first()); });
            windows_->order.add({now.begin(), later});
            pass();
            std::for_each(later, now.end(), [&](const Hop &hop) { windows_->calendar.add(hop); });
        }
        take_event(time);
    }
}

// Passes on all packets that come to switches before `end`.
void Simulation::pass_switches(Time end) {
    windows_->calendar.take(end, [&](auto hops) { windows_->order.add(hops); });
    pass();
}

// Passes on the packets that were put into order.
void Simulation::pass() {
    const auto hops = windows_->order.take([&](const Hop &one, const Hop &other) {
        return one.at < other.at || (one.at == other.at && order_(event_of(one), event_of(other)));
    });
    auto *const packets = pool_.data(); // nothing here moves packets, ports or hops
    auto *const ports = ports_.data();
    const auto *const next_hops = hops_.data() + 1;
    auto latest = now_;
    for (std::size_t place = 0; place < hops.size(); ++place) {
        if (wide_ && place + packets_ahead < hops.size()) {
            fetch(packets + hops[place + packets_ahead].packet);
            fetch(ports + hops[place + ports_ahead].next, 2 * cache_line);
            ports[hops[place + waiting_ahead].next].waiting.fetch_ends();
            fetch(next_hops + packets[hops[place + waiting_ahead].packet].hop + 1);
        }
        const auto [at, id, link] = hops[place];
        auto &packet = packets[id];
        auto &port = ports[link];
        trace_.offered(id, link, packet.level);
        latest = std::max(latest, at);
        const auto next = next_hops[++packet.hop];
        if (!port.up) [[unlikely]] {
            lose(id, link);
        } else if (!port.offer(packet, at, queue_draws_)) [[unlikely]] {
            ++totals_.dropped;
            drop(id);
        } else if (next != no_hop) {
            windows_->calendar.add({packet.at, id, next});
        } else {
            join(port.link, id, link);
        }
    }
    now_ = latest;
    events_ += hops.size();
}

// Returns the event that the arrival at a switch would be.
Event Simulation::event_of(const Hop &hop) const { return {hop.at, arrival_at(hops_[pool_[hop.packet].hop])}; }

// Loses the packets that are on a link to a switch.
void Simulation::lose_hops(std::uint32_t link) {
    auto first = never;
    windows_->calendar.remove_if([&](const Hop &hop) {
        if (hops_[pool_[hop.packet].hop] != link)
            return false;
        first = std::min(first, hop.at);
        lose(hop.packet, link);
        return true;
    });
    if (first != never)
        queue_.push(first, arrival_at(link)); // nothing will have come, as with any link that fails
}

} // namespace kuijia::packet

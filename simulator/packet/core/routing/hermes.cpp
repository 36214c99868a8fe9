#include "routing/hermes.hpp"

#include "scenario.hpp"

#include <algorithm>
#include <limits>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t nowhere = 0xffffffff;
constexpr std::uint32_t full_packet = 1500; // bytes
constexpr std::uint32_t small_packet = 40;

} // namespace

std::unique_ptr<PathChoice> HermesRules::choice(PathNetwork &network, std::uint64_t seed) const {
    return std::make_unique<Hermes>(*this, network, mixed(seed + 0x6865726d6573));
}

Hermes::Hermes(const HermesRules &rules, PathNetwork &network, std::uint64_t seed)
    : rules_(rules), sensing_(rules.sensing()), discount_{rules.rate_period, rules.rate_gain}, network_(network),
      racks_(network), probes_(network, racks_), seed_(seed), random_(seed) {}

// Algorithm 2.
std::uint32_t Hermes::choose(Packet &packet, const Choices &choices) {
    const auto now = packet.sent;
    keep_probing(now);
    if (packet.backward)
        return answer_place(packet, choices);
    if (packet.flow >= flows_.size())
        flows_.resize(packet.flow + std::size_t{1});
    auto &flow = flows_[packet.flow];
    const bool same = flow.begun && flow.set == choices.set && flow.version == choices.version;
    if (!flow.begun)
        begin(flow, packet, choices);
    if (packet.again && flow.path != no_path && rules_.detects_failures) {
        const auto taken = packet.number < flow.moved_at ? flow.before : flow.path;
        if (auto &rack = rack_view(flow.pair); taken != no_path)
            counters_.failed += rack.at(taken).sent_again(sensing_, rack.base, now);
    }
    const bool must_move = (!same && !follow(flow, choices)) || flow.timed_out;
    if (must_move || failed(flow, {flow.pair, flow.path}, now)) {
        auto place = fresh_place(flow, choices, now);
        if (place == nowhere && must_move) // all have failed
            place = static_cast<std::uint32_t>(random_.below(choices.count()));
        if (place != nowhere)
            move(flow, place, choices, now);
    } else if (wants_to_move(flow, now)) {
        if (const auto place = better_place(flow, choices, now); place != nowhere) {
            move(flow, place, choices, now);
            flow.before = no_path; // segments that arrive late on it, and are sent again, are not its losses
        }
    }
    note_sent(flow, packet, now);
    packet.path = flow.path;
    return flow.place;
}

// Agents probe as long as hosts send.
void Hermes::keep_probing(Time now) {
    is_active_ = true;
    if (is_awake_ || !rules_.probing)
        return;
    is_awake_ = true;
    network_.wake_at(now);
}

Hermes::Pair &Hermes::pair_of(std::uint32_t number) {
    while (number >= pairs_.size()) {
        pairs_.push_back({static_cast<std::uint32_t>(views_.size()), {}});
        views_.emplace_back();
    }
    return pairs_[number];
}

// Returns the number of what a host knows of a pair of racks. If that is its own it begins with what probes have told.
std::uint32_t Hermes::view_of(std::uint32_t host, std::uint32_t pair) {
    auto &racks = pair_of(pair);
    if (rules_.shares_data)
        return racks.view;
    const auto next = static_cast<std::uint32_t>(views_.size());
    const auto [known, is_new] = host_views_.try_emplace(std::uint64_t{host} << 32 | pair, next);
    if (is_new) {
        racks.host_views.push_back(next);
        views_.push_back(View(views_[racks.view]));
    }
    return known->second;
}

SensedPath &Hermes::path_at(std::uint32_t host, RackPaths::Place place) {
    return views_[view_of(host, place.pair)].at(place.path);
}

// Returns the delay of a full packet in an empty network, or its round-trip time, the way back as long as the way
// there.
Time Hermes::base_of(const std::vector<std::uint32_t> &route) const {
    Time base = 0;
    for (const auto link : route) {
        const auto &of = network_.link(link);
        const Rate rate(of.bits_per_second);
        const auto back = rules_.one_way ? 0 : of.delay + rate.of(small_packet);
        base = std::min(base + of.delay + rate.of(full_packet) + back, longest);
    }
    return base;
}

void Hermes::begin(Flow &flow, const Packet &packet, const Choices &choices) {
    flow.begun = true;
    const auto ends = network_.ends(packet.flow);
    flow.source = ends.source;
    flow.pair = racks_.of(choices.routes.front()).pair;
    flow.view = view_of(flow.source, flow.pair);
    const auto &card = network_.link(network_.route(choices.routes.front()).front());
    flow.most = discount_.bytes_at(rules_.rate * static_cast<double>(card.bits_per_second));
    const auto next = static_cast<std::uint32_t>(hosts_.size());
    const auto [known, is_new] = host_numbers_.try_emplace(std::uint64_t{ends.source} << 32 | ends.target, next);
    if (is_new)
        hosts_.emplace_back();
    flow.hosts = known->second;
}

// The routes have changed. Returns true if the flow's path is still among them, and notes its place.
bool Hermes::follow(Flow &flow, const Choices &choices) {
    flow.set = choices.set;
    flow.version = choices.version;
    set_base(flow, choices);
    for (std::uint32_t place = 0; place < choices.count(); ++place)
        if (racks_.of(choices.routes[place]) == RackPaths::Place{flow.pair, flow.path}) {
            flow.place = place;
            return true;
        }
    return false;
}

// Holds the delays of all paths against that of the fastest, if there is nothing that they are held against yet.
void Hermes::set_base(const Flow &flow, const Choices &choices) {
    auto base = rules_.base > 0 ? rules_.base : longest;
    if (rules_.base == 0)
        for (const auto number : choices.routes)
            base = std::min(base, base_of(network_.route(number)));
    for (const auto number : choices.routes) {
        const auto at = racks_.of(number);
        path_at(flow.source, at);
        for (auto *of : {&views_[view_of(flow.source, at.pair)], &rack_view(at.pair)})
            if (of->base == 0)
                of->base = base;
    }
}

bool Hermes::failed(const Flow &flow, RackPaths::Place place, Time now) {
    if (!rules_.detects_failures)
        return false;
    const auto *hosts = hosts_[flow.hosts].find(place);
    return rack_view(place.pair).at(place.path).failed(now) || (hosts != nullptr && now < hosts->failed_until);
}

// Returns the place with the lowest r_p among those eligible, at random if there are several; `nowhere` if there is
// none.
template <typename Eligible>
std::uint32_t Hermes::least_loaded(const Flow &flow, const Choices &choices, Time now, const Eligible &eligible) {
    auto least = std::numeric_limits<double>::infinity();
    std::uint32_t best = nowhere;
    std::uint64_t equal = 0;
    for (std::uint32_t place = 0; place < choices.count(); ++place) {
        const auto at = racks_.of(choices.routes[place]);
        auto &path = path_at(flow.source, at);
        if (!eligible(path, at))
            continue;
        const auto rate = path.rate.at(now, discount_);
        if (rate < least) {
            least = rate;
            best = place;
            equal = 1;
        } else if (rate == least && random_.below(++equal) == 0) {
            best = place;
        }
    }
    return best;
}

// Returns the place for a flow that is new or has to leave its path: the good path with the lowest r_p, or gray one, or
// any that has not failed; `nowhere` if all have.
std::uint32_t Hermes::fresh_place(const Flow &flow, const Choices &choices, Time now) {
    const auto base = views_[flow.view].base;
    for (const auto kind : {PathKind::good, PathKind::gray}) {
        const auto place = least_loaded(flow, choices, now, [&](const SensedPath &path, RackPaths::Place at) {
            return path.kind(sensing_, base) == kind && !failed(flow, at, now);
        });
        if (place != nowhere)
            return place;
    }
    std::uint32_t alive = 0;
    std::uint32_t chosen = nowhere;
    for (std::uint32_t place = 0; place < choices.count(); ++place)
        if (!failed(flow, racks_.of(choices.routes[place]), now) && random_.below(++alive) == 0)
            chosen = place;
    return chosen;
}

// Returns true if the flow is on a congested path, has sent enough, and is slow.
bool Hermes::wants_to_move(Flow &flow, Time now) {
    if (!rules_.rerouting || flow.sent <= rules_.sent ||
        views_[flow.view].at(flow.path).kind(sensing_, views_[flow.view].base) != PathKind::congested ||
        flow.rate.at(now, discount_) >= flow.most || now - flow.decided < rules_.reroute_pause)
        return false;
    flow.decided = now;
    return rules_.reroute_share >= 1 || random_.unit() < rules_.reroute_share;
}

// Returns the place of a path that is notably better: a good one, or else a gray one; `nowhere` if there is none.
std::uint32_t Hermes::better_place(const Flow &flow, const Choices &choices, Time now) {
    const auto base = views_[flow.view].base;
    const SensedPath present = views_[flow.view].paths[flow.path]; // copied: views may be added below
    const auto gain = static_cast<double>(rules_.better_round_trip);
    for (const auto kind : {PathKind::good, PathKind::gray}) {
        const auto place = least_loaded(flow, choices, now, [&](const SensedPath &path, RackPaths::Place at) {
            return path.known() && path.kind(sensing_, base) == kind && !failed(flow, at, now) &&
                   present.delay() - path.delay() > gain &&
                   (!rules_.uses_ecn || present.marked() - path.marked() > rules_.better_marked);
        });
        if (place != nowhere)
            return place;
    }
    return nowhere;
}

void Hermes::move(Flow &flow, std::uint32_t place, const Choices &choices, Time now) {
    const auto to = racks_.of(choices.routes[place]);
    flow.timed_out = false;
    flow.place = place;
    if (to.pair == flow.pair && to.path == flow.path)
        return;
    const auto view = view_of(flow.source, to.pair);
    if (flow.path != no_path) {
        const auto rate = flow.rate.at(now, discount_);
        views_[flow.view].at(flow.path).rate.add(-rate, now, discount_);
        views_[view].at(to.path).rate.add(rate, now, discount_);
        ++counters_.moves;
    }
    flow.before = flow.path;
    if (to.pair != flow.pair && flow.path != no_path) {
        flow.before = no_path;
        flow.racks_since = now;
    }
    flow.moved_at = flow.next;
    flow.sent = 0;
    flow.pair = to.pair;
    flow.view = view;
    flow.path = to.path;
}

void Hermes::note_sent(Flow &flow, const Packet &packet, Time now) {
    if (packet.kind == Kind::data) {
        flow.next = std::max(flow.next, packet.number + 1);
        if (auto &rack = rack_view(flow.pair); rules_.detects_failures)
            counters_.failed += rack.at(flow.path).sent(sensing_, rack.base, now);
    }
    flow.sent += packet.size;
    flow.rate.add(packet.size, now, discount_);
    views_[flow.view].paths[flow.path].rate.add(packet.size, now, discount_);
}

// Returns the place of a packet of the receiver. It keeps its path, unless the flow has paused or the path has failed.
std::uint32_t Hermes::answer_place(const Packet &packet, const Choices &choices) {
    if (packet.flow >= answers_.size())
        answers_.resize(packet.flow + std::size_t{1});
    auto &answers = answers_[packet.flow];
    const auto count = choices.count();
    if (packet.sent - answers.last >= rules_.answer_pause) {
        const bool is_first = answers.last == -longest;
        if (is_first)
            for (const auto route : choices.routes) // probes need all ways back
                racks_.of(route);
        answers.draw = is_first || count == 1 ? random_.next() : answers.draw % count + 1 + random_.below(count - 1);
    }
    answers.last = packet.sent;
    if (rules_.hashed_answers)
        return hashed_place(seed_, packet.flow, choices);
    for (std::uint32_t step = 0; step < count; ++step) {
        const auto place = static_cast<std::uint32_t>((answers.draw % count + step) % count);
        const auto at = racks_.of(choices.routes[place]);
        if (!rules_.detects_failures || !rack_view(at.pair).at(at.path).failed(packet.sent))
            return place;
    }
    return static_cast<std::uint32_t>(answers.draw % count);
}

// Returns the delay that an answer tells of its path, if there was room for it.
std::optional<Time> Hermes::delay(const Packet &answer, Time now) const {
    if (!rules_.one_way)
        return now - answer.sent;
    return has_delay(answer) ? std::optional(delay_of(answer)) : std::nullopt;
}

void Hermes::acknowledged(const Packet &packet, Time now) {
    if (packet.flow >= flows_.size() || packet.path == no_path)
        return;
    const auto &flow = flows_[packet.flow];
    if (!flow.begun || packet.sent < flow.racks_since || packet.path >= views_[flow.view].paths.size())
        return;
    auto &own = views_[flow.view];
    own.paths[packet.path].acknowledged(sensing_, delay(packet, now), packet.echo);
    if (rules_.detects_failures && own.paths[packet.path].kind(sensing_, own.base) == PathKind::congested)
        rack_view(flow.pair).at(packet.path).found_congested();
    if (auto *path = hosts_[flow.hosts].find({flow.pair, packet.path}); path != nullptr)
        path->timeouts = 0;
}

void Hermes::timed_out(std::uint32_t number, Time now) {
    if (number >= flows_.size() || !flows_[number].begun)
        return;
    auto &flow = flows_[number];
    flow.timed_out = true;
    auto &hosts = hosts_[flow.hosts];
    const RackPaths::Place place{flow.pair, flow.path};
    if (hosts.find(place) == nullptr)
        hosts.paths.push_back({place});
    auto &path = *hosts.find(place);
    if (++path.timeouts < rules_.failure_timeouts || !rules_.detects_failures)
        return;
    path.timeouts = 0;
    counters_.failed += now >= path.failed_until;
    path.failed_until = now + rules_.failure_lasts;
}

void Hermes::ended(std::uint32_t number, Time now) {
    if (number >= flows_.size() || !flows_[number].begun)
        return;
    auto &flow = flows_[number];
    if (flow.path != no_path)
        views_[flow.view].at(flow.path).rate.add(-flow.rate.at(now, discount_), now, discount_);
    flow = {};
}

// Power of two choices: paths at random, and the best one known.
void Hermes::wake(Time now) {
    is_awake_ = is_active_;
    if (!is_active_)
        return;
    is_active_ = false;
    std::vector<std::uint16_t> others;
    for (std::uint32_t number = 0; number < racks_.pairs(); ++number) {
        auto &view = rack_view(number);
        others.clear();
        std::uint16_t best = no_path;
        for (std::uint16_t path = 0; path < racks_.pair(number).paths.size(); ++path) {
            if (!probes_.can_ask(number, path))
                continue;
            others.push_back(path);
            const auto &of = view.at(path);
            if (of.known() && !of.failed(now) && (best == no_path || of.delay() < view.paths[best].delay()))
                best = path;
        }
        const RackProbes::Form form{rules_.probe_size, static_cast<std::uint8_t>(rules_.probe_level)};
        if (best != no_path) {
            std::erase(others, best);
            probes_.ask(number, best, form, now);
        }
        for (std::uint32_t asked = 0; asked < rules_.probe_paths && !others.empty(); ++asked) {
            const auto place = static_cast<std::ptrdiff_t>(random_.below(others.size()));
            probes_.ask(number, others[static_cast<std::size_t>(place)], form, now);
            others.erase(others.begin() + place);
        }
    }
    network_.wake_at(now + rules_.probe_every);
}

void Hermes::probed(const Packet &packet, Time now) {
    if (!packet.backward)
        return probes_.answer(packet, now);
    const auto told = delay(packet, now).value();
    rack_view(packet.number).at(packet.path).probed(sensing_, told, packet.echo);
    for (const auto view : pairs_[packet.number].host_views)
        views_[view].at(packet.path).probed(sensing_, told, packet.echo);
}

} // namespace kuijia::packet

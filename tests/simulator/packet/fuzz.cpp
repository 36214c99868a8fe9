// Runs the core on arbitrary scenarios, valid and invalid; tests/simulator/packet/fuzz.py builds it with sanitizers.
#include "drawing.hpp"
#include "event_order.hpp"
#include "flowlet_paths.hpp"
#include "fuzzing.hpp"
#include "random_tables.hpp"
#include "simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace {

using namespace kuijia::packet;

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
    bool once_in(std::uint64_t times) { return below(times) == 0; }
    template <typename Value> Value one_of(std::initializer_list<Value> values) {
        return values.begin()[below(values.size())];
    }

    Scenario sound() {
        Scenario scenario;
        scenario.seed = random_.next();
        scenario.nodes = 1 + below(4);
        for (auto count = 1 + below(3); count-- > 0;)
            scenario.queueings.push_back(drawn<QueueingRules>(random_));
        const bool busy = once_in(2); // much arrives, and may overtake
        for (auto count = 1 + below(8); count-- > 0;)
            scenario.links.push_back(
                {busy ? one_of<std::int64_t>({100'000'000, 1'000'000'000})
                      : one_of<std::int64_t>({10'000, 3'333'333, 1'000'000'000, fastest}),
                 busy ? one_of<Time>({0, 1, 50'000'000, second / 1000}) : one_of<Time>({0, 1, 50'000'000, second}),
                 busy ? 0.0 : one_of({0.0, 0.0, 0.01, 1.0}), below(scenario.queueings.size()), below(scenario.nodes),
                 below(scenario.nodes), below(5)});
        for (auto count = 1 + below(5); count-- > 0;) {
            auto &route = scenario.routes.emplace_back();
            for (auto length = 1 + below(4); length-- > 0;)
                route.push_back(below(scenario.links.size()));
        }
        for (auto count = 1 + below(4); count-- > 0;) {
            auto &paths = scenario.paths.emplace_back();
            for (auto routes = 1 + below(3); routes-- > 0;)
                paths.push_back(below(scenario.routes.size()));
        }
        for (auto count = below(3); count-- > 0;)
            scenario.hosts.push_back(below(scenario.nodes));
        scenario.forwarding = drawn<ForwardingRules>(random_);
        give_ports(scenario);
        scenario.choice = drawn<PathChoiceRules>(random_);
        for (auto count = below(4); count-- > 0;)
            scenario.known_changes.push_back({moment(), below(scenario.links.size()), once_in(2)});
        for (auto count = 1 + below(3); count-- > 0;)
            scenario.transports.push_back(drawn<TransportRules>(random_));
        for (auto count = below(6); count-- > 0;)
            scenario.flows.push_back(flow(scenario));
        for (auto count = below(5); count-- > 0;)
            scenario.link_changes.push_back({moment(), below(scenario.links.size()), once_in(2)});
        for (auto count = scenario.flows.empty() ? 0 : below(4); count-- > 0;)
            scenario.route_changes.push_back(
                {moment(), below(scenario.flows.size()), below(scenario.paths.size()), below(scenario.paths.size())});
        for (auto count = below(6) / 3; count-- > 0;)
            scenario.random_drops.push_back({below(scenario.nodes), moment(), moment(), one_of({0.0, 0.01, 0.5, 1.0})});
        for (auto count = below(6) / 3; count-- > 0;)
            scenario.black_holes.push_back(
                {below(scenario.nodes), moment(), moment(), below(scenario.nodes), below(scenario.nodes)});
        if (once_in(3)) {
            scenario.probed.push_back(below(scenario.links.size()));
            scenario.probed_every = second / 100;
        }
        return scenario;
    }

    // Forwards by flow tables, with ports and addresses for all links and nodes.
    void give_ports(Scenario &scenario) {
        auto *rules = std::get_if<TableSwitchedRules>(&scenario.forwarding);
        if (rules == nullptr || once_in(4))
            return;
        for (std::uint32_t link = 0; link < scenario.links.size(); ++link) {
            rules->out_ports.resize(scenario.links.size());
            rules->in_ports.resize(scenario.links.size());
            rules->out_ports[link] = rules->in_ports[link] = 1 + link;
        }
        rules->addresses.assign(scenario.nodes, below(3));
        rules->queues = {0, 1, 2};
    }

    RandomTables tables(const Scenario &scenario) {
        return {random_, std::get<TableSwitchedRules>(scenario.forwarding).out_ports};
    }

    // Replace one number by a value that may be invalid.
    void spoil(Scenario &scenario) {
        const auto number = one_of<std::int64_t>({-1, 0, 1, largest_packet, never, std::int64_t{1} << 40});
        const auto small = static_cast<std::uint32_t>(number);
        auto &route = scenario.routes[below(scenario.routes.size())];
        auto &link = scenario.links[below(scenario.links.size())];
        std::vector<Setter> setters{
            [&](std::int64_t) { route.clear(); },
            [&](std::int64_t) { route.front() = small; },
            [&](std::int64_t) { scenario.paths.front().clear(); },
            [&](std::int64_t) { scenario.paths.back().front() = small; },
            [&](std::int64_t) { scenario.hosts.push_back(small); },
            [&](std::int64_t time) { scenario.known_changes.push_back({time, small, false}); },
            [&](std::int64_t) { link.queueing = small; },
            [&](std::int64_t) { link.target = small; },
            [&](std::int64_t) { link.input = small; },
            [&](std::int64_t time) { scenario.link_changes.push_back({time, small, true}); },
            [&](std::int64_t time) { scenario.random_drops.push_back({small, 0, time, 0.5}); },
            [&](std::int64_t time) { scenario.black_holes.push_back({small, time, time, 0, small}); },
        };
        const auto add_all = [&](auto &rows) {
            for (auto &row : rows)
                add_setters(setters, row);
        };
        add_all(scenario.links);
        add_all(scenario.queueings);
        add_all(scenario.transports);
        add_all(scenario.flows);
        add_all(scenario.random_drops);
        add_all(scenario.black_holes);
        add_setters(setters, scenario.forwarding);
        add_setters(setters, scenario.choice);
        setters[below(setters.size())](number);
    }

  private:
    Time moment() { return below(100) * (second / 100); }

    FlowRules flow(const Scenario &scenario) {
        return {static_cast<std::uint8_t>(below(4)),
                below(scenario.transports.size()),
                below(scenario.paths.size()),
                below(scenario.paths.size()),
                moment(),
                one_of<std::uint64_t>({0, 1, 1460, 50'000, 300'000})};
    }

    Random random_;
};

// Checks what must hold of every scenario at any time.
void check(Simulation &simulation, Time before) {
    const auto &totals = simulation.totals();
    const auto require = [](bool holds, const char *fault) {
        if (!holds)
            throw std::logic_error(fault);
    };
    require(simulation.now() >= before, "time goes back");
    require(totals.unroutable + totals.swallowed <= totals.lost,
            "more packets had no way or met faults than were lost");
    require(totals.made == totals.arrived + totals.dropped + totals.lost + simulation.packets_in_flight(),
            "packets have vanished or appeared");
    const auto on_links = simulation.on_links();
    std::uint64_t dropped = 0;
    std::uint64_t lost = 0;
    for (std::size_t link = 0; link < simulation.links(); ++link) {
        const auto &port = simulation.port(link);
        dropped += port.counters.dropped_packets;
        lost += port.counters.lost_packets;
        require(port.backlog.bytes() >= 0 && port.backlog.bytes() <= port.backlog.peak(), "a queue is negative");
        require(simulation.packets_in_flight() > 0 || (port.backlog.bytes() == 0 && on_links[link] == 0),
                "something waits that is nowhere");
    }
    require(dropped == totals.dropped && lost == totals.lost, "links have not dropped what was dropped");
    std::uint64_t arrived = 0;
    for (std::size_t flow = 0; flow < simulation.flows(); ++flow) {
        const auto record = simulation.record(flow);
        arrived += record.arrived_packets;
        require(record.sent_packets >= record.arrived_packets + record.dropped_packets,
                "a flow got more than was sent");
        require(record.finished <= record.acknowledged, "a sender knew before it was so");
    }
    require(arrived == totals.data_arrived, "flows have not got what arrived");
}

// Requires that two runs of one scenario, cut at different moments, came to the same.
void compare(const Simulation &one, const Simulation &other) {
    const auto require = [](bool same) {
        if (!same)
            throw std::logic_error("a scenario does not repeat itself");
    };
    const auto &ours = one.totals();
    const auto &theirs = other.totals();
    require(one.events() == other.events() && one.unfinished() == other.unfinished());
    require(ours.made == theirs.made && ours.arrived == theirs.arrived && ours.dropped == theirs.dropped &&
            ours.lost == theirs.lost);
    for (std::size_t flow = 0; flow < one.flows(); ++flow) {
        const auto here = one.record(flow);
        const auto there = other.record(flow);
        require(here.finished == there.finished && here.acknowledged == there.acknowledged &&
                here.goodput == there.goodput && here.marked_packets == there.marked_packets);
    }
}

void run(const Scenario &scenario) {
    constexpr std::uint64_t events = 2000;
    constexpr int steps = 8;
    Simulation simulation(scenario);
    for (int step = 0; step <= steps; ++step) {
        const auto before = simulation.now();
        simulation.run(step * (second / steps), events);
        check(simulation, before);
    }
    Simulation again(scenario);
    while (!again.run(simulation.now(), 777))
        check(again, 0);
    compare(simulation, again);
}

// Gives the switch at the head of a link a table in which labels lead to this link, and to nothing else.
void change_labels(Simulation &simulation, const Scenario &scenario, std::uint32_t link, Generator &generator) {
    const auto node = scenario.links[link].source;
    if (std::find(scenario.hosts.begin(), scenario.hosts.end(), node) != scenario.hosts.end())
        return;
    LabelTable table;
    for (std::uint32_t label = generator.below(3); label < scenario.routes.size(); label += 1 + generator.below(2)) {
        table.labels.push_back(label);
        table.links.push_back(link);
    }
    simulation.set_label_table(node, std::move(table));
}

// Gives a switch other tables or groups, or spoilt ones; changes the liveness of a port, or the slots of flows.
void change_tables(Simulation &simulation, const Scenario &scenario, Generator &generator) {
    auto &switches = simulation.switches();
    const auto node = generator.below(scenario.nodes);
    auto tables = generator.tables(scenario);
    try {
        switch (generator.below(6)) {
        case 0:
            switches.set_groups(node, tables.groups());
            break;
        case 1:
            switches.set_port(node, generator.below(9), generator.once_in(2));
            break;
        case 2:
            switches.set_slots(generator.below(9), {generator.below(4), absent});
            break;
        case 3: {
            auto rows = tables.tables();
            rows.entries.front().actions += 1;
            switches.set_tables(node, rows);
            throw std::logic_error("an action that nobody owns was taken");
        }
        default:
            switches.set_tables(node, tables.tables());
        }
    } catch (const std::invalid_argument &) { // the node is a host, or the tables are spoilt
    }
}

// Steers a run between its steps, in any way that is allowed.
void steer(const Scenario &scenario, Generator &generator) {
    Simulation simulation(scenario);
    for (int step = 0; step < 12; ++step) {
        const auto before = simulation.now();
        simulation.run(before + second / 12, 500);
        check(simulation, before);
        const auto link = generator.below(simulation.links());
        const auto path = generator.below(scenario.paths.size());
        switch (generator.below(5)) {
        case 0:
            simulation.set_link(link, generator.once_in(2));
            break;
        case 1:
            simulation.set_known(link, generator.once_in(2));
            break;
        case 2:
            if (simulation.flows() > 0)
                simulation.move_flow(generator.below(simulation.flows()), path, path);
            break;
        case 3:
            if (std::holds_alternative<LabelSwitchedRules>(scenario.forwarding))
                change_labels(simulation, scenario, link, generator);
            if (std::holds_alternative<TableSwitchedRules>(scenario.forwarding))
                change_tables(simulation, scenario, generator);
            break;
        default:
            simulation.add_flows({{0, generator.below(scenario.transports.size()), path, path,
                                   simulation.now() + generator.below(second / 10), 1 + generator.below(50'000)}});
        }
        check(simulation, before);
    }
}

} // namespace

int main(int, char **arguments) {
    return kuijia::fuzz<Generator>(arguments, [](Generator &generator, bool spoilt) {
        auto scenario = generator.sound();
        if (spoilt)
            generator.spoil(scenario);
        run(scenario);
        if (!spoilt)
            steer(scenario, generator);
        if (generator.once_in(50)) {
            Random random(generator.below(std::uint64_t{1} << 32));
            check_event_order(random, 10'000);
            check_flowlet_paths(random, 2'000);
        }
    });
}

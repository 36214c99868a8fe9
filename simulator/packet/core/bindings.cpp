// The core's interface to Python.
#include "binding_routing.hpp"
#include "binding_rules.hpp"
#include "parted_simulation.hpp"
#include "random.hpp"
#include "simulation.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

using namespace kuijia::packet;

namespace {

// Splits `all` into lists: `first` has the position at which each begins, and the end of the last.
std::vector<std::vector<std::uint32_t>> lists_of(const Array<std::int64_t> &first, const Array<std::uint32_t> &all) {
    if (first.ndim() != 1 || all.ndim() != 1)
        throw std::invalid_argument("lists must have one dimension");
    std::vector<std::vector<std::uint32_t>> lists;
    for (py::ssize_t row = 0; row + 1 < first.size(); ++row) {
        const auto begin = first.at(row);
        const auto end = first.at(row + 1);
        if (begin < 0 || end < begin || end > all.size())
            throw std::invalid_argument("the positions at which lists begin must not decrease, or exceed the whole");
        lists.emplace_back(all.data() + begin, all.data() + end);
    }
    return lists;
}

// Returns one column with the `value` of each row.
template <typename Value> auto column(std::size_t rows, const Value &value) {
    using Of = decltype(value(std::size_t{}));
    py::array_t<Of> result(at(rows));
    auto *data = result.mutable_data();
    for (std::size_t row = 0; row < rows; ++row)
        data[row] = value(row);
    return result;
}

template <typename Run> py::dict flow_columns(const Run &simulation) {
    std::vector<FlowRecord> records;
    for (std::size_t flow = 0; flow < simulation.flows(); ++flow)
        records.push_back(simulation.record(flow));
    const auto of = [&](const auto &value) {
        return column(records.size(), [&](std::size_t row) { return value(records[row]); });
    };
    py::dict columns;
    columns["finished"] = of([](const FlowRecord &record) { return record.finished; });
    columns["acknowledged"] = of([](const FlowRecord &record) { return record.acknowledged; });
    columns["goodput"] = of([](const FlowRecord &record) { return record.goodput; });
    columns["sent"] = of([](const FlowRecord &record) { return record.sent_packets; });
    columns["arrived"] = of([](const FlowRecord &record) { return record.arrived_packets; });
    columns["dropped"] = of([](const FlowRecord &record) { return record.dropped_packets; });
    columns["marked"] = of([](const FlowRecord &record) { return record.marked_packets; });
    columns["reordered"] = of([](const FlowRecord &record) { return record.reordered; });
    columns["retransmitted"] = of([](const FlowRecord &record) { return record.retransmitted; });
    columns["timeouts"] = of([](const FlowRecord &record) { return record.timeouts; });
    columns["recoveries"] = of([](const FlowRecord &record) { return record.recoveries; });
    return columns;
}

template <typename Run> py::dict credit_columns(const Run &simulation) {
    const auto of = [&](const std::uint32_t FlowRecord::*member) {
        return column(simulation.flows(), [&](std::size_t row) { return simulation.record(row).*member; });
    };
    py::dict columns;
    columns["offered"] = of(&FlowRecord::offered);
    columns["credits"] = of(&FlowRecord::credits);
    columns["unused"] = of(&FlowRecord::unused);
    columns["yielded"] = of(&FlowRecord::yielded);
    return columns;
}

template <typename Run> py::dict flow_state(const Run &simulation) {
    const auto of = [&](const auto &value) {
        return column(simulation.flows(), [&](std::size_t row) { return value(simulation.counters(row)); });
    };
    py::dict columns;
    columns["window"] = of([](const TransportCounters &state) { return state.window; });
    columns["outstanding"] = of([](const TransportCounters &state) { return state.outstanding; });
    columns["round_trip"] = of([](const TransportCounters &state) { return state.round_trip; });
    return columns;
}

template <typename Run> py::dict link_columns(Run &simulation) {
    const auto now = simulation.now();
    const auto of = [&](const auto &value) {
        return column(simulation.links(), [&](std::size_t row) { return value(simulation.port(row)); });
    };
    py::dict columns;
    columns["sent_packets"] = of([](Port &port) { return port.counters.sent_packets; });
    columns["sent_bytes"] = of([](Port &port) { return port.counters.sent_bytes; });
    columns["dropped_packets"] = of([](Port &port) { return port.counters.dropped_packets; });
    columns["dropped_bytes"] = of([](Port &port) { return port.counters.dropped_bytes; });
    columns["marked_packets"] = of([](Port &port) { return port.counters.marked_packets; });
    columns["lost_packets"] = of([](Port &port) { return port.counters.lost_packets; });
    columns["queued"] = of([](Port &port) { return port.backlog.bytes(); });
    columns["queued_peak"] = of([](Port &port) { return port.backlog.peak(); });
    columns["queued_byte_seconds"] = of([now](Port &port) { return port.queued_byte_seconds(now); });
    const auto on_links = simulation.on_links();
    columns["on_link"] = column(simulation.links(), [&](std::size_t link) { return on_links[link]; });
    return columns;
}

// Returns a read-only column, not copied: numbers of the simulation `owner`, `stride` bytes apart.
template <typename Value>
py::array view(const py::object &owner, const Value *first, std::size_t rows, std::size_t stride) {
    py::array_t<Value> array({at(rows)}, {at(stride)}, first, owner);
    array.attr("flags").attr("writeable") = false;
    return array;
}

// Returns views of the counters of all flows. They are up to date until the run goes on.
py::dict flow_counters(const py::object &owner) {
    const auto records = owner.cast<Simulation &>().records();
    py::dict views;
    const auto add = [&](const char *name, const auto FlowRecord::*member) {
        const auto *first = records.first != nullptr ? &(records.first->*member) : nullptr;
        views[name] = view(owner, first, records.flows, records.stride);
    };
    add("goodput", &FlowRecord::goodput);
    add("sent", &FlowRecord::sent_packets);
    add("arrived", &FlowRecord::arrived_packets);
    add("dropped", &FlowRecord::dropped_packets);
    add("marked", &FlowRecord::marked_packets);
    add("reordered", &FlowRecord::reordered);
    add("retransmitted", &FlowRecord::retransmitted);
    add("timeouts", &FlowRecord::timeouts);
    add("recoveries", &FlowRecord::recoveries);
    return views;
}

// Returns views of the counters of all ports and of their queues, likewise.
py::dict port_counters(const py::object &owner) {
    auto &simulation = owner.cast<Simulation &>();
    for (std::size_t link = 0; link < simulation.links(); ++link)
        simulation.port(link);
    py::dict views;
    const auto add = [&](const char *name, const auto &number) {
        const auto *first = simulation.links() > 0 ? &number(simulation.port(0)) : nullptr;
        views[name] = view(owner, first, simulation.links(), sizeof(Port));
    };
    const auto counter = [](const std::uint64_t PortCounters::*member) {
        return [member](const Port &port) -> const std::uint64_t & { return port.counters.*member; };
    };
    add("sent_packets", counter(&PortCounters::sent_packets));
    add("sent_bytes", counter(&PortCounters::sent_bytes));
    add("dropped_packets", counter(&PortCounters::dropped_packets));
    add("dropped_bytes", counter(&PortCounters::dropped_bytes));
    add("marked_packets", counter(&PortCounters::marked_packets));
    add("lost_packets", counter(&PortCounters::lost_packets));
    add("queued", [](const Port &port) -> const std::int64_t & { return port.backlog.bytes(); });
    add("queued_peak", [](const Port &port) -> const std::int64_t & { return port.backlog.peak(); });
    return views;
}

// Returns a table of each counter: a row for each link, with so many queues, zeros where there are fewer.
py::dict queue_counters(Simulation &simulation, std::size_t queues) {
    py::dict tables;
    const auto add = [&](const char *name, const std::uint64_t QueueCounters::*member) {
        py::array_t<std::uint64_t> table({at(simulation.links()), at(queues)});
        auto *cell = table.mutable_data();
        for (std::size_t link = 0; link < simulation.links(); ++link) {
            const auto counted = simulation.queue_counters(link);
            for (std::size_t queue = 0; queue < queues; ++queue)
                *cell++ = queue < counted.size() ? counted[queue].*member : 0;
        }
        tables[name] = table;
    };
    add("sent_packets", &QueueCounters::sent_packets);
    add("sent_bytes", &QueueCounters::sent_bytes);
    add("dropped_packets", &QueueCounters::dropped_packets);
    add("dropped_bytes", &QueueCounters::dropped_bytes);
    add("lost_packets", &QueueCounters::lost_packets);
    return tables;
}

template <typename Run> py::dict totals(const Run &simulation) {
    const auto &of = simulation.totals();
    py::dict values;
    values["made"] = of.made;
    values["arrived"] = of.arrived;
    values["dropped"] = of.dropped;
    values["lost"] = of.lost;
    values["unroutable"] = of.unroutable;
    values["swallowed"] = of.swallowed;
    values["data_arrived"] = of.data_arrived;
    values["probes"] = of.probes;
    values["probe_bytes"] = of.probe_bytes;
    values["in_flight"] = simulation.packets_in_flight();
    values["allocated"] = simulation.packets_allocated();
    values["events"] = simulation.events();
    return values;
}

template <typename Run> py::dict path_totals(const Run &simulation) {
    const auto of = simulation.path_counters();
    py::dict values;
    values["moves"] = of.moves;
    values["failed"] = of.failed;
    return values;
}

template <typename Run> py::tuple probes(const Run &simulation, std::size_t links) {
    const auto &times = simulation.probe_times();
    const auto &bytes = simulation.probed_bytes();
    py::array_t<std::int64_t> table({at(times.size()), at(links)});
    std::copy(bytes.begin(), bytes.end(), table.mutable_data());
    return py::make_tuple(column(times.size(), [&](std::size_t row) { return times[row]; }), table);
}

// Binds what can be done with a run by one thread or by several.
template <typename Run> void bind_run(py::class_<Run> &of) {
    of.def("run", &Run::run, py::arg("until"), py::arg("events"), py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("now", &Run::now)
        .def_property_readonly("unfinished", &Run::unfinished)
        .def("flows", &flow_columns<Run>)
        .def("credits", &credit_columns<Run>)
        .def("flow_state", &flow_state<Run>)
        .def("links", &link_columns<Run>)
        .def("totals", &totals<Run>)
        .def("path_totals", &path_totals<Run>)
        .def("probes", &probes<Run>, py::arg("links"));
}

} // namespace

PYBIND11_MODULE(_core, module) {
    module.doc() = "The compiled core of the packet-level simulator.";

    bind_rules<ThresholdRules>(module);
    bind_rules<RedRules>(module);
    bind_rules<TokenBucketRules>(module);
    bind_rules<SharedShapingRules>(module);
    bind_registry<QueueingRules>(module);
    bind_registry<TransportRules>(module);
    bind_registry<ForwardingRules>(module);
    bind_registry<PathChoiceRules>(module);
    bind_routing(module);

    py::class_<Scenario>(module, "Scenario")
        .def(py::init([](std::uint64_t seed, std::uint32_t nodes, bool own_streams) {
                 Scenario scenario;
                 scenario.seed = seed;
                 scenario.own_streams = own_streams;
                 scenario.nodes = nodes;
                 return scenario;
             }),
             py::arg("seed"), py::arg("nodes"), py::arg("own_streams") = false)
        .def("set_queueings",
             [](Scenario &scenario, std::vector<QueueingRules> all) { scenario.queueings = std::move(all); })
        .def("set_transports",
             [](Scenario &scenario, std::vector<TransportRules> all) {
                 scenario.transports.assign(all.begin(), all.end());
             })
        .def("set_links", [](Scenario &scenario,
                             const py::kwargs &columns) { scenario.links = rows_of<LinkRules>(columns, "links"); })
        .def("set_hosts",
             [](Scenario &scenario, std::vector<std::uint32_t> hosts) { scenario.hosts = std::move(hosts); })
        .def("set_routes", [](Scenario &scenario, const Array<std::int64_t> &first,
                              const Array<std::uint32_t> &links) { scenario.routes = lists_of(first, links); })
        .def("set_paths", [](Scenario &scenario, const Array<std::int64_t> &first,
                             const Array<std::uint32_t> &routes) { scenario.paths = lists_of(first, routes); })
        .def("set_load_balancer",
             [](Scenario &scenario, const ForwardingRules &forwarding, const PathChoiceRules &choice) {
                 scenario.forwarding = forwarding;
                 scenario.choice = choice;
             })
        .def("set_flows", [](Scenario &scenario,
                             const py::kwargs &columns) { scenario.flows = rows_of<FlowRules>(columns, "flows"); })
        .def("set_link_changes",
             [](Scenario &scenario, const py::kwargs &columns) {
                 scenario.link_changes = rows_of<LinkChange>(columns, "link changes");
             })
        .def("set_known_changes",
             [](Scenario &scenario, const py::kwargs &columns) {
                 scenario.known_changes = rows_of<LinkChange>(columns, "known changes");
             })
        .def("set_route_changes",
             [](Scenario &scenario, const py::kwargs &columns) {
                 scenario.route_changes = rows_of<RouteChange>(columns, "route changes");
             })
        .def("set_random_drops",
             [](Scenario &scenario, const py::kwargs &columns) {
                 scenario.random_drops = rows_of<RandomDropRules>(columns, "random drops");
             })
        .def("set_black_holes",
             [](Scenario &scenario, const py::kwargs &columns) {
                 scenario.black_holes = rows_of<BlackHoleRules>(columns, "black holes");
             })
        .def("set_probes", [](Scenario &scenario, std::vector<std::uint32_t> links, Time every) {
            scenario.probed = std::move(links);
            scenario.probed_every = every;
        });

    py::class_<PartedSimulation> parted(module, "PartedSimulation");
    parted.def(py::init<const Scenario &, unsigned>(), py::arg("scenario"), py::arg("threads"))
        .def_property_readonly("parts", &PartedSimulation::parts);
    bind_run(parted);
    py::class_<Simulation> whole(module, "Simulation");
    bind_run(whole);
    whole.def(py::init<Scenario>(), py::arg("scenario"))
        .def("add_transport", &Simulation::add_transport, py::arg("rules"))
        .def(
            "add_paths",
            [](Simulation &simulation, const Array<std::int64_t> &first_link, const Array<std::uint32_t> &links,
               const Array<std::int64_t> &first_route, const Array<std::uint32_t> &routes) {
                simulation.add_paths(lists_of(first_link, links), lists_of(first_route, routes));
            },
            py::arg("first_link"), py::arg("links"), py::arg("first_route"), py::arg("routes"))
        .def("add_flows", [](Simulation &simulation,
                             const py::kwargs &columns) { simulation.add_flows(rows_of<FlowRules>(columns, "flows")); })
        .def("advance", &Simulation::advance, py::arg("time"))
        .def("set_link", &Simulation::set_link, py::arg("link"), py::arg("up"))
        .def("set_known", &Simulation::set_known, py::arg("link"), py::arg("up"))
        .def("move_flow", &Simulation::move_flow, py::arg("flow"), py::arg("forward"), py::arg("backward"))
        .def(
            "label_table",
            [](const Simulation &simulation, std::uint32_t node) {
                const auto &[labels, links] = simulation.label_table(node);
                return py::make_tuple(column(labels.size(), [&](std::size_t row) { return labels[row]; }),
                                      column(links.size(), [&](std::size_t row) { return links[row]; }));
            },
            py::arg("node"))
        .def(
            "set_label_table",
            [](Simulation &simulation, std::uint32_t node, const Array<std::uint32_t> &labels,
               const Array<std::uint32_t> &links) {
                simulation.set_label_table(node, {{labels.data(), labels.data() + labels.size()},
                                                  {links.data(), links.data() + links.size()}});
            },
            py::arg("node"), py::arg("labels"), py::arg("links"))
        .def("set_tables", [](Simulation &simulation, std::uint32_t node,
                              const TableRows &rows) { simulation.switches().set_tables(node, rows); })
        .def("set_groups", [](Simulation &simulation, std::uint32_t node,
                              const TableRows &rows) { simulation.switches().set_groups(node, rows); })
        .def("set_port", [](Simulation &simulation, std::uint32_t node, std::uint32_t port,
                            bool live) { simulation.switches().set_port(node, port, live); })
        .def("set_slots",
             [](Simulation &simulation, std::uint32_t first, const Array<std::uint32_t> &slots) {
                 simulation.switches().set_slots(first, {slots.data(), slots.data() + slots.size()});
             })
        .def("queue_counters", &queue_counters, py::arg("queues"))
        .def("port_counters", &port_counters)
        .def("flow_counters", &flow_counters);

    py::class_<Random>(module, "Random")
        .def(py::init<std::uint64_t>(), py::arg("seed"))
        .def(
            "whole",
            [](Random &random, std::uint64_t bound, std::size_t count) {
                if (bound == 0)
                    throw std::invalid_argument("the bound must be at least 1");
                return column(count, [&](std::size_t) { return random.below(bound); });
            },
            py::arg("bound"), py::arg("count"))
        .def(
            "unit",
            [](Random &random, std::size_t count) { return column(count, [&](std::size_t) { return random.unit(); }); },
            py::arg("count"))
        .def(
            "exponential",
            [](Random &random, std::size_t count) {
                return column(count, [&](std::size_t) { return random.exponential(); });
            },
            py::arg("count"))
        .def(
            "normal",
            [](Random &random, std::size_t count) {
                return column(count, [&](std::size_t) { return random.normal(); });
            },
            py::arg("count"));
    module.attr("NEVER") = never;
    module.attr("LONGEST") = longest;
}

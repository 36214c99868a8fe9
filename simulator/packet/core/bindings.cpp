// The core's interface to Python.
#include "random.hpp"
#include "simulation.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace py = pybind11;
using namespace kuijia::packet;

namespace {

template <typename T> using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

// Returns the number of rows of columns, which must be of equal length.
template <typename First, typename... Rest> std::size_t rows(const First &first, const Rest &...rest) {
    if (first.ndim() != 1 || ((rest.ndim() != 1) || ...) || ((rest.size() != first.size()) || ...))
        throw std::invalid_argument("columns must have one dimension and the same length");
    return static_cast<std::size_t>(first.size());
}

py::ssize_t at(std::size_t row) { return static_cast<py::ssize_t>(row); }

void set_links(Scenario &scenario, const Array<std::int64_t> &rate, const Array<Time> &delay, const Array<double> &loss,
               const Array<std::uint32_t> &queueing, const Array<std::uint32_t> &input) {
    const auto count = rows(rate, delay, loss, queueing, input);
    scenario.links.clear();
    for (std::size_t row = 0; row < count; ++row)
        scenario.links.push_back(
            {rate.at(at(row)), delay.at(at(row)), loss.at(at(row)), queueing.at(at(row)), input.at(at(row))});
}

void set_routes(Scenario &scenario, const Array<std::int64_t> &first, const Array<std::uint32_t> &links) {
    const auto ends = rows(first);
    const auto size = static_cast<std::int64_t>(rows(links));
    scenario.routes.clear();
    for (std::size_t row = 0; row + 1 < ends; ++row) {
        const auto begin = first.at(at(row));
        const auto end = first.at(at(row + 1));
        if (begin < 0 || end < begin || end > size)
            throw std::invalid_argument("the positions at which routes begin must not decrease, or exceed the links");
        scenario.routes.emplace_back(links.data() + begin, links.data() + end);
    }
}

void set_flows(Scenario &scenario, const Array<std::uint8_t> &kind, const Array<std::uint8_t> &level,
               const Array<std::uint32_t> &rules, const Array<std::uint32_t> &forward,
               const Array<std::uint32_t> &backward, const Array<Time> &start, const Array<std::uint64_t> &bytes,
               const Array<std::int64_t> &rate, const Array<std::uint32_t> &packet) {
    const auto count = rows(kind, level, rules, forward, backward, start, bytes, rate, packet);
    scenario.flows.clear();
    for (std::size_t row = 0; row < count; ++row) {
        if (kind.at(at(row)) > static_cast<std::uint8_t>(FlowKind::listed))
            throw std::invalid_argument("a flow has an unknown kind");
        scenario.flows.push_back({static_cast<FlowKind>(kind.at(at(row))), level.at(at(row)), rules.at(at(row)),
                                  forward.at(at(row)), backward.at(at(row)), start.at(at(row)), bytes.at(at(row)),
                                  rate.at(at(row)), packet.at(at(row))});
    }
}

void add_list(Scenario &scenario, const Array<Time> &time, const Array<std::uint32_t> &size, bool ecn_capable) {
    const auto count = rows(time, size);
    auto &list = scenario.lists.emplace_back();
    for (std::size_t row = 0; row < count; ++row)
        list.push_back({time.at(at(row)), size.at(at(row)), ecn_capable});
}

void set_link_changes(Scenario &scenario, const Array<Time> &time, const Array<std::uint32_t> &link,
                      const Array<bool> &up) {
    const auto count = rows(time, link, up);
    scenario.link_changes.clear();
    for (std::size_t row = 0; row < count; ++row)
        scenario.link_changes.push_back({time.at(at(row)), link.at(at(row)), up.at(at(row))});
}

void set_route_changes(Scenario &scenario, const Array<Time> &time, const Array<std::uint32_t> &flow,
                       const Array<std::uint32_t> &forward, const Array<std::uint32_t> &backward) {
    const auto count = rows(time, flow, forward, backward);
    scenario.route_changes.clear();
    for (std::size_t row = 0; row < count; ++row)
        scenario.route_changes.push_back(
            {time.at(at(row)), flow.at(at(row)), forward.at(at(row)), backward.at(at(row))});
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

py::dict flow_columns(const Simulation &simulation) {
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
    columns["retransmitted"] = of([](const FlowRecord &record) { return record.tcp.retransmitted; });
    columns["timeouts"] = of([](const FlowRecord &record) { return record.tcp.timeouts; });
    columns["recoveries"] = of([](const FlowRecord &record) { return record.tcp.recoveries; });
    return columns;
}

py::dict flow_state(const Simulation &simulation) {
    const auto of = [&](const auto &value) {
        return column(simulation.flows(), [&](std::size_t row) { return value(simulation.state(row)); });
    };
    py::dict columns;
    columns["window"] = of([](const FlowState &state) { return state.window; });
    columns["outstanding"] = of([](const FlowState &state) { return state.outstanding; });
    columns["round_trip"] = of([](const FlowState &state) { return state.round_trip; });
    return columns;
}

py::dict link_columns(Simulation &simulation) {
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
    columns["queued_byte_seconds"] = of([now](Port &port) { return port.backlog.integral(now); });
    columns["on_link"] = column(simulation.links(), [&](std::size_t link) { return simulation.on_link(link); });
    return columns;
}

py::dict totals(const Simulation &simulation) {
    const auto &of = simulation.totals();
    py::dict values;
    values["made"] = of.made;
    values["arrived"] = of.arrived;
    values["dropped"] = of.dropped;
    values["lost"] = of.lost;
    values["data_arrived"] = of.data_arrived;
    values["in_flight"] = simulation.packets_in_flight();
    values["allocated"] = simulation.packets_allocated();
    values["events"] = simulation.events();
    return values;
}

py::tuple probes(const Simulation &simulation, std::size_t links) {
    const auto &times = simulation.probe_times();
    const auto &bytes = simulation.probed_bytes();
    py::array_t<std::int64_t> table({at(times.size()), at(links)});
    std::copy(bytes.begin(), bytes.end(), table.mutable_data());
    return py::make_tuple(column(times.size(), [&](std::size_t row) { return times[row]; }), table);
}

} // namespace

PYBIND11_MODULE(_core, module) {
    module.doc() = "The compiled core of the packet-level simulator.";

    py::enum_<Marking>(module, "Marking")
        .value("NONE", Marking::none)
        .value("THRESHOLD", Marking::threshold)
        .value("RED", Marking::red);
    py::enum_<Overflow>(module, "Overflow").value("TAIL", Overflow::tail).value("RANDOM", Overflow::random);
    py::enum_<Classifier>(module, "Classifier")
        .value("LEVEL", Classifier::level)
        .value("INPUT", Classifier::input)
        .value("CREDITS", Classifier::credits);
    py::enum_<Order>(module, "Order").value("STRICT", Order::strict).value("ROUND_ROBIN", Order::round_robin);
    py::enum_<Control>(module, "Control")
        .value("RENO", Control::reno)
        .value("CUBIC", Control::cubic)
        .value("DCTCP", Control::dctcp);

    py::class_<QueueRules>(module, "QueueRules")
        .def(py::init([](std::int64_t limit, Marking marking, std::int64_t low, std::int64_t high, double probability,
                         double weight, Overflow overflow, bool mark_random, std::int64_t shaped, std::int64_t burst,
                         std::uint32_t cell) {
                 return QueueRules{limit, low,  high,    probability, weight,     shaped,
                                   burst, cell, marking, overflow,    mark_random};
             }),
             py::kw_only(), py::arg("limit"), py::arg("marking"), py::arg("low"), py::arg("high"),
             py::arg("probability"), py::arg("weight"), py::arg("overflow"), py::arg("mark_random"), py::arg("shaped"),
             py::arg("burst"), py::arg("cell"));
    py::class_<HashedCreditsRules>(module, "HashedCreditsRules")
        .def(py::init([](std::uint32_t bins, std::uint32_t credits, Time hashed_anew_after) {
                 return HashedCreditsRules{bins, credits, hashed_anew_after};
             }),
             py::kw_only(), py::arg("bins"), py::arg("per_bin"), py::arg("hashed_anew_after"));
    py::class_<Queueing>(module, "Queueing")
        .def(py::init([](Classifier classifier, Order order, std::vector<QueueRules> queues,
                         std::vector<std::uint32_t> weights, HashedCreditsRules credits) {
                 return Queueing{classifier, order, std::move(queues), std::move(weights), credits};
             }),
             py::kw_only(), py::arg("classifier"), py::arg("order"), py::arg("queues"), py::arg("weights"),
             py::arg("hashed_credits") = HashedCreditsRules{});
    py::class_<TcpRules>(module, "TcpRules")
        .def(py::init([](Control control, bool sack, bool handshake, bool ecn, std::uint32_t payload,
                         std::uint32_t header, double initial_window, std::uint32_t receive_window,
                         double counting_limit, double gain, double least_marked, Time first_timeout,
                         Time least_timeout, Time most_timeout, std::uint32_t card_packets,
                         std::uint32_t acknowledge_every, Time acknowledge_within) {
                 return TcpRules{control,           sack,         handshake,      ecn,
                                 payload,           header,       initial_window, receive_window,
                                 counting_limit,    gain,         least_marked,   first_timeout,
                                 least_timeout,     most_timeout, card_packets,   acknowledge_every,
                                 acknowledge_within};
             }),
             py::kw_only(), py::arg("control"), py::arg("sack"), py::arg("handshake"), py::arg("ecn"),
             py::arg("payload"), py::arg("header"), py::arg("initial_window"), py::arg("receive_window"),
             py::arg("counting_limit"), py::arg("gain"), py::arg("least_marked"), py::arg("first_timeout"),
             py::arg("least_timeout"), py::arg("most_timeout"), py::arg("card_packets"), py::arg("acknowledge_every"),
             py::arg("acknowledge_within"));

    py::class_<Scenario>(module, "Scenario")
        .def(py::init([](std::uint64_t seed) {
                 Scenario scenario;
                 scenario.seed = seed;
                 return scenario;
             }),
             py::arg("seed"))
        .def("set_queueings",
             [](Scenario &scenario, std::vector<Queueing> all) { scenario.queueings = std::move(all); })
        .def("set_tcp", [](Scenario &scenario, std::vector<TcpRules> all) { scenario.tcp = std::move(all); })
        .def("set_links", &set_links, py::arg("rate"), py::arg("delay"), py::arg("loss"), py::arg("queueing"),
             py::arg("place"))
        .def("set_routes", &set_routes, py::arg("first"), py::arg("links"))
        .def("set_flows", &set_flows, py::kw_only(), py::arg("kind"), py::arg("level"), py::arg("rules"),
             py::arg("forward"), py::arg("backward"), py::arg("start"), py::arg("size"), py::arg("rate"),
             py::arg("packet"))
        .def("add_list", &add_list, py::arg("time"), py::arg("size"), py::arg("ecn_capable"))
        .def("set_link_changes", &set_link_changes, py::arg("time"), py::arg("link"), py::arg("up"))
        .def("set_route_changes", &set_route_changes, py::arg("time"), py::arg("flow"), py::arg("forward"),
             py::arg("backward"))
        .def("set_probes", [](Scenario &scenario, std::vector<std::uint32_t> links, Time every) {
            scenario.probed = std::move(links);
            scenario.probed_every = every;
        });

    py::class_<Simulation>(module, "Simulation")
        .def(py::init<Scenario>(), py::arg("scenario"))
        .def("run", &Simulation::run, py::arg("until"), py::arg("events"), py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("now", &Simulation::now)
        .def_property_readonly("unfinished", &Simulation::unfinished)
        .def("flows", &flow_columns)
        .def("flow_state", &flow_state)
        .def("links", &link_columns)
        .def("totals", &totals)
        .def("probes", &probes, py::arg("links"));

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

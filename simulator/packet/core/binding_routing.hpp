// Bindings of parts of routing, by themselves, so that tests can hold them against computations by hand.
#pragma once

#include "binding_rules.hpp"
#include "routing/registry.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace kuijia::packet {

namespace py = pybind11;

inline const char *name_of(PathKind kind) {
    return kind == PathKind::good ? "good" : kind == PathKind::congested ? "congested" : "gray";
}

inline void bind_path_parts(py::module_ &module) {
    py::class_<SensedPath>(module, "SensedPath")
        .def(py::init<>())
        .def("acknowledged", [](SensedPath &path, const HermesRules &rules, std::optional<Time> delay,
                                bool echo) { path.acknowledged(rules.sensing(), delay, echo); })
        .def("probed", [](SensedPath &path, const HermesRules &rules, Time delay,
                          bool echo) { path.probed(rules.sensing(), delay, echo); })
        .def("kind", [](const SensedPath &path, const HermesRules &rules,
                        Time base) { return name_of(path.kind(rules.sensing(), base)); })
        .def("sent", [](SensedPath &path, const HermesRules &rules, Time base,
                        Time now) { return path.sent(rules.sensing(), base, now); })
        .def("sent_again", [](SensedPath &path, const HermesRules &rules, Time base,
                              Time now) { return path.sent_again(rules.sensing(), base, now); })
        .def("failed", &SensedPath::failed)
        .def_property_readonly("delay", &SensedPath::delay)
        .def_property_readonly("marked", &SensedPath::marked);

    py::class_<DiscountedBytes>(module, "DiscountedBytes")
        .def(py::init<>())
        .def("add", [](DiscountedBytes &sum, double bytes, Time now, Time period,
                       double gain) { sum.add(bytes, now, {period, gain}); })
        .def("at",
             [](DiscountedBytes &sum, Time now, Time period, double gain) { return sum.at(now, {period, gain}); });

    py::class_<PathWeights>(module, "PathWeights")
        .def(py::init([](std::size_t paths) {
            PathWeights weights;
            weights.resize(paths);
            return weights;
        }))
        .def("marked",
             [](PathWeights &weights, std::size_t path, Time now, const CloveEcnRules &rules) {
                 if (path >= weights.size())
                     throw py::index_error("the path does not exist");
                 weights.marked(path, now, rules);
             })
        .def("all", [](const PathWeights &weights) {
            std::vector<double> all;
            for (std::size_t path = 0; path < weights.size(); ++path)
                all.push_back(weights[path]);
            return all;
        });

    py::class_<MarkCount>(module, "MarkCount")
        .def(py::init<>())
        .def("sent", &MarkCount::sent)
        .def("acknowledged", &MarkCount::acknowledged);

    const auto require_weights = [](const std::vector<std::uint64_t> &weights) {
        if (weights.empty() || std::ranges::min(weights) == 0)
            throw std::invalid_argument("there must be weights, all above 0");
    };
    module.def("weighted_round", [=](const std::vector<std::uint64_t> &weights) {
        require_weights(weights);
        return weighted_round(weights);
    });
    module.def("round_in_rows", [=](const std::vector<std::uint64_t> &weights, std::uint32_t in_a_row) {
        require_weights(weights);
        return round_in_rows(weights, in_a_row);
    });
}

inline void bind_forwarding_parts(py::module_ &module) {
    py::class_<LoadEstimator>(module, "LoadEstimator")
        .def(py::init<std::int64_t, Time, double>(), py::arg("bits_per_second"), py::arg("period"), py::arg("discount"))
        .def("add", &LoadEstimator::add, py::arg("size"), py::arg("now"))
        .def("bytes", &LoadEstimator::bytes, py::arg("now"))
        .def("level", &LoadEstimator::level, py::arg("bits"), py::arg("now"));

    const auto load = [](std::uint32_t tag, std::uint8_t level) { return PathLoad{tag, level}; };
    py::class_<CongestionTable>(module, "CongestionTable")
        .def(py::init<Time>(), py::arg("aging"))
        .def(
            "record",
            [load](CongestionTable &table, std::uint32_t tag, std::uint8_t level, Time now) {
                table.record(load(tag, level), now);
            },
            py::arg("tag"), py::arg("level"), py::arg("now"))
        .def(
            "learn",
            [load](CongestionTable &table, std::uint32_t tag, std::uint8_t level, Time now) {
                table.learn(load(tag, level), now);
            },
            py::arg("tag"), py::arg("level"), py::arg("now"))
        .def("level", &CongestionTable::level, py::arg("tag"), py::arg("now"))
        .def(
            "report",
            [](CongestionTable &table, Time now) -> py::object {
                const auto report = table.report(now);
                return report.tag == no_tag ? py::none() : py::object(py::make_tuple(report.tag, report.level));
            },
            py::arg("now"));
}

inline void bind_switches(py::module_ &module) {
    py::class_<TableRows>(module, "TableRows")
        .def(py::init<>())
        .def("set_entries",
             [](TableRows &rows, const py::kwargs &columns) { rows.entries = rows_of<EntryRow>(columns, "entries"); })
        .def("set_groups",
             [](TableRows &rows, const py::kwargs &columns) { rows.groups = rows_of<GroupRow>(columns, "groups"); })
        .def("set_buckets",
             [](TableRows &rows, const py::kwargs &columns) { rows.buckets = rows_of<BucketRow>(columns, "buckets"); })
        .def("set_actions",
             [](TableRows &rows, const py::kwargs &columns) { rows.actions = rows_of<ActionRow>(columns, "actions"); });

    // A switch by itself; labels are given and returned as pairs of label * 8 + traffic class, the outermost first.
    struct LoneSwitch {
        SwitchPipeline pipeline;
        Headers headers;
    };
    py::class_<LoneSwitch>(module, "SwitchPipeline")
        .def(py::init<>())
        .def("set_tables", [](LoneSwitch &lone, const TableRows &rows) { lone.pipeline.set(rows); })
        .def("set_groups", [](LoneSwitch &lone, const TableRows &rows) { lone.pipeline.set_groups(rows); })
        .def("set_port", [](LoneSwitch &lone, std::uint32_t port, bool live) { lone.pipeline.set_port(port, live); })
        .def(
            "process",
            [](LoneSwitch &lone, std::uint32_t port, std::uint32_t destination, std::uint32_t tos,
               const std::vector<std::uint32_t> &labels, std::uint32_t slot) -> py::object {
                auto header = tos & 255;
                for (auto label = labels.rbegin(); label != labels.rend(); ++label)
                    header = lone.headers.push(header, *label);
                const auto left = lone.pipeline.process({port, destination, header, slot}, lone.headers);
                if (left.port == absent)
                    return py::none();
                std::vector<std::uint32_t> under;
                for (header = left.header; Headers::has_label(header); header = lone.headers.pop(header))
                    under.push_back(lone.headers.label(header));
                const auto queue = left.queue == absent ? py::none() : py::object(py::int_(left.queue));
                return py::make_tuple(left.port, queue, header, under);
            },
            py::arg("port"), py::arg("destination"), py::arg("tos"), py::arg("labels"), py::arg("slot"));
    module.attr("NONE") = absent;
}

inline void bind_routing(py::module_ &module) {
    bind_path_parts(module);
    bind_switches(module);
    bind_forwarding_parts(module);
}

} // namespace kuijia::packet

// Bindings of parts of CONGA, by themselves, so that tests can hold them against computations by hand.
#pragma once

#include "routing/congestion_table.hpp"
#include "routing/load_estimator.hpp"

#include <pybind11/pybind11.h>

namespace kuijia::packet {

namespace py = pybind11;

inline void bind_routing(py::module_ &module) {
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

} // namespace kuijia::packet

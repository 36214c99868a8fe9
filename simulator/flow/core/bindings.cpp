// The core's interface to Python.
#include "problem.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

template <typename T> using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <typename T> std::span<const T> span_of(const Array<T> &array) {
    if (array.ndim() != 1)
        throw std::invalid_argument("an array has several dimensions, expected one");
    return {array.data(), static_cast<std::size_t>(array.size())};
}

py::array_t<double> array_of(std::vector<double> &&values) {
    auto *kept = new std::vector<double>(std::move(values));
    const py::capsule owner(kept, [](void *pointer) { delete static_cast<std::vector<double> *>(pointer); });
    return py::array_t<double>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

py::tuple share(const Array<double> &capacity, const Array<std::int64_t> &first, const Array<std::int32_t> &links,
                const Array<double> &offered, const Array<double> &weight, const Array<std::int32_t> &level,
                const Array<std::uint8_t> &elastic) {
    const kuijia::flow::Problem problem{span_of(capacity), span_of(first), span_of(links),  span_of(offered),
                                        span_of(weight),   span_of(level), span_of(elastic)};
    kuijia::flow::Outcome outcome;
    {
        const py::gil_scoped_release others_may_run;
        outcome = kuijia::flow::share(problem);
    }
    return py::make_tuple(array_of(std::move(outcome.goodput)), array_of(std::move(outcome.load)),
                          array_of(std::move(outcome.dropped)), outcome.settled);
}

} // namespace

PYBIND11_MODULE(_core, module) {
    module.doc() = "The compiled core of the flow-level simulator.";
    module.def("share", &share, py::arg("capacity"), py::arg("first"), py::arg("links"), py::arg("offered"),
               py::arg("weight"), py::arg("level"), py::arg("elastic"));
}

// The kernels' interface to Python.
#include "annealing.hpp"
#include "estimation.hpp"
#include "first_fit.hpp"
#include "flow_book.hpp"
#include "refinement.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <utility>

namespace py = pybind11;
using namespace kuijia::hedera;

namespace {

template <typename T> using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;
using Ints = Array<std::int32_t>;

template <typename T> std::span<const T> span_of(const Array<T> &array) {
    if (array.ndim() != 1)
        throw std::invalid_argument("an array has several dimensions, expected one");
    return {array.data(), static_cast<std::size_t>(array.size())};
}

template <typename T> py::array_t<T> array_of(std::vector<T> &&values) {
    auto *kept = new std::vector<T>(std::move(values));
    const py::capsule owner(kept, [](void *pointer) { delete static_cast<std::vector<T> *>(pointer); });
    return py::array_t<T>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

py::tuple estimate_demands(std::int32_t hosts, const Ints &source, const Ints &target, double nic_rate,
                           std::int32_t most_rounds) {
    Estimate found;
    {
        const auto from = span_of(source), to = span_of(target);
        const py::gil_scoped_release others_may_run;
        found = estimate(hosts, from, to, nic_rate, most_rounds);
    }
    return py::make_tuple(array_of(std::move(found.demand)), found.rounds, found.settled);
}

Schedule schedule_of(const py::tuple &schedule) {
    return {schedule[0].cast<std::int32_t>(), schedule[1].cast<double>(), schedule[2].cast<double>(),
            schedule[3].cast<std::uint64_t>()};
}

template <class Routes>
py::tuple annealed(const Routes &routes, const Ints &amount, const Ints &capacity, const Ints &label, const Ints &host,
                   const py::tuple &ranges, const Array<std::int64_t> &fee, const py::tuple &schedule) {
    const auto hosts = span_of(host);
    std::vector<std::int32_t> seats(hosts.begin(), hosts.end());
    const auto pods = ranges[0].cast<Ints>(), blocks = ranges[1].cast<Ints>(), edges = ranges[2].cast<Ints>();
    const Seating seating{span_of(label), seats, span_of(pods), span_of(blocks), span_of(edges), span_of(fee)};
    const auto plan = schedule_of(schedule);
    Annealed told;
    {
        const auto amounts = span_of(amount), capacities = span_of(capacity);
        const py::gil_scoped_release others_may_run;
        told = anneal(routes, amounts, capacities, seating, plan);
    }
    return py::make_tuple(array_of(std::move(seats)), told.before, told.after, told.improvements);
}

template <class Routes>
py::tuple refined(const Routes &routes, const Ints &amount, const Ints &capacity, const Ints &choice, const Ints &home,
                  const Ints &fee, const py::tuple &schedule) {
    const auto given = span_of(choice);
    std::vector<std::int32_t> choices(given.begin(), given.end());
    const Flows flows{span_of(amount), choices, span_of(home), span_of(fee)};
    const auto plan = schedule_of(schedule);
    Annealed told;
    {
        const auto capacities = span_of(capacity);
        const py::gil_scoped_release others_may_run;
        told = refine(routes, capacities, flows, plan);
    }
    return py::make_tuple(array_of(std::move(choices)), told.before, told.after, told.improvements);
}

template <class Routes>
py::array_t<std::int32_t> fitted(const Routes &routes, const Ints &amount, const Ints &capacity, const Ints &choice) {
    const auto given = span_of(choice);
    std::vector<std::int32_t> choices(given.begin(), given.end());
    {
        const auto amounts = span_of(amount), capacities = span_of(capacity);
        const py::gil_scoped_release others_may_run;
        first_fit(routes, amounts, capacities, choices);
    }
    return array_of(std::move(choices));
}

py::tuple read_poll(FlowBook &book, double time, const Ints &switches, const Array<std::int64_t> &first,
                    const Array<std::uint64_t> &key, const Array<std::uint64_t> &bytes, const Array<double> &age) {
    auto reading = book.read({time, span_of(switches), span_of(first), span_of(key), span_of(bytes), span_of(age)});
    return py::make_tuple(array_of(std::move(reading.rate)), array_of(std::move(reading.label)));
}

template <class Routes> void define_placement(py::module_ &module) {
    module.def("anneal", &annealed<Routes>, py::arg("routes"), py::arg("amount"), py::arg("capacity"), py::arg("label"),
               py::arg("host"), py::arg("ranges"), py::arg("fee"), py::arg("schedule"));
    module.def("refine", &refined<Routes>, py::arg("routes"), py::arg("amount"), py::arg("capacity"), py::arg("choice"),
               py::arg("home"), py::arg("fee"), py::arg("schedule"));
    module.def("first_fit", &fitted<Routes>, py::arg("routes"), py::arg("amount"), py::arg("capacity"),
               py::arg("choice"));
}

} // namespace

PYBIND11_MODULE(_core, module) {
    module.doc() = "The compiled kernels of the flow scheduler.";
    py::class_<FatTreeRoutes>(module, "FatTreeRoutes")
        .def(py::init([](std::int32_t half, const Ints &source, const Ints &target) {
                 return FatTreeRoutes(half, span_of(source), span_of(target));
             }),
             py::arg("half"), py::arg("source"), py::arg("target"));
    py::class_<TableRoutes>(module, "TableRoutes")
        .def(py::init([](std::size_t links, std::int32_t labels, const Array<std::int64_t> &first, const Ints &hops,
                         const Ints &row, const Ints &target, std::size_t hosts) {
                 return TableRoutes(links, labels, span_of(first), span_of(hops), span_of(row), span_of(target), hosts);
             }),
             py::arg("links"), py::arg("labels"), py::arg("first"), py::arg("hops"), py::arg("row"), py::arg("target"),
             py::arg("hosts"));
    py::class_<FlowBook>(module, "FlowBook")
        .def(py::init<std::int32_t>(), py::arg("switches"))
        .def("read", &read_poll, py::arg("time"), py::arg("switches"), py::arg("first"), py::arg("key"),
             py::arg("bytes"), py::arg("age"))
        .def("note", [](FlowBook &book, const Ints &label) { book.note(span_of(label)); }, py::arg("label"));
    module.def("estimate", &estimate_demands, py::arg("hosts"), py::arg("source"), py::arg("target"),
               py::arg("nic_rate"), py::arg("most_rounds"));
    define_placement<FatTreeRoutes>(module);
    define_placement<TableRoutes>(module);
}

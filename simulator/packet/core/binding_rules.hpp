// Bindings of rules and of tables of rows, derived from their lists of fields.
#pragma once

#include "fields.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace kuijia::packet {

namespace py = pybind11;

template <typename T> using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

inline py::ssize_t at(std::size_t row) { return static_cast<py::ssize_t>(row); }

// Throws TypeError unless there is exactly one value for each of the names.
inline void require_names(const py::kwargs &given, const std::string &what, const std::vector<const char *> &names) {
    for (const char *name : names)
        if (!given.contains(name))
            throw py::type_error(what + " lacks " + name);
    for (const auto &[key, value] : given) {
        const auto name = key.cast<std::string>();
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw py::type_error(what + " has no " + name);
    }
}

// Throws TypeError unless there is exactly one value for each field.
template <typename Rules> void require_all(const py::kwargs &given, const std::string &what) {
    std::vector<const char *> names;
    names.reserve(std::tuple_size_v<decltype(Rules::fields())>);
    for_each_field<Rules>([&](const auto &field) { names.push_back(field.name); });
    require_names(given, what, names);
}

// Sets a parameter; enumerators come by name, vectors of numbers as arrays.
template <typename Value> void set(Value &value, const py::handle &given) {
    if constexpr (std::is_enum_v<Value>) {
        const auto &all = Names<Value>::all;
        const auto found = std::find(all.begin(), all.end(), given.cast<std::string>());
        if (found == all.end())
            throw py::cast_error();
        value = static_cast<Value>(found - all.begin());
    } else if constexpr (IsVector<Value>::value) {
        using Element = typename Value::value_type;
        if constexpr (std::is_arithmetic_v<Element>) {
            const auto array = given.cast<Array<Element>>();
            value.assign(array.data(), array.data() + array.size());
        } else {
            value = given.cast<Value>();
        }
    } else {
        value = given.cast<Value>();
    }
}

[[noreturn]] inline void refuse_value(const char *rules, const char *name, const py::handle &given) {
    throw py::type_error(std::string(rules) + ": " + name +
                         " has a value of another kind: " + py::repr(given).cast<std::string>());
}

template <typename Rules> Rules made(const py::kwargs &given) {
    require_all<Rules>(given, Rules::name);
    Rules rules;
    for_each_field<Rules>([&](const auto &field) {
        try {
            set(rules.*field.member, given[field.name]);
        } catch (const py::cast_error &) {
            refuse_value(Rules::name, field.name, given[field.name]);
        }
    });
    return rules;
}

// Returns the unit of each parameter, by name.
template <typename Rules> py::dict units() {
    py::dict all;
    for_each_field<Rules>([&](const auto &field) {
        all[field.name] = "";
        if constexpr (IsNumber<decltype(field)>)
            all[field.name] = field.unit == Unit::seconds ? "seconds" : field.unit == Unit::megabits ? "Mbit/s" : "";
    });
    return all;
}

template <typename Rules> void bind_rules(py::module_ &module) {
    py::class_<Rules>(module, Rules::name).def(py::init(&made<Rules>)).def_static("units", &units<Rules>);
}

template <typename Variant, std::size_t... Place> void bind_each(py::module_ &module, std::index_sequence<Place...>) {
    (bind_rules<std::variant_alternative_t<Place, Variant>>(module), ...);
}

// Binds the rules of every entry of a registry.
template <typename Variant> void bind_registry(py::module_ &module) {
    bind_each<Variant>(module, std::make_index_sequence<std::variant_size_v<Variant>>());
}

// Returns the rows of a table that is given as columns.
template <typename Row> std::vector<Row> rows_of(const py::kwargs &columns, const std::string &what) {
    require_all<Row>(columns, what);
    std::vector<Row> rows;
    bool first = true;
    for_each_field<Row>([&](const auto &field) {
        using Value = std::remove_cvref_t<decltype(rows.front().*field.member)>;
        const auto column = columns[field.name].template cast<Array<Value>>();
        if (first)
            rows.resize(static_cast<std::size_t>(column.size()));
        if (column.ndim() != 1 || static_cast<std::size_t>(column.size()) != rows.size())
            throw std::invalid_argument("columns must have one dimension and the same length");
        for (std::size_t row = 0; row < rows.size(); ++row)
            rows[row].*field.member = column.data()[row];
        first = false;
    });
    return rows;
}

} // namespace kuijia::packet

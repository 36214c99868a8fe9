// Parts of path selection that Python may use by themselves.
#pragma once

#include <pybind11/pybind11.h>

namespace kuijia::packet {

void bind_path_parts(pybind11::module_ &module);

} // namespace kuijia::packet

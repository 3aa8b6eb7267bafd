// The Python module treetop._native. Each room of the core binds itself in a file of its own.
#include <nanobind/nanobind.h>

namespace treetop::bindings {
void bind_data(nanobind::module_& module);
void bind_linear(nanobind::module_& module);
void bind_metrics(nanobind::module_& module);
void bind_neighbours(nanobind::module_& module);
void bind_search(nanobind::module_& module);
void bind_text(nanobind::module_& module);
}  // namespace treetop::bindings

NB_MODULE(_native, module) {
    module.doc() = "treetop's native core";
    // Objects alive when the interpreter exits (in a traceback, say) do not concern the user.
    nanobind::set_leak_warnings(false);
    treetop::bindings::bind_data(module);
    treetop::bindings::bind_linear(module);
    treetop::bindings::bind_metrics(module);
    treetop::bindings::bind_neighbours(module);
    treetop::bindings::bind_search(module);
    treetop::bindings::bind_text(module);
}

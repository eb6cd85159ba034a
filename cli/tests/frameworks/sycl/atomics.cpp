// DPC++'s atomic operations and fences of every order and scope, compiled at run time: prints the PTX, one kernel a row of
// `memory-model/mappings/sycl-cuda.map` and a scope.
#include "check.hpp"

namespace ext = sycl::ext::oneapi::experimental;

std::string kernel(const std::string &name, const std::string &body) {
  return "extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ext::single_task_kernel))\nvoid " + name + "(int *p) { " + body + "; }\n";
}

// Nobody else uses the value that is read.
std::string kept(const std::string &value) { return "int v = " + value + "; asm volatile(\"\" :: \"r\"(v))"; }

std::string rows() {
  std::string text = "#include <sycl/sycl.hpp>\nnamespace ext = sycl::ext::oneapi::experimental;\n";
  const char *scopes[][2] = {{"work_group", "cta"}, {"device", "gpu"}, {"system", "sys"}};
  for (auto [scope, ptx] : scopes) {
    auto name = [ptx = ptx](std::string operation, std::string order) { return operation + "_" + order + "_" + ptx; };
    std::string at = std::string("sycl::memory_scope::") + scope;
    std::string word = "sycl::atomic_ref<int, sycl::memory_order::relaxed, " + at + ", sycl::access::address_space::global_space>(*p)";
    text += kernel(name("load", "na"), kept("*p")) + kernel(name("store", "na"), "*p = 1");
    for (std::string order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}) {
      std::string with = "sycl::memory_order::" + order;
      if (order != "release" && order != "acq_rel") text += kernel(name("load", order), kept(word + ".load(" + with + ")"));
      if (order != "acquire" && order != "acq_rel") text += kernel(name("store", order), word + ".store(1, " + with + ")");
      text += kernel(name("rmw", order), kept(word + ".fetch_add(1, " + with + ")"));
      if (order != "relaxed") text += kernel(name("fence", order), "sycl::atomic_fence(" + with + ", " + at + ")");
    }
  }
  return text;
}

int main() {
  sycl::queue queue{gpu()};
  auto source = ext::create_kernel_bundle_from_source(queue.get_context(), ext::source_language::sycl, rows());
  auto bundle = ext::build(source, ext::properties{ext::build_options{build_options()}});
  for (const auto &image : bundle)
    for (std::byte byte : image.ext_oneapi_get_backend_content()) std::cout << char(byte);
}

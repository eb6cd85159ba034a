// DPC++ with kernels compiled from SYCL source at run time, so that any host compiler serves: buffers and parts of them, host tasks,
// native handles, profiling, errors, graphs that are recorded, made by hand, nested and updated.
#include "check.hpp"

#include <cmath>

namespace ext = sycl::ext::oneapi::experimental;

constexpr int N = 1024, GROUP = 128;

const char *SOURCE = R"(
#include <sycl/sycl.hpp>
namespace ext = sycl::ext::oneapi::experimental;
namespace here = sycl::ext::oneapi::this_work_item;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ext::nd_range_kernel<1>))
void scale(int *x, int by) { x[here::get_nd_item<1>().get_global_id(0)] *= by; }

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ext::nd_range_kernel<1>))
void add(int *x, const int *y) {
  auto i = here::get_nd_item<1>().get_global_id(0);
  x[i] += y[i];
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ext::nd_range_kernel<1>))
void groups(const int *in, int *out) {
  auto item = here::get_nd_item<1>();
  auto group = item.get_group();
  auto lanes = item.get_sub_group();
  int i = item.get_global_id(0), sum = sycl::reduce_over_group(group, in[i], sycl::plus<int>{});
  int before = sycl::exclusive_scan_over_group(group, 1, sycl::plus<int>{});
  int first = sycl::group_broadcast(group, in[i], 0);
  bool some = sycl::any_of_group(group, in[i] == 999);
  int other = sycl::permute_group_by_xor(lanes, in[i], 1);
  out[i] = sum + 1000 * before + first + (some ? 7 : 0) + other;
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((ext::nd_range_kernel<1>))
void bins(const int *in, int *out, double *roots) {
  int i = here::get_nd_item<1>().get_global_id(0);
  sycl::atomic_ref<int, sycl::memory_order::acq_rel, sycl::memory_scope::device> bin{out[in[i] & 7]};
  bin.fetch_add(1);
  roots[i] = sycl::sqrt(double(i));
}
)";

sycl::nd_range<1> all() { return {sycl::range{N}, sycl::range{GROUP}}; }

// A command group of one kernel.
template <typename... Arguments> auto call(const sycl::kernel &kernel, Arguments... arguments) {
  return [=](sycl::handler &group) {
    group.set_args(arguments...);
    group.parallel_for(all(), kernel);
  };
}

void kernels(sycl::queue queue, auto &bundle) {
  int *in = sycl::malloc_shared<int>(N, queue), *out = sycl::malloc_shared<int>(N, queue);
  double *roots = sycl::malloc_shared<double>(N, queue);
  for (int i = 0; i < N; i++) in[i] = (i * 37) % 1000, out[i] = 0;
  queue.submit(call(bundle.ext_oneapi_get_kernel("groups"), in, out)).wait();
  for (int i = 0; i < N; i++) {
    int from = i / GROUP * GROUP, sum = 0;
    bool some = false;
    for (int t = 0; t < GROUP; t++) sum += in[from + t], some |= in[from + t] == 999;
    CHECK(out[i] == sum + 1000 * (i % GROUP) + in[from] + (some ? 7 : 0) + in[i ^ 1]);
  }
  std::fill(out, out + N, 0);
  queue.submit(call(bundle.ext_oneapi_get_kernel("bins"), in, out, roots)).wait();
  int expected[8] = {};
  for (int i = 0; i < N; i++) expected[in[i] & 7]++;
  for (int i = 0; i < 8; i++) CHECK(out[i] == expected[i]);
  for (int i = 0; i < N; i++) CHECK(std::abs(roots[i] - std::sqrt(double(i))) < 1e-12);
  for (void *memory : {(void *)in, (void *)out, (void *)roots}) sycl::free(memory, queue);
}

void buffers(sycl::queue queue) {
  std::vector<int> host(N);
  {
    sycl::buffer<int> whole{host};
    sycl::buffer<int> half{whole, sycl::id{N / 2}, sycl::range{N / 2}};
    queue.submit([&](sycl::handler &group) { group.fill(sycl::accessor{whole, group, sycl::write_only}, 3); });
    queue.submit([&](sycl::handler &group) { group.fill(sycl::accessor{half, group, sycl::write_only}, 5); });
    // A host task waits for what wrote its buffer, and what reads it then waits for the task.
    queue.submit([&](sycl::handler &group) {
      sycl::accessor x{whole, group, sycl::read_write};
      group.host_task([=](sycl::interop_handle handle) {
        CHECK(handle.get_native_queue<sycl::backend::ext_oneapi_cuda>() != nullptr);
        CHECK(handle.get_native_mem<sycl::backend::ext_oneapi_cuda>(x) != 0);
      });
    });
    sycl::host_accessor x{whole};
    CHECK(x[0] == 3 && x[N / 2 - 1] == 3 && x[N / 2] == 5 && x[N - 1] == 5);
    x[1] = 7;
  }
  CHECK(host[0] == 3 && host[1] == 7 && host[N - 1] == 5);
}

void order(sycl::device device) {
  sycl::queue queue{device, sycl::property::queue::enable_profiling{}};
  int *x = sycl::malloc_shared<int>(N, queue), seen = 0;
  sycl::event filled = queue.fill(x, 4, N);
  sycl::event looked = queue.submit([&](sycl::handler &group) {
    group.depends_on(filled);
    group.host_task([=, &seen] { seen = x[N - 1]; });
  });
  looked.wait();
  CHECK(seen == 4);
  auto submitted = filled.get_profiling_info<sycl::info::event_profiling::command_submit>();
  auto begun = filled.get_profiling_info<sycl::info::event_profiling::command_start>();
  auto ended = filled.get_profiling_info<sycl::info::event_profiling::command_end>();
  CHECK(submitted <= begun && begun <= ended);
  sycl::free(x, queue);
}

void native(sycl::queue queue) {
  constexpr auto cuda = sycl::backend::ext_oneapi_cuda;
  CHECK(queue.get_backend() == cuda);
  CHECK(sycl::get_native<cuda>(queue.get_device()) == 0);
  CHECK(sycl::get_native<cuda>(queue) != nullptr);
  CHECK(sycl::get_native<cuda>(queue.ext_oneapi_submit_barrier()) != nullptr);
}

void errors(sycl::device device, auto &bundle) {
  sycl::queue queue{device};
  int *x = sycl::malloc_shared<int>(N, queue);
  bool thrown = false;
  try {
    queue.submit([&](sycl::handler &group) {
      group.set_args(x, 2);
      group.parallel_for(sycl::nd_range<1>{sycl::range{4096}, sycl::range{2048}}, bundle.ext_oneapi_get_kernel("scale"));
    }).wait();
  } catch (const sycl::exception &error) {
    thrown = error.code() == sycl::errc::nd_range;
  }
  CHECK(thrown);
  // More than there is.
  CHECK(sycl::malloc_device(std::size_t{1} << 44, queue) == nullptr);
  sycl::free(x, queue);
}

void graphs(sycl::device device, auto &bundle) {
  sycl::queue queue{device, sycl::property::queue::in_order{}};
  sycl::kernel scale = bundle.ext_oneapi_get_kernel("scale"), add = bundle.ext_oneapi_get_kernel("add");
  int *x = sycl::malloc_shared<int>(N, queue), *y = sycl::malloc_shared<int>(N, queue);
  auto reset = [&] {
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 1;
  };

  // Recorded: nothing runs before the graph does.
  reset();
  ext::command_graph recorded{queue.get_context(), device};
  recorded.begin_recording(queue);
  CHECK(queue.ext_oneapi_get_state() == ext::queue_state::recording);
  queue.submit(call(scale, x, 3));
  queue.submit(call(add, x, y));
  recorded.end_recording(queue);
  CHECK(queue.ext_oneapi_get_state() == ext::queue_state::executing && x[5] == 5);
  auto runs = recorded.finalize();
  for (int times = 0; times < 2; times++) queue.ext_oneapi_graph(runs);
  queue.wait();
  for (int i = 0; i < N; i++) CHECK(x[i] == (3 * i + 1) * 3 + 1);

  // By hand: a diamond, with the recorded graph within another one.
  reset();
  ext::command_graph made{queue.get_context(), device};
  auto top = made.add(call(scale, x, 2));
  auto left = made.add([&](sycl::handler &group) { group.memset(y, 0, N * sizeof(int)); }, {ext::property::node::depends_on(top)});
  auto inner = made.add([&](sycl::handler &group) { group.ext_oneapi_graph(runs); }, {ext::property::node::depends_on(left)});
  made.add(call(add, x, y), {ext::property::node::depends_on(inner)});
  CHECK(made.get_nodes().size() == 4 && made.get_root_nodes().size() == 1);
  queue.ext_oneapi_graph(made.finalize()).wait();
  for (int i = 0; i < N; i++) CHECK(x[i] == 2 * i * 3);

  // An executable graph whose kernel gets another argument.
  reset();
  ext::command_graph changing{queue.get_context(), device};
  ext::dynamic_parameter by{2};
  auto node = changing.add([&](sycl::handler &group) {
    group.set_arg(0, x);
    group.set_arg(1, by);
    group.parallel_for(all(), scale);
  });
  auto changed = changing.finalize(ext::property::graph::updatable{});
  queue.ext_oneapi_graph(changed).wait();
  by.update(5);
  changed.update(node);
  queue.ext_oneapi_graph(changed).wait();
  for (int i = 0; i < N; i++) CHECK(x[i] == 10 * i);

  // A graph of the same shape takes the place of another one.
  reset();
  ext::command_graph first{queue.get_context(), device}, second{queue.get_context(), device};
  first.add(call(scale, x, 7));
  second.add(call(scale, y, 11));
  auto whole = first.finalize(ext::property::graph::updatable{});
  whole.update(second);
  queue.ext_oneapi_graph(whole).wait();
  CHECK(x[9] == 9 && y[9] == 11);
  sycl::free(x, queue);
  sycl::free(y, queue);
}

int main() {
  sycl::device device = gpu();
  sycl::queue queue{device, sycl::property::queue::in_order{}};
  auto source = ext::create_kernel_bundle_from_source(queue.get_context(), ext::source_language::sycl, SOURCE);
  auto bundle = ext::build(source, ext::properties{ext::build_options{build_options()}});
  kernels(queue, bundle);
  buffers(queue);
  order(device);
  native(queue);
  errors(device, bundle);
  graphs(device, bundle);
  std::cout << "SYCL kernels of run time as expected" << std::endl;
}

// Queues in and out of order, what events say, profiling, and errors: thrown where they are made, or handed to a handler later.
#include "check.hpp"

constexpr int N = 256;

int main() {
  sycl::device device = gpu();
  // In order: each command sees what the one before it wrote.
  sycl::queue ordered{device, sycl::property_list{sycl::property::queue::in_order{}, sycl::property::queue::enable_profiling{}}};
  int *x = sycl::malloc_shared<int>(N, ordered);
  ordered.fill(x, 1, N);
  for (int step = 0; step < 10; step++) ordered.parallel_for(sycl::range{N}, [=](sycl::id<1> i) { x[i] = 2 * x[i]; });
  sycl::event last = ordered.parallel_for(sycl::range{N}, [=](sycl::id<1> i) { x[i] += int(i[0]); });
  ordered.wait();
  for (int i = 0; i < N; i++) CHECK(x[i] == 1024 + i);
  CHECK(last.get_info<sycl::info::event::command_execution_status>() == sycl::info::event_command_status::complete);
  auto submitted = last.get_profiling_info<sycl::info::event_profiling::command_submit>();
  auto begun = last.get_profiling_info<sycl::info::event_profiling::command_start>();
  auto ended = last.get_profiling_info<sycl::info::event_profiling::command_end>();
  CHECK(submitted <= begun && begun <= ended);

  // Out of order: a diamond of events.
  sycl::queue free_order{device};
  int *y = sycl::malloc_shared<int>(3 * N, free_order);
  sycl::event top = free_order.parallel_for(sycl::range{N}, [=](sycl::id<1> i) { y[i] = int(i[0]); });
  auto side = [&](int at, int by) {
    return free_order.submit([&](sycl::handler &group) {
      group.depends_on(top);
      group.parallel_for(sycl::range{N}, [=](sycl::id<1> i) { y[at * N + i[0]] = by * y[i]; });
    });
  };
  sycl::event left = side(1, 3), right = side(2, 5);
  sycl::event bottom = free_order.submit([&](sycl::handler &group) {
    group.depends_on(std::vector<sycl::event>{left, right});
    group.parallel_for(sycl::range{N}, [=](sycl::id<1> i) { y[i] = y[N + i[0]] + y[2 * N + i[0]]; });
  });
  bottom.wait();
  for (int i = 0; i < N; i++) CHECK(y[i] == 8 * i);
  sycl::free(y, free_order);
  sycl::free(x, ordered);

  // Errors: thrown where they are made, or handed to a handler.
  bool refused = false;
  sycl::queue failing{device, [&](sycl::exception_list errors) { refused |= errors.size() > 0; }};
  try {
    failing.parallel_for(sycl::nd_range<1>{sycl::range{4096}, sycl::range{2048}}, [=](sycl::nd_item<1>) {});
    failing.wait_and_throw();
  } catch (const sycl::exception &) {
    refused = true;
  }
  CHECK(refused);
  std::cout << "SYCL queues as expected" << std::endl;
}

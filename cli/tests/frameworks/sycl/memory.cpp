// Buffers with accessors of every mode, host accessors and write-back; unified shared memory of all kinds.
#include "check.hpp"

constexpr int N = 1000;

void buffers(sycl::queue queue) {
  std::vector<int> host(N), kept(N, -1);
  std::iota(host.begin(), host.end(), 0);
  {
    sycl::buffer<int> a{host}, b{sycl::range{N}};
    b.set_final_data(kept.data());
    // Read and write; the second command group waits for the first, and the third for both.
    queue.submit([&](sycl::handler &group) {
      sycl::accessor x{a, group, sycl::read_write};
      group.parallel_for(sycl::range{N}, [=](sycl::id<1> i) { x[i] += 1; });
    });
    queue.submit([&](sycl::handler &group) {
      sycl::accessor x{a, group, sycl::read_only};
      sycl::accessor y{b, group, sycl::write_only, sycl::no_init};
      group.parallel_for(sycl::range{N}, [=](sycl::item<1> i) { y[i] = 2 * x[i]; });
    });
    {
      sycl::host_accessor y{b, sycl::read_only};
      for (int i = 0; i < N; i++) CHECK(y[i] == 2 * (i + 1));
    }
    {
      sycl::host_accessor y{b};
      y[7] = 1000;
    }
    // Only a part of a buffer, from the hundredth on: its indices begin at zero.
    queue.submit([&](sycl::handler &group) {
      sycl::accessor y{b, group, sycl::range{50}, sycl::id{100}, sycl::read_write};
      group.parallel_for(sycl::range{50}, [=](sycl::id<1> i) { y[i] = -1; });
    });
    queue.submit([&](sycl::handler &group) { group.copy(sycl::accessor{a, group, sycl::read_only}, kept.data()); }).wait();
    CHECK(kept[3] == 4);
  }
  for (int i = 0; i < N; i++) CHECK(host[i] == i + 1);
  for (int i = 0; i < N; i++) CHECK(kept[i] == (i == 7 ? 1000 : i >= 100 && i < 150 ? -1 : 2 * (i + 1)));

  sycl::buffer<float, 2> plane{sycl::range{8, 16}};
  queue.submit([&](sycl::handler &group) {
    sycl::accessor p{plane, group, sycl::write_only, sycl::no_init};
    group.parallel_for(plane.get_range(), [=](sycl::id<2> at) { p[at] = at[0] * 100.0f + at[1]; });
  });
  sycl::host_accessor p{plane, sycl::read_only};
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 16; x++) CHECK((p[{std::size_t(y), std::size_t(x)}] == y * 100.0f + x));
}

void unified(sycl::queue queue) {
  int *there = sycl::malloc_device<int>(N, queue), *both = sycl::malloc_shared<int>(N, queue), *here = sycl::malloc_host<int>(N, queue);
  CHECK(there && both && here);
  CHECK(sycl::get_pointer_type(there, queue.get_context()) == sycl::usm::alloc::device);
  CHECK(sycl::get_pointer_type(both, queue.get_context()) == sycl::usm::alloc::shared);
  CHECK(sycl::get_pointer_type(here, queue.get_context()) == sycl::usm::alloc::host);
  for (int i = 0; i < N; i++) here[i] = i;
  sycl::event copied = queue.memcpy(there, here, N * sizeof(int));
  sycl::event filled = queue.fill(both, 5, N);
  sycl::event added = queue.parallel_for(sycl::range{N}, {copied, filled}, [=](sycl::id<1> i) { both[i] += there[i] + here[i]; });
  added.wait();
  for (int i = 0; i < N; i++) CHECK(both[i] == 5 + 2 * i);
  queue.memset(there, 0xff, N * sizeof(int)).wait();
  queue.copy(there, here, N).wait();
  CHECK(here[0] == -1 && here[N - 1] == -1);
  for (int *memory : {there, both, here}) sycl::free(memory, queue);
}

int main() {
  sycl::queue queue{gpu()};
  buffers(queue);
  unified(queue);
  std::cout << "SYCL memory as expected" << std::endl;
}

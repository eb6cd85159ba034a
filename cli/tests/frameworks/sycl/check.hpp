// What the programs of this folder share: a queue on the first GPU, and checks that name their line.
#pragma once
#include <sycl/sycl.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#define CHECK(condition)                                                                      \
  do                                                                                          \
    if (!(condition)) {                                                                       \
      std::cerr << __FILE__ << ':' << __LINE__ << ": not so: " << #condition << std::endl;    \
      std::exit(1);                                                                           \
    }                                                                                         \
  while (0)

// The first GPU; without one the program ends with status 77.
inline sycl::device gpu() {
  try {
    return sycl::device{sycl::gpu_selector_v};
  } catch (const sycl::exception &error) {
    std::cerr << "there is no GPU: " << error.what() << std::endl;
    std::exit(77);
  }
}

// Options of the compiler of kernels from source, such as where libdevice is.
inline std::vector<std::string> build_options() {
  std::vector<std::string> options;
  std::istringstream words{std::getenv("WARPGRIND_SYCL_OPTIONS") ? std::getenv("WARPGRIND_SYCL_OPTIONS") : ""};
  for (std::string word; words >> word;) options.push_back(word);
  return options;
}

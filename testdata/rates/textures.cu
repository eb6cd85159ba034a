// Reads of textures: 64 of each thread, whose threads go over the rows.

#define READS 64

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void numbers(cudaTextureObject_t texels, float* out) {
  int i = thread();
  float sum = 0;
  for (int k = 0; k < READS; k++) sum += tex1Dfetch<float>(texels, i + k);
  out[i] = sum;
}

extern "C" __global__ void plane(cudaTextureObject_t texels, float* out) {
  int i = thread();
  float x = i % 64 + 0.75f, y = i / 64 % 64 + 0.75f, sum = 0;
  for (int k = 0; k < READS; k++) sum += tex2D<float>(texels, x + k, y);
  out[i] = sum;
}

extern "C" __global__ void colours(cudaTextureObject_t texels, float* out) {
  int i = thread();
  float x = i % 64 + 0.75f, y = i / 64 % 64 + 0.75f, sum = 0;
  for (int k = 0; k < READS; k++) {
    float4 texel = tex2D<float4>(texels, x + k, y);
    sum += texel.x + texel.y + texel.z + texel.w;
  }
  out[i] = sum;
}

extern "C" __global__ void volume(cudaTextureObject_t texels, float* out) {
  int i = thread();
  float x = i % 16 + 0.75f, y = i / 16 % 16 + 0.75f, sum = 0;
  for (int k = 0; k < READS; k++) sum += tex3D<float>(texels, x, y, k % 16 + 0.75f);
  out[i] = sum;
}

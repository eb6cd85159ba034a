// All-pairs gravity: positions with the mass in w, tiles of bodies in shared memory.

__device__ float3 attract(float3 a, float4 self, float4 other)
{
    float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
    float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
    float inv = rsqrtf(r2);
    float s = other.w * inv * inv * inv;
    a.x += dx * s;
    a.y += dy * s;
    a.z += dz * s;
    return a;
}

extern "C" __global__ void nbody_forces(const float4 *body, float3 *accel, int n)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 self = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 a = {0, 0, 0};
    for (int base = 0; base < n; base += blockDim.x) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < blockDim.x; k++)
            a = attract(a, self, tile[k]);
        __syncthreads();
    }
    if (i < n)
        accel[i] = a;
}

extern "C" __global__ void nbody_step(float4 *body, float3 *velocity, const float3 *accel, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float3 v = velocity[i], a = accel[i];
    v.x += a.x * dt;
    v.y += a.y * dt;
    v.z += a.z * dt;
    velocity[i] = v;
    body[i].x += v.x * dt;
    body[i].y += v.y * dt;
    body[i].z += v.z * dt;
}

// Member functions, bases, bit fields and inlined functions, for a debugger.
struct Flags {
    unsigned kind : 3;
    int level : 5;
    unsigned rest : 24;
};

struct Shape {
    int sides;
};

class Box : public Shape {
public:
    float width, height;
    Flags flags;
    union {
        int whole;
        float part;
    };

    __device__ Box(float w, float h) : width(w), height(h) {
        sides = 4;
        flags.kind = 5;
        flags.level = -3;
        flags.rest = 0xabcdef;
        part = 1.5f;
    }

    __device__ __noinline__ float area(float scale) const {
        float result = width * height;
        result *= scale;
        return result;
    }
};

__device__ __forceinline__ float half(float value) {
    float result = value / 2;
    return result;
}

__global__ void members(float *out, float scale) {
    Box box(threadIdx.x + 1.0f, 2.0f);
    float area = box.area(scale);
    out[threadIdx.x] = half(area) + box.flags.level + box.sides;
}

// Virtual functions, function pointers, recursion, and the device's own heap.

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
    __device__ virtual ~Shape() {}
};

struct Circle : Shape {
    float radius;
    __device__ Circle(float r) : radius(r) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
};

struct Rectangle : Shape {
    float width, height;
    __device__ Rectangle(float w, float h) : width(w), height(h) {}
    __device__ float area() const override { return width * height; }
    __device__ int corners() const override { return 4; }
};

struct Square : Rectangle {
    __device__ Square(float side) : Rectangle(side, side) {}
};

// Makes a shape a thread with device-side new, measures it, deletes it.
extern "C" __global__ void shapes(const int *kind, const float *size, float *area, int *corners, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Shape *shape;
    if (kind[i] == 0)
        shape = new Circle(size[i]);
    else if (kind[i] == 1)
        shape = new Rectangle(size[i], 2.0f);
    else
        shape = new Square(size[i]);
    area[i] = shape->area();
    corners[i] = shape->corners();
    delete shape;
}

typedef unsigned (*Operation)(unsigned, unsigned);
__device__ __noinline__ unsigned op_add(unsigned a, unsigned b) { return a + b; }
__device__ __noinline__ unsigned op_sub(unsigned a, unsigned b) { return a - b; }
__device__ __noinline__ unsigned op_mul(unsigned a, unsigned b) { return a * b; }
__device__ __noinline__ unsigned op_xor(unsigned a, unsigned b) { return a ^ b; }
__device__ Operation operations[4] = {op_add, op_sub, op_mul, op_xor};

extern "C" __global__ void apply(const unsigned char *which, const unsigned *a, const unsigned *b, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = operations[which[i] & 3](a[i], b[i]);
}

__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recurse(const int *m, const int *n, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = ackermann(m[i], n[i]);
}

struct Tree {
    int key;
    Tree *left, *right;
};

__device__ __noinline__ Tree *insert(Tree *tree, int key)
{
    if (!tree) {
        tree = (Tree *)malloc(sizeof(Tree));
        tree->key = key;
        tree->left = tree->right = nullptr;
    } else if (key < tree->key)
        tree->left = insert(tree->left, key);
    else
        tree->right = insert(tree->right, key);
    return tree;
}

__device__ __noinline__ int walk(Tree *tree, int *out, int at)
{
    if (!tree)
        return at;
    at = walk(tree->left, out, at);
    out[at++] = tree->key;
    at = walk(tree->right, out, at);
    free(tree);
    return at;
}

// Sorts each thread's run of keys with a binary tree on the heap.
extern "C" __global__ void tree_sort(const int *keys, int *sorted, int run, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Tree *tree = nullptr;
    for (int k = 0; k < run; k++)
        tree = insert(tree, keys[i * run + k]);
    walk(tree, sorted + i * run, 0);
}

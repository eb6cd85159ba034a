// A sorted linked list that every thread inserts into, under one spin lock
// taken with atomicCAS: between threads of one warp it needs independent
// thread scheduling to finish. And a counter under a ticket lock.

struct Node {
    int key;
    int next;
};

__device__ int list_lock;

// nodes[0] is the head's sentinel with next = -1; thread i owns nodes[i + 1].
extern "C" __global__ void list_insert(volatile Node *nodes, const int *keys, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int self = i + 1;
    int key = keys[i];
    nodes[self].key = key;
    bool done = false;
    while (!done) {
        if (atomicCAS(&list_lock, 0, 1) == 0) {
            __threadfence();
            int at = 0;
            while (nodes[at].next != -1 && nodes[nodes[at].next].key < key)
                at = nodes[at].next;
            nodes[self].next = nodes[at].next;
            nodes[at].next = self;
            __threadfence();
            atomicExch(&list_lock, 0);
            done = true;
        }
    }
}

struct TicketLock {
    unsigned next;
    unsigned serving;
};

extern "C" __global__ void ticket_count(TicketLock *lock, volatile unsigned long long *counter, unsigned *order)
{
    unsigned ticket = atomicAdd(&lock->next, 1u);
    while (*(volatile unsigned *)&lock->serving != ticket)
        __nanosleep(20);
    __threadfence();
    unsigned long long before = *counter;
    *counter = before + 1;
    order[before] = blockIdx.x * blockDim.x + threadIdx.x;
    __threadfence();
    atomicAdd(&lock->serving, 1u);
}

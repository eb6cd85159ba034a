// What links between devices and to the host can do.
#include "devices.h"

static void atomics() {
    CUatomicOperation all[CU_ATOMIC_OPERATION_MAX];
    unsigned found[CU_ATOMIC_OPERATION_MAX];
    for (int i = 0; i < CU_ATOMIC_OPERATION_MAX; i++) all[i] = (CUatomicOperation)i;
    OK(cuInit(0));
    memset(found, 0xff, sizeof found);
    T(cuDeviceGetP2PAtomicCapabilities(found, all, CU_ATOMIC_OPERATION_MAX, 0, 1));
    for (unsigned one : found) printf("%u ", one);
    memset(found, 0xff, sizeof found);
    T(cuDeviceGetHostAtomicCapabilities(found, all, CU_ATOMIC_OPERATION_MAX, 0));
    for (unsigned one : found) printf("%u ", one);
    T(cuDeviceGetP2PAtomicCapabilities(found, all, 1, 0, 0));
    T(cuDeviceGetP2PAtomicCapabilities(found, all, 1, 0, 5));
    T(cuDeviceGetP2PAtomicCapabilities(found, all, 0, 0, 1));
    T(cuDeviceGetP2PAtomicCapabilities(nullptr, all, 1, 0, 1));
    T(cuDeviceGetHostAtomicCapabilities(found, all, 1, 5));
    all[0] = (CUatomicOperation)13;
    T(cuDeviceGetHostAtomicCapabilities(found, all, 1, 0));
}

static void notifications() {
    OK(cuInit(0));
    CUasyncCallbackHandle handle;
    T(cuDeviceRegisterAsyncNotification(0, [](CUasyncNotificationInfo*, void*, CUasyncCallbackHandle) {}, nullptr, &handle));
    T(cuDeviceUnregisterAsyncNotification(0, handle));
}

// The words are the driver's own; how many there are, and what each call returned, is the same.
static void logs() {
    OK(cuInit(0));
    int count = 0;
    CUlogsCallbackHandle handle;
    auto hear = [](void* data, CUlogLevel level, char* message, size_t length) {
        if (strncmp(message, "Returning", 9) == 0) printf("heard: level %d length %d text %s\n", level, length == strlen(message), message);
        ++*(int*)data;
    };
    T(cuLogsRegisterCallback(hear, &count, &handle));
    T(cuLogsRegisterCallback(nullptr, &count, &handle));
    CUdevice device;
    T(cuDeviceGet(&device, 9));
    T(cuLogsDumpToFile(nullptr, "/dev/null", 0));
    T(cuLogsUnregisterCallback(handle));
    SHOW(count > 1);
}

int main(int count, char** words) {
    return run_cases(count, words, {{"atomics", atomics}, {"notifications", notifications}, {"logs", logs}});
}

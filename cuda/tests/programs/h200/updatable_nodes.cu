// Nodes that kernels update, and updates of executable graphs with such nodes. (Recorded on an H100.)
#include <cstdio>
#include <cuda_runtime.h>
#define P(x) do{cudaError_t e_=(x); if(e_) printf("%s -> %d\n",#x,(int)e_); cudaGetLastError();}while(0)
__global__ void a(int*p,int v){ atomicAdd(p,v); } __global__ void b(int*p,int v){ *p+=1000*v; }
__global__ void upd(cudaGraphDeviceNode_t n,int v){ printf("   dev %d\n",cudaGraphKernelNodeSetParam(n,8,v)); }
__global__ void off(cudaGraphDeviceNode_t n,bool v){ printf("   dev %d\n",cudaGraphKernelNodeSetEnabled(n,v)); }
static int*p;
static cudaGraph_t mk(){ cudaGraph_t g; P(cudaGraphCreate(&g,0)); return g; }
static cudaGraphNode_t kern(cudaGraph_t g,void*f,int v){ cudaGraphNode_t n; cudaKernelNodeParams k={}; k.func=f;k.gridDim=1;k.blockDim=1; void*ar[2]={&p,&v}; k.kernelParams=ar; P(cudaGraphAddKernelNode(&n,g,0,0,&k)); return n; }
static cudaGraphDeviceNode_t up(cudaGraphNode_t n){ cudaLaunchAttributeValue v={}; v.deviceUpdatableKernelNode.deviceUpdatable=1; P(cudaGraphKernelNodeSetAttribute(n,cudaLaunchAttributeDeviceUpdatableKernelNode,&v)); return v.deviceUpdatableKernelNode.devNode; }
static void update(cudaGraphExec_t x,cudaGraph_t h){ cudaGraphExecUpdateResultInfo r={(cudaGraphExecUpdateResult)77,(cudaGraphNode_t)0x77,(cudaGraphNode_t)0x77}; int e=cudaGraphExecUpdate(x,h,&r); cudaGetLastError(); cudaGraphNode_t l[8]; size_t n=8; cudaGraphGetNodes(h,l,&n); int w=-1; for(size_t i=0;i<n;i++) if(l[i]==r.errorNode) w=i; printf("  update %d result %d node %s %d from %p\n",e,r.result,r.errorNode?r.errorNode==(cudaGraphNode_t)0x77?"untouched":"some":"null",w,(void*)r.errorFromNode); }
static void go(cudaGraphExec_t x){ P(cudaMemset(p,0,4)); int e=cudaGraphLaunch(x,0); int f=cudaDeviceSynchronize(); cudaGetLastError(); int v=0; P(cudaMemcpy(&v,p,4,cudaMemcpyDeviceToHost)); printf("  launch %d sync %d value %d\n",e,f,v); }
static cudaGraphExec_t in(cudaGraph_t g){ cudaGraphExec_t x=0; int e=cudaGraphInstantiate(&x,g,0); cudaGetLastError(); printf("  inst %d\n",e); return x; }
int main(){ P(cudaMalloc(&p,64));
 {puts("itself"); auto g=mk(); auto d=up(kern(g,(void*)a,1)); auto x=in(g); P(cudaGraphUpload(x,0)); go(x); upd<<<1,1>>>(d,5); cudaDeviceSynchronize(); go(x); update(x,g); go(x); }
 {puts("to another updatable"); auto g=mk(),h=mk(); up(kern(g,(void*)a,1)); auto d=up(kern(h,(void*)a,2)); auto x=in(g); go(x); update(x,h); go(x); upd<<<1,1>>>(d,7); cudaDeviceSynchronize(); go(x); }
 {puts("updatable to plain"); auto g=mk(),h=mk(); auto d=up(kern(g,(void*)a,1)); kern(h,(void*)a,2); auto x=in(g); go(x); update(x,h); go(x); upd<<<1,1>>>(d,7); cudaDeviceSynchronize(); go(x); }
 {puts("plain to updatable"); auto g=mk(),h=mk(); kern(g,(void*)a,1); auto d=up(kern(h,(void*)a,2)); auto x=in(g); go(x); update(x,h); go(x); }
 {puts("updatable to other function"); auto g=mk(),h=mk(); up(kern(g,(void*)a,1)); up(kern(h,(void*)b,2)); auto x=in(g); update(x,h); go(x); }
 {puts("updatable among more nodes"); auto g=mk(),h=mk(); up(kern(g,(void*)a,1)); up(kern(h,(void*)a,2)); kern(h,(void*)a,2); auto x=in(g); update(x,h); go(x); }
 {puts("updatable, other type"); auto g=mk(),h=mk(); up(kern(g,(void*)a,1)); cudaGraphNode_t n; P(cudaGraphAddEmptyNode(&n,h,0,0)); auto x=in(g); update(x,h); go(x); }
 {puts("one of two"); auto g=mk(),h=mk(); kern(g,(void*)a,1); up(kern(g,(void*)a,10)); kern(h,(void*)a,2); up(kern(h,(void*)a,20)); auto x=in(g); update(x,h); go(x); }
 {puts("exec kernel node set params"); auto g=mk(); auto n=kern(g,(void*)a,1); auto d=up(n); auto x=in(g); P(cudaGraphUpload(x,0)); upd<<<1,1>>>(d,5); cudaDeviceSynchronize(); go(x); int v=9; cudaKernelNodeParams k={}; k.func=(void*)a;k.gridDim=1;k.blockDim=1; void*ar[2]={&p,&v}; k.kernelParams=ar; printf("  set %d\n",cudaGraphExecKernelNodeSetParams(x,n,&k)); cudaGetLastError(); go(x); off<<<1,1>>>(d,false); cudaDeviceSynchronize(); go(x); printf("  set %d\n",cudaGraphExecKernelNodeSetParams(x,n,&k)); go(x); }
 {puts("second instantiation, clone, child"); auto g=mk(); up(kern(g,(void*)a,1)); auto x=in(g); auto y=in(g); (void)x;(void)y; cudaGraph_t c; printf("  clone %d\n",cudaGraphClone(&c,g)); cudaGetLastError(); auto o=mk(); cudaGraphNode_t n; printf("  child %d\n",cudaGraphAddChildGraphNode(&n,o,0,0,g)); cudaGetLastError(); }
}

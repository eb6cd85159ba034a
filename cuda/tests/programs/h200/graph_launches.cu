// Kernels that may launch graphs, outside of graphs, where they are refused, and in them.
#include <cstdio>
#include <cuda_runtime.h>
#define P(x) do{cudaError_t e=(x); printf("%s -> %d\n",#x,(int)e); fflush(stdout);}while(0)
#define S(x) do{P(x); P(cudaDeviceSynchronize()); P(cudaGetLastError());}while(0)
__global__ void leaf(int*p){ if(p) atomicAdd(p,1); }
__global__ void launches(cudaGraphExec_t g,int*p){ cudaError_t e=cudaGraphLaunch(g,cudaStreamGraphFireAndForget); if(p) *p=100+(int)e; }
__global__ void tail(cudaGraphExec_t g,int*p){ cudaError_t e=cudaGraphLaunch(g,cudaStreamGraphTailLaunch); if(p) *p=100+(int)e; }
__device__ __noinline__ void helper(cudaGraphExec_t g,int*p){ cudaError_t e=cudaGraphLaunch(g,cudaStreamGraphFireAndForget); *p=100+(int)e; }
__global__ void indirect(cudaGraphExec_t g,int*p){ helper(g,p); }
__global__ void never(cudaGraphExec_t g,int*p,int yes){ if(yes) cudaGraphLaunch(g,cudaStreamGraphFireAndForget); *p=7; }
typedef void(*F)(cudaGraphExec_t,int*);
__device__ F table[1]={helper};
__global__ void pointer(cudaGraphExec_t g,int*p,int i){ table[i](g,p); }
__global__ void current(int*p){ *p=cudaGetCurrentGraphExec()==0?1:2; }
__global__ void kernels(int*p){ leaf<<<1,1>>>(p); }
int main(){
  int*p; P(cudaMalloc(&p,64)); P(cudaMemset(p,0,64)); int h;
  auto show=[&](const char*w){ cudaMemcpy(&h,p,4,cudaMemcpyDeviceToHost); printf("%s: *p=%d\n",w,h); cudaMemset(p,0,4);};
  cudaGraph_t g; cudaGraphNode_t n; P(cudaGraphCreate(&g,0)); cudaKernelNodeParams k={}; k.func=(void*)leaf;k.gridDim=1;k.blockDim=1;void*a[]={&p};k.kernelParams=a; P(cudaGraphAddKernelNode(&n,g,0,0,&k));
  cudaGraphExec_t x; P(cudaGraphInstantiateWithFlags(&x,g,cudaGraphInstantiateFlagDeviceLaunch)); P(cudaGraphUpload(x,0)); P(cudaDeviceSynchronize());
  printf("-- outside\n");
  launches<<<1,1>>>(x,p); S(cudaPeekAtLastError()); show("launches");
  tail<<<1,1>>>(x,p); S(cudaPeekAtLastError()); show("tail");
  indirect<<<1,1>>>(x,p); S(cudaPeekAtLastError()); show("indirect");
  never<<<1,1>>>(x,p,0); S(cudaPeekAtLastError()); show("never");
  pointer<<<1,1>>>(x,p,0); S(cudaPeekAtLastError()); show("pointer");
  current<<<1,1>>>(p); S(cudaPeekAtLastError()); show("current");
  kernels<<<1,1>>>(p); S(cudaPeekAtLastError()); show("kernels");
  { void*b[]={&x,&p}; P(cudaLaunchCooperativeKernel((void*)launches,dim3(1),dim3(1),b)); S(cudaPeekAtLastError()); show("coop"); }
  printf("-- in graphs\n");
  for(int dl=0; dl<2; dl++) for (int which=0; which<4; which++){
    void* fs[]={(void*)launches,(void*)indirect,(void*)never,(void*)pointer}; int zero=0; void*b[]={&x,&p,&zero};
    cudaGraph_t o; cudaGraphNode_t m; P(cudaGraphCreate(&o,0)); cudaKernelNodeParams q={}; q.func=fs[which];q.gridDim=1;q.blockDim=1;q.kernelParams=b; P(cudaGraphAddKernelNode(&m,o,0,0,&q));
    cudaGraphExec_t y; P(cudaGraphInstantiateWithFlags(&y,o,dl?cudaGraphInstantiateFlagDeviceLaunch:0)); P(cudaGraphLaunch(y,0)); S(cudaPeekAtLastError()); printf("%d %d ",dl,which); show("graph");
  }
  printf("-- captured\n");
  { cudaStream_t s; P(cudaStreamCreate(&s)); P(cudaStreamBeginCapture(s,cudaStreamCaptureModeGlobal)); launches<<<1,1,0,s>>>(x,p); P(cudaPeekAtLastError()); cudaGraph_t o; P(cudaStreamEndCapture(s,&o)); cudaGraphExec_t y; P(cudaGraphInstantiate(&y,o,0)); P(cudaGraphLaunch(y,s)); S(cudaPeekAtLastError()); show("captured"); 
    // two nodes, the second is one that launches
    cudaGraphNode_t m1,m2; cudaGraph_t o2; P(cudaGraphCreate(&o2,0)); P(cudaGraphAddKernelNode(&m1,o2,0,0,&k)); cudaKernelNodeParams q={}; void*b[]={&x,&p}; q.func=(void*)launches;q.gridDim=1;q.blockDim=1;q.kernelParams=b; P(cudaGraphAddKernelNode(&m2,o2,&m1,1,&q)); cudaGraphExec_t y2; P(cudaGraphInstantiate(&y2,o2,0)); P(cudaGraphLaunch(y2,s)); S(cudaPeekAtLastError()); show("two"); }
  return 0; }

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define CK(x) do{cudaError_t e=(x); if(e){printf("%s:%d %s -> %d %s\n",__FILE__,__LINE__,#x,e,cudaGetErrorName(e)); exit(1);} }while(0)
#define EXPECT(x) do{ if(!(x)){printf("%s:%d not %s\n",__FILE__,__LINE__,#x); exit(1);} }while(0)
__constant__ int c[4]; __device__ int g=7; __managed__ int m=5;
__global__ void consts(int*out){ out[threadIdx.x]=c[threadIdx.x]+g; if (threadIdx.x == 0) m += 1; }
__global__ void hello(int k){ printf("hello %d from %d\n",k,threadIdx.x); }
__global__ void add1(int*p,int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) p[i]+=1; }
__global__ void gridsum(int*p,int*out,int n){ cg::grid_group gr=cg::this_grid(); int i=gr.thread_rank(); if(i<n) p[i]*=2; gr.sync(); if(i==0){int s=0; for(int k=0;k<n;k++) s+=p[k]; *out=s;} }
__global__ void wait_flag(volatile int* flag,int*out){ while(*flag==0); *out=*flag; }
__global__ void dynshared(int*out){ extern __shared__ int s[]; s[threadIdx.x]=threadIdx.x; __syncthreads(); out[threadIdx.x]=s[blockDim.x-1-threadIdx.x]; }
__global__ void mallocs(int**p){ p[threadIdx.x]=(int*)malloc(16); p[threadIdx.x][0]=threadIdx.x; }
__global__ void frees(int**p,int*out){ out[threadIdx.x]=p[threadIdx.x][0]; free(p[threadIdx.x]); }
static int called=0; static void CUDART_CB fn(void*d){ (*(int*)d)++; called++; }
static void CUDART_CB cb(cudaStream_t, cudaError_t e, void*d){ (*(int*)d)+=10+e; }
int main(){
  int dev; CK(cudaGetDevice(&dev)); cudaDeviceProp p; CK(cudaGetDeviceProperties(&p,0)); EXPECT(!strcmp(p.name,"NVIDIA H200")&&p.major==9&&p.multiProcessorCount==132&&p.warpSize==32&&p.sharedMemPerBlockOptin==232448&&p.clusterLaunch==1);
  int hc[4]={1,2,3,4}; CK(cudaMemcpyToSymbol(c,hc,sizeof hc)); int nine=9; CK(cudaMemcpyToSymbol(g,&nine,4));
  int*d; CK(cudaMalloc(&d,4096)); consts<<<1,4>>>(d); int h[1024]; CK(cudaMemcpy(h,d,16,cudaMemcpyDeviceToHost)); for(int i=0;i<4;i++) EXPECT(h[i]==i+1+9);
  CK(cudaDeviceSynchronize()); EXPECT(m==6); m=10; consts<<<1,4>>>(d); CK(cudaDeviceSynchronize()); EXPECT(m==11);
  int gg; CK(cudaMemcpyFromSymbol(&gg,g,4)); EXPECT(gg==9);
  printf("before\n"); hello<<<1,2>>>(3); CK(cudaDeviceSynchronize()); printf("after\n");
  // streams, events
  cudaStream_t s1,s2; CK(cudaStreamCreate(&s1)); CK(cudaStreamCreateWithFlags(&s2,cudaStreamNonBlocking)); cudaEvent_t e1,e2; CK(cudaEventCreate(&e1)); CK(cudaEventCreate(&e2));
  CK(cudaMemsetAsync(d,0,4096,s1)); CK(cudaEventRecord(e1,s1)); for(int i=0;i<50;i++) add1<<<4,256,0,s1>>>(d,1024); CK(cudaEventRecord(e2,s1)); CK(cudaStreamWaitEvent(s2,e2)); CK(cudaMemcpyAsync(h,d,4096,cudaMemcpyDeviceToHost,s2)); CK(cudaStreamSynchronize(s2)); for(int i=0;i<1024;i++) EXPECT(h[i]==50); float ms; CK(cudaEventElapsedTime(&ms,e1,e2)); EXPECT(ms>0&&ms<10000);
  int counter=0; CK(cudaLaunchHostFunc(s1,fn,&counter)); CK(cudaStreamAddCallback(s1,cb,&counter,0)); CK(cudaStreamSynchronize(s1)); EXPECT(counter==11);
  // mapped flag
  int*flag; CK(cudaHostAlloc(&flag,8,cudaHostAllocMapped)); int*df; CK(cudaHostGetDevicePointer(&df,flag,0)); flag[0]=0; flag[1]=0; wait_flag<<<1,1,0,s2>>>(df,df+1); EXPECT(cudaStreamQuery(s2)==cudaErrorNotReady); flag[0]=42; CK(cudaStreamSynchronize(s2)); EXPECT(flag[1]==42);
  // host function waiting for other stream's op
  // managed
  int*mm; CK(cudaMallocManaged(&mm,4000)); for(int i=0;i<1000;i++) mm[i]=i; add1<<<4,256>>>(mm,1000); CK(cudaDeviceSynchronize()); for(int i=0;i<1000;i++) EXPECT(mm[i]==i+1);
  // coop
  int n=1000; int*out; CK(cudaMalloc(&out,4)); void*args[]={&mm,&out,&n}; CK(cudaLaunchCooperativeKernel((void*)gridsum,dim3(4),dim3(256),args,0,0)); CK(cudaMemcpy(h,out,4,cudaMemcpyDeviceToHost)); EXPECT(h[0]==2*(1000*1001/2));
  // 2D copies
  int*pd; size_t pitch; CK(cudaMallocPitch(&pd,&pitch,100*4,10)); EXPECT(pitch==512); int src[10][100],dst[10][100]; for(int i=0;i<1000;i++) src[i/100][i%100]=i; CK(cudaMemcpy2D(pd,pitch,src,400,400,10,cudaMemcpyHostToDevice)); CK(cudaMemcpy2D(dst,400,pd,pitch,400,10,cudaMemcpyDeviceToHost)); EXPECT(!memcmp(src,dst,4000));
  // dynamic shared
  CK(cudaFuncSetAttribute(dynshared,cudaFuncAttributeMaxDynamicSharedMemorySize,100000)); dynshared<<<1,128,100000>>>(d); CK(cudaGetLastError()); CK(cudaMemcpy(h,d,512,cudaMemcpyDeviceToHost)); for(int i=0;i<128;i++) EXPECT(h[i]==127-i);
  // launch errors
  add1<<<1,2048>>>(d,1); EXPECT(cudaGetLastError()==(CUDART_VERSION>=13000?cudaErrorInvalidValue:cudaErrorInvalidConfiguration)); EXPECT(cudaGetLastError()==cudaSuccess);
  add1<<<1,32,1000000>>>(d,1); EXPECT(cudaGetLastError()==cudaErrorInvalidValue);
  EXPECT(cudaFree((void*)0x1234)==cudaErrorInvalidValue); cudaGetLastError(); EXPECT(cudaMalloc((void**)&pd,1ull<<45)==cudaErrorMemoryAllocation); cudaGetLastError();
  // async pools
  int*ap; CK(cudaMallocAsync(&ap,4096,s1)); CK(cudaMemsetAsync(ap,0,4096,s1)); add1<<<4,256,0,s1>>>(ap,1024); CK(cudaMemcpyAsync(h,ap,4096,cudaMemcpyDeviceToHost,s1)); CK(cudaFreeAsync(ap,s1)); CK(cudaStreamSynchronize(s1)); EXPECT(h[1023]==1);
  // graph by capture
  cudaGraph_t gr; cudaGraphExec_t ge; CK(cudaStreamBeginCapture(s1,cudaStreamCaptureModeGlobal)); CK(cudaMemsetAsync(d,0,4096,s1)); CK(cudaEventRecord(e1,s1)); CK(cudaStreamWaitEvent(s2,e1)); add1<<<4,256,0,s1>>>(d,512); add1<<<4,256,0,s2>>>(d+512,512); CK(cudaEventRecord(e2,s2)); CK(cudaStreamWaitEvent(s1,e2)); add1<<<4,256,0,s1>>>(d,1024); CK(cudaStreamEndCapture(s1,&gr)); size_t nn; CK(cudaGraphGetNodes(gr,0,&nn)); EXPECT(nn==4); CK(cudaGraphInstantiate(&ge,gr,0)); for(int i=0;i<3;i++) CK(cudaGraphLaunch(ge,s1)); CK(cudaStreamSynchronize(s1)); CK(cudaMemcpy(h,d,4096,cudaMemcpyDeviceToHost)); for(int i=0;i<1024;i++) EXPECT(h[i]==2);
  // graph by hand
  cudaGraph_t g2; CK(cudaGraphCreate(&g2,0)); cudaGraphNode_t a,b2,cn; cudaMemsetParams mp={}; mp.dst=d; mp.elementSize=4; mp.width=1024; mp.height=1; mp.value=5; CK(cudaGraphAddMemsetNode(&a,g2,0,0,&mp)); int n1024=1024; void*ka[]={&d,&n1024}; cudaKernelNodeParams kp={}; kp.func=(void*)add1; kp.gridDim=dim3(4); kp.blockDim=dim3(256); kp.kernelParams=ka; CK(cudaGraphAddKernelNode(&b2,g2,&a,1,&kp)); CK(cudaGraphAddMemcpyNode1D(&cn,g2,&b2,1,h,d,4096,cudaMemcpyDeviceToHost)); cudaHostNodeParams hp={fn,&counter}; cudaGraphNode_t hn; CK(cudaGraphAddHostNode(&hn,g2,&cn,1,&hp)); cudaGraphExec_t ge2; CK(cudaGraphInstantiate(&ge2,g2,0)); CK(cudaGraphLaunch(ge2,s1)); CK(cudaStreamSynchronize(s1)); EXPECT(h[0]==6&&h[1023]==6&&counter==12);
  CK(cudaGraphNodeSetEnabled(ge2,b2,0)); CK(cudaGraphLaunch(ge2,0)); CK(cudaDeviceSynchronize()); EXPECT(h[0]==5);
  // device malloc
  int**pp; CK(cudaMalloc(&pp,8*32)); mallocs<<<1,32>>>(pp); frees<<<1,32>>>(pp,d); CK(cudaMemcpy(h,d,128,cudaMemcpyDeviceToHost)); for(int i=0;i<32;i++) EXPECT(h[i]==i);
  // threads
  std::vector<std::thread> ts; for(int t=0;t<4;t++) ts.emplace_back([&,t]{ int*x; CK(cudaMalloc(&x,4096)); CK(cudaMemset(x,0,4096)); cudaStream_t s; CK(cudaStreamCreate(&s)); for(int i=0;i<20;i++) add1<<<4,256,0,s>>>(x,1024); int hh[1024]; CK(cudaMemcpyAsync(hh,x,4096,cudaMemcpyDeviceToHost,s)); CK(cudaStreamSynchronize(s)); for(int i=0;i<1024;i++) EXPECT(hh[i]==20); CK(cudaStreamDestroy(s)); CK(cudaFree(x)); }); for(auto&t:ts) t.join();
  cudaPointerAttributes pa; CK(cudaPointerGetAttributes(&pa,d)); EXPECT(pa.type==cudaMemoryTypeDevice); CK(cudaPointerGetAttributes(&pa,h)); EXPECT(pa.type==cudaMemoryTypeUnregistered); CK(cudaPointerGetAttributes(&pa,mm)); EXPECT(pa.type==cudaMemoryTypeManaged);
  int nb; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&nb,add1,256,0)); EXPECT(nb==8);
  puts("all good"); return 0; }

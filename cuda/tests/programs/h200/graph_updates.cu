// Updates of executable graphs by graphs that fit and that do not: the result, the node that is named, and a launch afterwards.
#include <cstdio>
#include <cuda_runtime.h>
#define P(x) do{cudaError_t e_=(x); if(e_) printf("%s -> %d\n",#x,(int)e_); fflush(stdout);}while(0)
__global__ void a(int*p){} __global__ void b(int*p){} __global__ void c2(int*p,int q){} 
__global__ void child(int*p){ a<<<1,1>>>(p);} 
static int*p,*d; static char host[4096];
static void CUDART_CB hf(void*){} static void CUDART_CB hg(void*){}
static cudaGraphNode_t kern(cudaGraph_t g,void*f,cudaGraphNode_t*dep=0,dim3 gr=1,dim3 bl=1){ cudaGraphNode_t n; cudaKernelNodeParams k={}; k.func=f;k.gridDim=gr;k.blockDim=bl; static int q=3; static void*ar[2]; ar[0]=&p; ar[1]=&q; k.kernelParams=ar; P(cudaGraphAddKernelNode(&n,g,dep,dep?1:0,&k)); return n; }
static cudaGraphNode_t copy(cudaGraph_t g,void*to,const void*from,size_t n,cudaMemcpyKind k){ cudaGraphNode_t m; P(cudaGraphAddMemcpyNode1D(&m,g,0,0,to,from,n,k)); return m; }
static cudaGraphNode_t set(cudaGraph_t g,void*to,size_t e,size_t w,size_t h){ cudaGraphNode_t m; cudaMemsetParams s={}; s.dst=to;s.elementSize=e;s.width=w;s.height=h;s.pitch=512; P(cudaGraphAddMemsetNode(&m,g,0,0,&s)); return m; }
static cudaGraphNode_t hostn(cudaGraph_t g,cudaHostFn_t f){ cudaGraphNode_t m; cudaHostNodeParams s={}; s.fn=f; P(cudaGraphAddHostNode(&m,g,0,0,&s)); return m; }
static void one(const char*name, cudaGraph_t g, cudaGraph_t h, unsigned flags=0){
  cudaGraphExec_t x; cudaError_t e=cudaGraphInstantiateWithFlags(&x,g,flags); if(e){printf("%s: instantiate %d\n",name,e);cudaGetLastError();return;}
  cudaGraphExecUpdateResultInfo r; r.result=(cudaGraphExecUpdateResult)77; r.errorNode=(cudaGraphNode_t)0x77; r.errorFromNode=(cudaGraphNode_t)0x77;
  e=cudaGraphExecUpdate(x,h,&r); size_t n=0; cudaGraphGetNodes(h,0,&n); cudaGraphNode_t l[16]; size_t m=16; cudaGraphGetNodes(h,l,&m); int w=-1,v=-1; for(size_t i=0;i<n&&i<16;i++){ if(l[i]==r.errorNode) w=i; if(l[i]==r.errorFromNode) v=i; }
  printf("%s: %d result %d node %s %d from %s %d\n",name,(int)e,(int)r.result,r.errorNode==0?"null":r.errorNode==(cudaGraphNode_t)0x77?"untouched":"some",w,r.errorFromNode==0?"null":r.errorFromNode==(cudaGraphNode_t)0x77?"untouched":"some",v);
  e=cudaGraphLaunch(x,0); printf("   launch after %d sync %d\n",(int)e,(int)cudaDeviceSynchronize()); cudaGetLastError(); cudaGraphExecDestroy(x); }
#define G(n) cudaGraph_t n; cudaGraphCreate(&n,0)
int main(){ P(cudaMalloc(&p,1<<16)); P(cudaMalloc(&d,1<<16)); int*m; P(cudaMallocManaged(&m,4096)); int*pin; P(cudaMallocHost(&pin,4096));
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)a);one("same",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)b);one("other function",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)c2);one("other parameters",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)a,0,4,64);one("other dims",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)child);one("to one with cdp",g,h);}
 {G(g);G(h);kern(g,(void*)child);kern(h,(void*)a);one("from one with cdp",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)a);kern(h,(void*)a);one("more nodes",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(g,(void*)a);kern(h,(void*)a);one("fewer nodes",g,h);}
 {G(g);G(h);kern(g,(void*)a);set(h,d,4,4,1);one("type kernel->memset",g,h);}
 {G(g);G(h);auto n=kern(g,(void*)a);kern(g,(void*)a,&n);kern(h,(void*)a);kern(h,(void*)a);one("edge gone",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(g,(void*)a);auto n=kern(h,(void*)a);kern(h,(void*)a,&n);one("edge new",g,h);}
 {G(g);G(h);auto n=kern(g,(void*)a);kern(g,(void*)b,&n);auto o=kern(h,(void*)b);kern(h,(void*)a,&o);one("order",g,h);}
 {G(g);G(h);auto n=kern(g,(void*)a);auto s=set(g,d,4,4,1);(void)s;(void)n;set(h,d,4,4,1);kern(h,(void*)a);one("order of types",g,h);}
 {G(g);G(h);copy(g,p,d,64,cudaMemcpyDeviceToDevice);copy(h,p,d,128,cudaMemcpyDeviceToDevice);one("copy size",g,h);}
 {G(g);G(h);copy(g,p,d,64,cudaMemcpyDeviceToDevice);copy(h,p,host,64,cudaMemcpyHostToDevice);one("copy D2D->H2D",g,h);}
 {G(g);G(h);copy(g,p,pin,64,cudaMemcpyHostToDevice);copy(h,p,host,64,cudaMemcpyHostToDevice);one("copy pinned->pageable",g,h);}
 {G(g);G(h);copy(g,p,host,64,cudaMemcpyHostToDevice);copy(h,host,p,64,cudaMemcpyDeviceToHost);one("copy direction",g,h);}
 {G(g);G(h);copy(g,p,d,64,cudaMemcpyDeviceToDevice);copy(h,p,m,64,cudaMemcpyDefault);one("copy from managed",g,h);}
 {G(g);G(h);set(g,d,4,4,1);set(h,d,4,8,1);one("set width",g,h);}
 {G(g);G(h);set(g,d,4,4,1);set(h,d,1,4,1);one("set element",g,h);}
 {G(g);G(h);set(g,d,4,4,1);set(h,p,4,4,1);one("set dst",g,h);}
 {G(g);G(h);set(g,d,4,4,1);set(h,d,4,4,2);one("set 1D->2D",g,h);}
 {G(g);G(h);set(g,d,4,4,2);set(h,d,4,8,2);one("set 2D width",g,h);}
 {G(g);G(h);set(g,d,4,4,2);set(h,d,4,4,3);one("set 2D height",g,h);}
 {G(g);G(h);hostn(g,hf);hostn(h,hg);one("host fn",g,h);}
 {G(g);G(h);cudaGraphNode_t n;P(cudaGraphAddEmptyNode(&n,g,0,0));P(cudaGraphAddEmptyNode(&n,h,0,0));one("empty",g,h);}
 {G(g);G(h);cudaEvent_t e,f;cudaEventCreate(&e);cudaEventCreate(&f);cudaGraphNode_t n;P(cudaGraphAddEventRecordNode(&n,g,0,0,e));P(cudaGraphAddEventRecordNode(&n,h,0,0,f));one("event",g,h);}
 {G(g);G(h);G(i);G(j);kern(i,(void*)a);kern(j,(void*)b);cudaGraphNode_t n;P(cudaGraphAddChildGraphNode(&n,g,0,0,i));P(cudaGraphAddChildGraphNode(&n,h,0,0,j));one("child",g,h);}
 {G(g);G(h);G(i);G(j);kern(i,(void*)a);kern(j,(void*)a);kern(j,(void*)b);cudaGraphNode_t n;P(cudaGraphAddChildGraphNode(&n,g,0,0,i));P(cudaGraphAddChildGraphNode(&n,h,0,0,j));one("child with more",g,h);}
 {G(g);G(h);cudaMemAllocNodeParams q={};q.poolProps.allocType=cudaMemAllocationTypePinned;q.poolProps.location.type=cudaMemLocationTypeDevice;q.bytesize=64;cudaGraphNode_t n;P(cudaGraphAddMemAllocNode(&n,g,0,0,&q));P(cudaGraphAddMemFreeNode(&n,g,&n,1,q.dptr));cudaMemAllocNodeParams r=q;P(cudaGraphAddMemAllocNode(&n,h,0,0,&r));P(cudaGraphAddMemFreeNode(&n,h,&n,1,r.dptr));one("alloc",g,h);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)b);one("device graph other function",g,h,cudaGraphInstantiateFlagDeviceLaunch);}
 {G(g);G(h);kern(g,(void*)a);kern(h,(void*)child);one("device graph to cdp",g,h,cudaGraphInstantiateFlagDeviceLaunch);}
 {G(g);G(h);kern(g,(void*)a);hostn(h,hf);one("device graph to host",g,h,cudaGraphInstantiateFlagDeviceLaunch);}
 {G(g);G(h);cudaGraphNode_t n=kern(g,(void*)a);auto o=kern(h,(void*)a);cudaLaunchAttributeValue v={};v.cooperative=1;P(cudaGraphKernelNodeSetAttribute(o,cudaLaunchAttributeCooperative,&v));(void)n;one("cooperative new",g,h);}
 {G(g);G(h);kern(g,(void*)a);auto o=kern(h,(void*)a);cudaLaunchAttributeValue v={};v.priority=-1;P(cudaGraphKernelNodeSetAttribute(o,cudaLaunchAttributePriority,&v));one("priority",g,h);}
 {G(g);G(h);kern(g,(void*)a,0,2);auto o=kern(h,(void*)a,0,2);cudaLaunchAttributeValue v={};v.clusterDim.x=2;v.clusterDim.y=v.clusterDim.z=1;P(cudaGraphKernelNodeSetAttribute(o,cudaLaunchAttributeClusterDimension,&v));one("cluster",g,h);}
 {G(g);G(h);for(int w=0;w<2;w++){cudaGraph_t q=w?h:g;cudaGraphConditionalHandle ch;P(cudaGraphConditionalHandleCreate(&ch,q,1,1));cudaGraphNodeParams np={cudaGraphNodeTypeConditional};np.conditional.handle=ch;np.conditional.type=w?cudaGraphCondTypeWhile:cudaGraphCondTypeIf;np.conditional.size=1;cudaGraphNode_t n;P(cudaGraphAddNode(&n,q,0,0,0,&np));}one("if->while",g,h);}
 {G(g);G(h);for(int w=0;w<2;w++){cudaGraph_t q=w?h:g;cudaGraphConditionalHandle ch;P(cudaGraphConditionalHandleCreate(&ch,q,w,1));cudaGraphNodeParams np={cudaGraphNodeTypeConditional};np.conditional.handle=ch;np.conditional.type=cudaGraphCondTypeIf;np.conditional.size=1;cudaGraphNode_t n;P(cudaGraphAddNode(&n,q,0,0,0,&np));kern(np.conditional.phGraph_out[0],w?(void*)b:(void*)a);}one("if default and body",g,h);}
}

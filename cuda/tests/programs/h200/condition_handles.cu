// Handles of conditions: numbers from 1 on in each outermost graph, so that another graph's is taken for the own one. Arguments of
// printf are evaluated from the last to the first. (Recorded on an H100.)
#include <cstdio>
#include <cuda_runtime.h>
#define P(x) do{cudaError_t e_=(x); if(e_) printf("%s -> %d\n",#x,(int)e_); cudaGetLastError();}while(0)
typedef cudaGraphConditionalHandle H;
__global__ void set(H h,unsigned v){ cudaGraphSetConditional(h,v);} 
__global__ void add(int*p,int by){ *p+=by; }
static int*p;
static int h_(cudaGraph_t g,H*h,unsigned d=0,unsigned f=0){ *h=0xdeadbeefcafe; int e=cudaGraphConditionalHandleCreate(h,g,d,f); cudaGetLastError(); return e; }
static cudaGraph_t mk(){ cudaGraph_t g; P(cudaGraphCreate(&g,0)); return g; }
static cudaGraph_t body; static cudaGraphNode_t lastn;
static int node(cudaGraph_t g,H h,int t=0,unsigned size=1,cudaGraphNode_t*dep=0){ cudaGraphNodeParams q={}; q.type=cudaGraphNodeTypeConditional; q.conditional.handle=h;q.conditional.type=(cudaGraphConditionalNodeType)t;q.conditional.size=size; int e=cudaGraphAddNode(&lastn,g,dep,0,dep?1:0,&q); cudaGetLastError(); body=e?0:q.conditional.phGraph_out[0]; return e; }
template<class...A> static cudaGraphNode_t kern(cudaGraph_t g,cudaGraphNode_t*dep,void(*f)(A...),A...a){ void*ar[]={(void*)&a...}; cudaKernelNodeParams k={};k.func=(void*)f;k.gridDim=1;k.blockDim=1;k.kernelParams=ar; cudaGraphNode_t n; P(cudaGraphAddKernelNode(&n,g,dep,dep?1:0,&k)); return n; }
static int inst(cudaGraph_t g,cudaGraphExec_t*x){ int e=cudaGraphInstantiate(x,g,0); cudaGetLastError(); return e; }
static void go(const char*s,cudaGraphExec_t x){ P(cudaMemset(p,0,64)); int e=cudaGraphLaunch(x,0); int f=cudaDeviceSynchronize(); cudaGetLastError(); int v[16]={}; P(cudaMemcpy(v,p,64,cudaMemcpyDeviceToHost)); printf("  %s launch %d sync %d p %d %d %d %d\n",s,e,f,v[0],v[1],v[2],v[3]); fflush(stdout);} 
static void raw(const char*s,H h){ printf(" %s=%#llx",s,(unsigned long long)h); }
int main(int ac,char**av){ int only=ac>1?atoi(av[1]):0; P(cudaMalloc(&p,64));
 auto C=[&](int n,const char*s){ if(only&&only!=n) return false; printf("case %d %s:",n,s); return true; };
 H a,b,c,d,e,f;
 if(C(1,"raw of two graphs")){ auto g=mk(),o=mk(); h_(g,&a);h_(o,&b);h_(g,&c);h_(o,&d);printf(" bad %d",h_(g,&f,0,2));raw("f",f);h_(g,&e);raw("g0",a);raw("o0",b);raw("g1",c);raw("o1",d);raw("g2",e);auto q=mk();h_(q,&f);raw("q0",f);P(cudaGraphDestroy(o));auto r=mk();h_(r,&f);raw("r0",f);puts(""); }
 if(C(2,"null graph, then")){ auto g=mk(); printf(" %d",h_(0,&a)); h_(g,&a); raw("g0",a); puts(""); }
 if(C(3,"fails do not use up")){ auto g=mk(); h_(g,&a); printf(" size0 %d size3 %d loop2 %d switch0 %d type7 %d",node(g,a,0,0),node(g,a,0,3),node(g,a,1,2),node(g,a,2,0),node(g,a,7,1)); printf(" good %d again %d\n",node(g,a),node(g,a)); }
 if(C(4,"foreign with number of own")){ auto g=mk(),o=mk(); h_(g,&a);h_(o,&b); printf(" foreign %d own %d foreign again %d",node(g,b),node(g,a),node(g,b)); cudaGraphExec_t x; printf(" inst g %d",inst(g,&x)); printf(" own in o %d inst o %d\n",node(o,b),inst(o,&x)); }
 if(C(5,"foreign with number beyond")){ auto g=mk(),o=mk(); h_(g,&a);h_(o,&b);h_(o,&c);h_(o,&d); printf(" c %d d %d b %d",node(g,c),node(g,d),node(g,b)); h_(g,&e); printf(" now c %d c again %d e %d",node(g,c),node(g,c),node(g,e)); cudaGraphExec_t x; printf(" inst g %d o %d\n",inst(g,&x),inst(o,&x)); }
 if(C(6,"no handles in g")){ auto g=mk(),o=mk(); h_(o,&b); printf(" %d",node(g,b)); h_(g,&a); printf(" after creation %d\n",node(g,b)); }
 if(C(7,"raw numbers")){ auto g=mk(); h_(g,&a);h_(g,&b);h_(g,&c); raw("a",a);raw("b",b);raw("c",c); printf(" 0 %d 1 %d 2 %d 3 %d c+1 %d a^1<<63 %d a low32 %d hi+0 %d\n",node(g,0),node(g,1),node(g,2),node(g,3),node(g,c+(c-b)),node(g,a^(1ull<<63)),node(g,a&0xffffffff),node(g,a&~0xffffffffull)); }
 if(C(8,"raw bits")){ auto g=mk(); h_(g,&a); for(int i=0;i<64;i++){ int r=node(g,a^(1ull<<i)); if(r!=1) printf(" bit %d -> %d",i,r); } printf(" own %d\n",node(g,a)); }
 if(C(9,"defaults of which")){ auto g=mk(),o=mk(); h_(g,&a,1,1);h_(o,&b,0,1); printf(" %d",node(g,b)); kern<int*,int>(body,0,add,p,1); cudaGraphExec_t x; printf(" inst %d\n",inst(g,&x)); go("g",x); }
 if(C(10,"kernel sets by foreign")){ auto g=mk(),o=mk(); h_(g,&a);h_(o,&b); auto k=kern<H,unsigned>(g,0,set,b,1u); printf(" %d\n",node(g,a,0,1,&k)); kern<int*,int>(body,0,add,p,1); cudaGraphExec_t x; printf(" inst %d\n",inst(g,&x)); go("g sets by o's",x); node(o,b); kern<int*,int>(body,0,add,p+1,1); cudaGraphExec_t y; printf("  o: inst %d\n",inst(o,&y)); go("o after g",y); go("g again",x); go("o again",y); }
 if(C(13,"bodies")){ auto g=mk(); h_(g,&a); printf(" %d",node(g,a)); auto bd=body; h_(bd,&b);h_(g,&c);h_(bd,&d); raw("g0",a);raw("body",b);raw("g",c);raw("body",d); auto o=mk(); h_(o,&e); raw("o0",e); printf(" c in body %d b in g %d d in g %d\n",node(bd,c),node(g,b),node(g,d)); }
 if(C(14,"moved child")){ auto g=mk(),ch=mk(); h_(ch,&a);h_(ch,&b);h_(g,&c); raw("ch0",a);raw("ch1",b);raw("g0",c); cudaGraphNodeParams q={}; q.type=cudaGraphNodeTypeGraph;q.graph.graph=ch;q.graph.ownership=cudaGraphChildGraphOwnershipMove; cudaGraphNode_t n; int r=cudaGraphAddNode(&n,g,0,0,0,&q); cudaGetLastError(); printf(" move %d",r); h_(ch,&d); h_(g,&e); raw("ch",d);raw("g",e); printf(" in g: a %d b %d c %d; in ch: a %d b %d d %d e %d\n",node(g,a),node(g,b),node(g,c),node(ch,a),node(ch,b),node(ch,d),node(ch,e)); cudaGraphExec_t x; printf("  inst %d\n",inst(g,&x)); }
 if(C(15,"moved child used before")){ auto g=mk(),ch=mk(); h_(ch,&a); printf(" %d",node(ch,a)); h_(g,&c); cudaGraphNodeParams q={}; q.type=cudaGraphNodeTypeGraph;q.graph.graph=ch;q.graph.ownership=cudaGraphChildGraphOwnershipMove; cudaGraphNode_t n; int r=cudaGraphAddNode(&n,g,0,0,0,&q); cudaGetLastError(); printf(" move %d",r); printf(" c %d a %d",node(g,c),node(g,a)); h_(g,&d); raw("a",a);raw("c",c);raw("d",d); cudaGraphExec_t x; printf(" inst %d\n",inst(g,&x)); }
 if(C(16,"copied child")){ auto g=mk(),ch=mk(); h_(ch,&a); kern<int*,int>(ch,0,add,p,1); cudaGraphNode_t n; int r=cudaGraphAddChildGraphNode(&n,g,0,0,ch); cudaGetLastError(); printf(" child with unused handle %d",r); cudaGraphExec_t x; printf(" inst %d ch %d",inst(g,&x),inst(ch,&x)); cudaGraph_t in=0; if(!r){P(cudaGraphChildGraphNodeGetGraph(n,&in)); h_(in,&b); raw("in",b); printf(" in %d",node(in,b));} puts(""); }
 if(C(17,"clone with unused handle")){ auto g=mk(); h_(g,&a);h_(g,&b); kern<int*,int>(g,0,add,p,1); cudaGraph_t cl; int r=cudaGraphClone(&cl,g); cudaGetLastError(); printf(" clone %d",r); if(!r){ cudaGraphExec_t x; printf(" inst %d",inst(cl,&x)); printf(" a in clone %d",node(cl,a)); h_(cl,&c); raw("a",a);raw("b",b);raw("cl",c); printf(" c %d",node(cl,c)); printf(" a in g %d",node(g,a)); } puts(""); }
 if(C(18,"node destroyed")){ auto g=mk(); h_(g,&a);h_(g,&b,3,1); printf(" %d",node(g,a)); cudaGraphExec_t x; printf(" inst %d",inst(g,&x)); P(cudaGraphDestroyNode(lastn)); printf(" inst without %d",inst(g,&x)); printf(" again %d %d",node(g,a),node(g,b)); h_(g,&c); raw("a",a);raw("c",c); printf(" c %d inst %d\n",node(g,c),inst(g,&x)); }
 if(C(19,"after instantiation")){ auto g=mk(); h_(g,&a); node(g,a); cudaGraphExec_t x; printf(" inst %d",inst(g,&x)); h_(g,&b); raw("a",a);raw("b",b); printf(" inst %d node %d inst %d\n",inst(g,&x),node(g,b),inst(g,&x)); }
 if(C(20,"params of node")){ auto g=mk(),o=mk(); h_(g,&a);h_(o,&b); int r=node(g,b); printf(" %d",r); cudaGraphNodeParams q={}; 
   raw("a",a);raw("b",b);
#if CUDART_VERSION>=13010
   P(cudaGraphNodeGetParams(lastn,&q)); raw("got",q.conditional.handle);
#endif
   puts(""); }
 if(C(21,"updates with foreign")){ auto g=mk(),o=mk(),o2=mk(); h_(o2,&f); h_(g,&a,1,1);h_(o,&d,0,1);h_(o,&b,0,1); node(g,a); kern<int*,int>(body,0,add,p,1); cudaGraphExec_t x; printf(" inst %d",inst(g,&x)); node(o,b); kern<int*,int>(body,0,add,p+1,1); cudaGraphExecUpdateResultInfo r={}; int u=cudaGraphExecUpdate(x,o,&r); cudaGetLastError(); printf(" update %d %d\n",u,r.result); go("x",x); }
 if(C(22,"graph destroyed then handle")){ auto g=mk(),o=mk(); h_(o,&b); P(cudaGraphDestroy(o)); h_(g,&a); printf(" %d %d\n",node(g,b),node(g,a)); }
 if(C(23,"recreated number")){ auto g=mk(); for(int i=0;i<5;i++){ h_(g,&a); raw("",a);} for(int i=0;i<3;i++){auto q=mk(); for(int j=0;j<2;j++){h_(q,&a); raw("q",a);} } puts(""); }
}

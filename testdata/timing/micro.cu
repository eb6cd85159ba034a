// Microbenchmarks: latencies by clocks, and kernels whose elapsed cycles a profiler reads.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define K extern "C" __global__ void
static void ok(cudaError_t e, const char *w){ if(e!=cudaSuccess){ fprintf(stderr,"%s: %s\n",w,cudaGetErrorString(e)); } }
__device__ __forceinline__ unsigned clk(){ unsigned c; asm volatile("mov.u32 %0, %%clock;":"=r"(c)::"memory"); return c; }

// ---- elapsed (under a profiler) -----------------------------------------------------------------
K empty() {}
K one_store(int *p) { p[blockIdx.x*blockDim.x+threadIdx.x]=1; }
K spin(int *p, int n) { unsigned t=clk(); while(clk()-t<(unsigned)n); if(n<0) p[0]=t; }
K read_dram(const float4 *in, float *out, size_t n) { float s=0; for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ float4 v=in[i]; s+=v.x+v.y+v.z+v.w; } if(s==1.234f) out[0]=s; }
K read_f32(const float *in, float *out, size_t n) { float s=0; for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ s+=in[i]; } if(s==1.234f) out[0]=s; }
K write_f32(float *out, size_t n) { for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) out[i]=1; }
K write_v4(float4 *out, size_t n) { for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) out[i]=make_float4(1,2,3,4); }
K copy_f32(const float *in, float *out, size_t n) { size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) out[i]=in[i]; }
// each block reads the same `n` bytes' worth again and again: out of the second level
K read_again(const float4 *in, float *out, int n, int times) { float s=0; for(int k=0;k<times;k++) for(int i=threadIdx.x;i<n;i+=blockDim.x){ float4 v=__ldcg(in+(i+blockIdx.x*977)%n); s+=v.x+v.y+v.z+v.w; } if(s==1.234f) out[0]=s; }
K read_l1(const float4 *in, float *out, int n, int times) { float s=0; for(int k=0;k<times;k++) for(int i=threadIdx.x;i<n;i+=blockDim.x){ float4 v=in[i]; s+=v.x+v.y+v.z+v.w; } if(s==1.234f) out[0]=s; }
K read_random(const float *in, float *out, unsigned mask, int times) { float s=0; unsigned x=(blockIdx.x*blockDim.x+threadIdx.x)*2654435761u; for(int k=0;k<times;k++){ x=x*1664525u+1013904223u; s+=in[(x>>4)&mask]; } if(s==1.234f) out[0]=s; }
K red_one(int *p, int times) { for(int k=0;k<times;k++) atomicAdd(p+k%2*0,threadIdx.x); }
K red_spread(int *p, int times, unsigned mask) { unsigned x=(blockIdx.x*blockDim.x+threadIdx.x)*2654435761u; for(int k=0;k<times;k++){ x=x*1664525u+1013904223u; atomicAdd(p+((x>>4)&mask),1); } }
K atom_block(int *p, int times) { int s=0; for(int k=0;k<times;k++) s+=atomicAdd(p+blockIdx.x*64+threadIdx.x%32,s+1); if(s==-5) p[1]=s; }
template<int N> __device__ void straight(float *o, float a){ float x=threadIdx.x,y=x+1,z=x+2,w=x+3;
#pragma unroll
 for(int k=0;k<N;k++){ x=x*a+y; y=y*a+z; z=z*a+w; w=w*a+x; } if(x+y+z+w==1.234f) o[0]=x; }
K straight_1k(float *o,float a,int n){ for(int k=0;k<n;k++) straight<250>(o,a);} 
K straight_4k(float *o,float a,int n){ for(int k=0;k<n;k++) straight<1000>(o,a);} 
K straight_16k(float *o,float a,int n){ for(int k=0;k<n;k++) straight<4000>(o,a);} 
K straight_64k(float *o,float a,int n){ for(int k=0;k<n;k++) straight<16000>(o,a);} 
K ffma_many(float *o,float a,int n){ float v[8]; for(int i=0;i<8;i++) v[i]=threadIdx.x+i; for(int k=0;k<n;k++){
#pragma unroll
 for(int i=0;i<8;i++) v[i]=v[i]*a+1.0f; } float s=0; for(int i=0;i<8;i++) s+=v[i]; if(s==1.234f) o[0]=s; }
K shared_rw(float *o,int n,int stride){ __shared__ float s[8192]; for(int i=threadIdx.x;i<8192;i+=blockDim.x) s[i]=i; __syncthreads(); float v=0; int at=threadIdx.x*stride; for(int k=0;k<n;k++){ v+=s[(at+k*32)&8191]; } if(v==1.234f) o[0]=v; }
K barriers(float *o,int n){ for(int k=0;k<n;k++) __syncthreads(); if(n<0) o[0]=1; }
K smid(int *o){ if(threadIdx.x==0){ int v; asm volatile("mov.u32 %0, %%smid;":"=r"(v)); o[blockIdx.x]=v; } unsigned t=clk(); while(clk()-t<20000); }
K started(long long *o,int spin){ long long g; asm volatile("mov.u64 %0, %%globaltimer;":"=l"(g)); long long c=clock64(); int v; asm volatile("mov.u32 %0, %%smid;":"=r"(v)); if(threadIdx.x==0){ o[3*blockIdx.x]=v; o[3*blockIdx.x+1]=c; } unsigned t=clk(); while(clk()-t<(unsigned)spin); if(threadIdx.x==0) o[3*blockIdx.x+2]=clock64(); }

// ---- latencies by clocks --------------------------------------------------------------------------
K chase(const unsigned long long *p, unsigned steps, unsigned warm, unsigned *out){ const unsigned long long *q=p; for(unsigned k=0;k<warm;k++) q=(const unsigned long long*)*(volatile const unsigned long long*)q; unsigned t=clk(); for(unsigned k=0;k<steps;k++) q=(const unsigned long long*)*q; unsigned e=clk(); out[0]=(e-t); out[1]=(unsigned)(size_t)q; }
K chase_cg(const unsigned long long *p, unsigned steps, unsigned warm, unsigned *out){ const unsigned long long *q=p; for(unsigned k=0;k<warm;k++) q=(const unsigned long long*)__ldcg(q); unsigned t=clk(); for(unsigned k=0;k<steps;k++) q=(const unsigned long long*)__ldcg(q); unsigned e=clk(); out[0]=(e-t); out[1]=(unsigned)(size_t)q; }
// one access at a time, each with its latency: far and near slices
K each(const char *p, int n, int stride, unsigned short *out){ for(int pass=0;pass<2;pass++) for(int i=0;i<n;i++){ unsigned t=clk(); int v; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(p+(size_t)i*stride):"memory"); unsigned e; asm volatile("add.u32 %0,%1,0; mov.u32 %0,%%clock;":"=r"(e):"r"(v):"memory"); out[i]=(unsigned short)(e-t); } }
#define LAT(name,decl,op,N) K lat_##name(unsigned *out,int one){ decl; for(int w=0;w<2;w++){ __syncwarp(); unsigned t=clk(); _Pragma("unroll") for(int k=0;k<N;k++){ op; } unsigned e=clk(); out[threadIdx.x]=e-t; } out[64]=*(unsigned*)&x; }
LAT(ffma, float x=one, x=x*x+1.5f, 256)
LAT(fadd, float x=one, x=x+1.5f, 256)
LAT(imad, unsigned x=one, x=x*x+7, 256)
LAT(iadd, unsigned x=one, x=(x^0x1234)+one, 128)
LAT(dfma, double x=one, x=x*x+1.5, 128)
LAT(dadd, double x=one, x=x+1.5, 128)
LAT(rcp, float x=one, asm volatile("rcp.approx.ftz.f32 %0,%0;":"+f"(x)), 64)
LAT(sin, float x=one, asm volatile("sin.approx.ftz.f32 %0,%0;":"+f"(x)), 64)
LAT(ex2, float x=one, asm volatile("ex2.approx.ftz.f32 %0,%0;":"+f"(x)), 64)
LAT(popc, unsigned x=one, x=__popc(x), 64)
LAT(f2i, float x=one, x=(float)(int)x, 64)
LAT(f2f, float x=one, x=(float)((double)x*1.0), 64)
LAT(shfl, unsigned x=one, x=__shfl_xor_sync(~0u,x,1), 64)
LAT(vote, unsigned x=one, x=__ballot_sync(~0u,x&1), 64)
LAT(redux, unsigned x=one, x=__reduce_add_sync(~0u,x), 64)
LAT(match, unsigned x=one, x=__match_any_sync(~0u,x), 16)
LAT(lds, __shared__ unsigned s[64]; unsigned x=0; s[threadIdx.x]=0; s[threadIdx.x+32]=0; __syncthreads(), x=s[x], 64)
LAT(lds_conflict2, __shared__ unsigned s[2048]; unsigned x=threadIdx.x*2; for(int i=0;i<64;i++) s[threadIdx.x+32*i]=threadIdx.x+32*i; __syncthreads(), x=s[x], 64)
LAT(lds_conflict8, __shared__ unsigned s[2048]; unsigned x=threadIdx.x*8; for(int i=0;i<64;i++) s[threadIdx.x+32*i]=threadIdx.x+32*i; __syncthreads(), x=s[x], 64)
LAT(lds_conflict32, __shared__ unsigned s[2048]; unsigned x=threadIdx.x*32; for(int i=0;i<64;i++) s[threadIdx.x+32*i]=threadIdx.x+32*i; __syncthreads(), x=s[x], 64)
LAT(atoms, __shared__ unsigned s[64]; unsigned x=0; s[threadIdx.x]=0; s[threadIdx.x+32]=0; __syncthreads(), x=atomicExch(&s[threadIdx.x],x), 64)
LAT(atoms_add, __shared__ unsigned s[64]; unsigned x=0; s[threadIdx.x]=0; s[threadIdx.x+32]=0; __syncthreads(), x=atomicAdd(&s[threadIdx.x],x), 64)
LAT(atoms_cas, __shared__ unsigned s[64]; unsigned x=0; s[threadIdx.x]=0; s[threadIdx.x+32]=0; __syncthreads(), x=atomicCAS(&s[threadIdx.x],x,x+1), 64)
LAT(barrier, unsigned x=one, __syncthreads(), 64)
LAT(membar_cta, unsigned x=one, __threadfence_block(), 32)
LAT(membar_gpu, unsigned x=one, __threadfence(), 32)
__constant__ unsigned table[16384];
LAT(ldc, unsigned x=one-1, x=table[x], 64)
LAT(s2r, unsigned x=one; unsigned y, asm volatile("mov.u32 %0,%%nsmid;":"=r"(y)); x+=y, 32)
K lat_atomg(unsigned *g,unsigned *out,int one){ unsigned x=0; for(int w=0;w<2;w++){ unsigned t=clk(); for(int k=0;k<64;k++) x=atomicAdd(g+threadIdx.x,x+one); unsigned e=clk(); out[threadIdx.x]=e-t; } out[64]=x; }
K lat_atomg_cas(unsigned *g,unsigned *out,int one){ unsigned x=0; for(int w=0;w<2;w++){ unsigned t=clk(); for(int k=0;k<64;k++) x=atomicCAS(g+threadIdx.x,x,x+one); unsigned e=clk(); out[threadIdx.x]=e-t; } out[64]=x; }
K lat_ldg(const unsigned *g,unsigned *out,int stride){ unsigned x=threadIdx.x*stride; for(int w=0;w<2;w++){ unsigned t=clk(); for(int k=0;k<64;k++) x=g[x]; unsigned e=clk(); out[threadIdx.x]=e-t; } out[64]=x; }
// throughput of one warp's loads that hit the first level, by stride
K thr_ldg(const float *g,unsigned *out,int stride){ float s=0; const float *q=g+threadIdx.x*stride; for(int w=0;w<2;w++){ __syncthreads(); unsigned t=clk(); 
#pragma unroll
 for(int k=0;k<64;k++) s+=q[k%2]; unsigned e=clk(); __syncthreads(); out[threadIdx.x]=e-t; } out[1024]=s; }

static unsigned run(void(*k)(unsigned*,int),int threads,unsigned *d){ unsigned h[1100]; k<<<1,threads>>>(d,1); ok(cudaGetLastError(),"launch"); ok(cudaMemcpy(h,d,4400,cudaMemcpyDeviceToHost),"copy"); return h[0]; }
int main(int argc,char**argv){
  bool elapsed=argc>1;
  unsigned *d; ok(cudaMalloc(&d,1<<20),"malloc");
  char *big; size_t GB=1ull<<30; ok(cudaMalloc(&big,2*GB),"malloc"); ok(cudaMemset(big,0,2*GB),"memset"); cudaDeviceSynchronize();
  int *o=(int*)d;
  if(elapsed){
    int grids[]={1,2,16,66,132,264,528,1056,2112,4224,8448,33792};
    for(int g:grids) for(int b:{32,128,256,1024}) empty<<<g,b>>>();
    for(int g:grids) one_store<<<g,256>>>((int*)big);
    for(int n:{100,1000,10000,100000}) spin<<<1,32>>>(o,n);
    for(int n:{1000,10000}) spin<<<132,1024>>>(o,n);
    for(int n:{100,300,1000,3000}) spin<<<2640,128>>>(o,n);
    for(int n:{100,300,1000,3000}) spin<<<2640,1024>>>(o,n);
    for(size_t mb:{1,4,16,64,256,1024}) for(int g:{132,528,1056}) read_dram<<<g,256>>>((float4*)big,(float*)o,mb<<16);
    for(size_t mb:{1,16,64,256}) for(int g:{132,1056}) read_f32<<<g,256>>>((float*)big,(float*)o,mb<<18);
    for(size_t mb:{1,4,16,64,256,1024}) for(int g:{132,1056}) write_f32<<<g,256>>>((float*)big,mb<<18);
    for(size_t mb:{4,64,256}) for(int g:{132,1056}) write_v4<<<g,256>>>((float4*)big,mb<<16);
    for(size_t mb:{1,4,16,64,256}) copy_f32<<<mb<<10,256>>>((float*)big,(float*)(big+GB),mb<<18);
    for(int g:{1,2,8,33,66,132,264}) for(int b:{128,512,1024}) read_again<<<g,b>>>((float4*)big,(float*)o,65536,4);
    for(int g:{1,132}) for(int b:{128,512,1024}) read_l1<<<g,b>>>((float4*)big,(float*)o,1024,200);
    for(unsigned mb:{1,16,40,128,1024}) for(int g:{132,1056}) read_random<<<g,256>>>((float*)big,(float*)o,(mb<<18)-1,64);
    for(int g:{1,132,1056}) red_one<<<g,256>>>(o,32);
    for(unsigned mb:{1,64}) for(int g:{132,1056}) red_spread<<<g,256>>>((int*)big,32,(mb<<18)-1);
    for(int g:{1,132,1056}) atom_block<<<g,256>>>((int*)big,32);
    for(int n:{1,2,10}){ straight_1k<<<1,32>>>((float*)o,.5f,n); straight_4k<<<1,32>>>((float*)o,.5f,n); straight_16k<<<1,32>>>((float*)o,.5f,n); straight_64k<<<1,32>>>((float*)o,.5f,n);
      straight_1k<<<132,1024>>>((float*)o,.5f,n); straight_4k<<<132,512>>>((float*)o,.5f,n); straight_16k<<<132,512>>>((float*)o,.5f,n); straight_64k<<<132,256>>>((float*)o,.5f,n);}
    for(int b:{32,64,128,256,512,1024}) ffma_many<<<132,b>>>((float*)o,.5f,1000);
    for(int b:{32,128,256,1024}) for(int s:{1,2,4,32}) shared_rw<<<132,b>>>((float*)o,500,s);
    for(int b:{32,128,256,512,1024}) barriers<<<132,b>>>((float*)o,200);
    ok(cudaDeviceSynchronize(),"end"); return 0;
  }
#define L(n,c,ops) { printf("%s",#n); for(int w:{32,64,128,256,512,1024}) { if(w>64&&!(c)) break; if (w>32&&!(c)) break; printf(" %d:%.2f",w,run(lat_##n,w,d)/double(ops)); } printf("\n"); }
  L(ffma,1,256) L(fadd,1,256) L(imad,1,256) L(iadd,1,128) L(dfma,1,128) L(dadd,1,128) L(rcp,1,64) L(sin,1,64) L(ex2,1,64) L(popc,1,64) L(f2i,1,64) L(f2f,1,64) L(shfl,1,64) L(vote,1,64) L(redux,1,64) L(match,1,16)
  L(lds,0,64) L(lds_conflict2,0,64) L(lds_conflict8,0,64) L(lds_conflict32,0,64) L(atoms,0,64) L(atoms_add,0,64) L(atoms_cas,0,64) L(barrier,1,64) L(membar_cta,1,32) L(membar_gpu,1,32) L(ldc,1,64) L(s2r,1,32)
  unsigned h[1100];
  for(int w:{1,32}){ lat_atomg<<<1,w>>>((unsigned*)big,d,1); cudaMemcpy(h,d,400,cudaMemcpyDeviceToHost); printf("atomg %d:%.1f\n",w,h[0]/64.); lat_atomg_cas<<<1,w>>>((unsigned*)big,d,1); cudaMemcpy(h,d,400,cudaMemcpyDeviceToHost); printf("atomg_cas %d:%.1f\n",w,h[0]/64.); }
  cudaMemset(big,0,2*GB);
  for(int s:{0,1,2,4,8,16,32}){ unsigned *t=(unsigned*)malloc(4*2048*32); for(int i=0;i<2048*32;i++) t[i]=i; cudaMemcpy(big,t,4*2048*32,cudaMemcpyHostToDevice); lat_ldg<<<1,32>>>((unsigned*)big,d,s); cudaMemcpy(h,d,400,cudaMemcpyDeviceToHost); printf("ldg stride %d: %.1f\n",s,h[0]/64.); free(t);} 
  for(int b:{32,128,256,1024}) for(int s:{0,1,2,3,4,5,8,16,32}){ thr_ldg<<<1,b>>>((float*)big,d,s); cudaMemcpy(h,d,4200,cudaMemcpyDeviceToHost); unsigned m=0; for(int i=0;i<b;i++) m=h[i]>m?h[i]:m; printf("thr_ldg %d stride %d: %.2f\n",b,s,m/64.); }
  // chases
  unsigned long long *host=(unsigned long long*)malloc(GB);
  for(int cg:{0,1}) for(size_t kb:{4,16,64,128,160,192,208,224,240,256,512,1024,4096,16384,24576,32768,40960,49152,65536,131072,524288}){ size_t stride=128, n=(kb<<10)/stride; unsigned *perm=(unsigned*)malloc(4*n); for(size_t i=0;i<n;i++) perm[i]=i; uint64_t x=88172645463325252ull; for(size_t i=n-1;i>0;i--){ x^=x<<13; x^=x>>7; x^=x<<17; size_t j=x%i; unsigned tt=perm[i]; perm[i]=perm[j]; perm[j]=tt; }
    for(size_t i=0;i<n;i++) host[perm[i]*16]=(unsigned long long)(size_t)(big+(size_t)perm[(i+1)%n]*stride); cudaMemcpy(big,host,kb<<10,cudaMemcpyHostToDevice); unsigned warm=n<200000?n:0; unsigned steps=n<4000?n:4000; (cg?chase_cg:chase)<<<1,1>>>((unsigned long long*)big,steps,warm,d); ok(cudaMemcpy(h,d,8,cudaMemcpyDeviceToHost),"chase"); printf("chase%s %zu KiB: %.1f\n",cg?"_cg":"",kb,h[0]/double(steps)); free(perm); }
  { unsigned short *e; cudaMalloc(&e,1<<16); static unsigned short eh[4096]; each<<<1,1>>>(big,4096,4096,e); cudaMemcpy(eh,e,8192,cudaMemcpyDeviceToHost); int hist[2000]={}; for(int i=0;i<4096;i++) hist[eh[i]<2000?eh[i]:1999]++; printf("each:"); for(int i=0;i<2000;i++) if(hist[i]) printf(" %d:%d",i,hist[i]); printf("\n"); printf("each first:"); for(int i=0;i<64;i++) printf(" %d",eh[i]); printf("\n"); }
  { smid<<<400,32>>>(o); static int s[400]; cudaMemcpy(s,o,1600,cudaMemcpyDeviceToHost); printf("smid:"); for(int i=0;i<400;i++) printf(" %d",s[i]); printf("\n"); }
  for(int b:{32,256,1024}) for(int spin:{0,2000}){ long long *t; cudaMalloc(&t,1<<20); int n=b==1024?528:1056; started<<<n,b>>>(t,spin); static long long th[3*1056]; cudaMemcpy(th,t,24*n,cudaMemcpyDeviceToHost); long long first[256]; for(int i=0;i<256;i++) first[i]=0; printf("started %d spin %d sm0:",b,spin); long long base=0; int sm0=th[0]; for(int i=0;i<n;i++) if(th[3*i]==sm0){ if(!base) base=th[3*i+1]; printf(" %d:%lld-%lld",i,th[3*i+1]-base,th[3*i+2]-base); } printf("\n"); cudaFree(t);} 
  ok(cudaDeviceSynchronize(),"end");
}

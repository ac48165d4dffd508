// This kernel may have started before the previous one has ended, whose results it needs.  //@ once
#if __CUDA_ARCH__ >= 900
asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

// This kernel may have started beside the one ahead, whose results it needs.
#if __CUDA_ARCH__ >= 900
asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

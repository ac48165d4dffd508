// The kernel behind this one may get ready from now on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
asm volatile("griddepcontrol.launch_dependents;");
#endif


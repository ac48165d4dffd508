// The next kernel may get ready from here on, where the device can do that; it waits for what this one stores.  //@ once
#if __CUDA_ARCH__ >= 900
asm volatile("griddepcontrol.launch_dependents;");
#endif


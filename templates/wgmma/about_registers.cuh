
// Tensor cores take such elements of shared memory along k alone, and M lies across it. So the warps that multiply load its elements to
// registers, in the order that a product takes.

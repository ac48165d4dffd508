
// Tensor cores take such elements along k alone. Tiles of what lies across k are transposed between the two, where they lie: by the
// warps next to the one that starts the copies, which wait until the tiles have come, and then hand them on as full.


// Groups divide k, so each has tiles of all of P, and a number of phases of its own. The first and the last one may bring elements of its
// neighbours: the warps next to the one that starts the copies replace them by zeros before they hand a phase on as full.

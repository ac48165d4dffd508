
// M has weights of fewer bits than tensor cores multiply. They come as they are; the warps that multiply load them to registers, widen
// them there, and multiply from there.

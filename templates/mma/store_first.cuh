if (s < phases)  //@ only may_be_short
    store_weights(tiles[s]);
store_weights(tiles[s]);  //@ only not may_be_short

// Where an element of a line lies in its tile.

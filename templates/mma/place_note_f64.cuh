// Where an element of a line lies in its tile. In plain order lanes that load together would find their elements in the same banks. So
// groups of 4 elements, 32 bytes, change places in a line, in another way in each of 4 lines that follow each other.

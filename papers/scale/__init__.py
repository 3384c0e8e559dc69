"""SCALE by the letter of its paper (Lattimer et al., EMNLP 2023): the maximum over token windows, and the tree below it."""

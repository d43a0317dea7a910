"""Speed as ratios against peers in the same run; `make bench` runs all parts and prints JSON."""

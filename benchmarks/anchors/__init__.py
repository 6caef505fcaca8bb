"""What the library is compared with: the shortest correct program for each job without it."""

"""The measurements, one module for each thing a user would notice."""

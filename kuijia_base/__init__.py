"""The ground floor, for every package: errors, reading and writing files, option values, progress, parallel work."""

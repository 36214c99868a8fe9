"""The ground floor, for every package: errors, files in and out, option values, progress, parallel work."""

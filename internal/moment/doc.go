// Package moment answers one question: which time does a person mean?
//
// It reads durations, such as 90s or 1d, and times, such as 2024-06-01 09:30, as commands and forms
// take them.
package moment

// Package command answers one question: what can a user type after fanfold?
//
// Each command is a file with its name. It reads arguments and flags, calls inspect for what it
// shows and operate for what it changes, and prints a table or JSON.
package command

// Package action answers one question: what does a timer do when it fires?
//
// A Kind is a kind of action: its own fields in the configuration, and Act, which executes one firing.
// Submit (submit.go), Append (append.go) and Call (call.go) are such kinds; another one is another file
// here, or a package of its own. Package scheduler reads firings, retries actions and records how they
// ended. A firing can be executed again after a crash: its ID tells the receiver that it is the same.
package action

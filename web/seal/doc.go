// Package seal answers one question: how does a text that a browser keeps prove what this installation has permitted?
//
// A Sealer (seal.go) encrypts and authenticates what links and sessions permit, each for its purpose.
package seal

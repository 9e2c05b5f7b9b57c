// Package process answers one question: what is one process of Fanfold made of?
//
// Open reads a configuration and makes the clients that it names. Serve runs roles on them until its
// context ends or a role fails. The commands of cmd/fanfold use the same clients. roles.go assembles
// the roles; owner.go refuses keys of another installation or another number of partitions.
//
// An error that the user can correct matches fault.Config or fault.Unreachable.
package process

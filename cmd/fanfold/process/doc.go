// Package process answers one question: what is one process of Fanfold made of?
//
// Open reads a configuration and makes the clients that it names; Serve runs roles on them until it
// is told to stop. Commands use the same clients (cmd/fanfold). The roles are put together in
// roles.go; owner.go refuses keys that belong to other partitions or to another installation.
//
// Errors match ErrConfig or ErrUnreachable where people can do something about them.
package process

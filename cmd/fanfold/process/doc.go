// Package process answers one question: what is one process of Fanfold made of?
//
// Open reads a configuration and makes the clients that it names. Serve runs roles on them until its
// context ends or a role fails: it makes the checks of rights.go, version.go and owner.go, builds the
// roles (roles.go), and serves the admin address (admin.go) and the site (site.go). The commands of
// cmd/fanfold use the same clients.
//
// An error that the user can correct matches fault.Config or fault.Unreachable.
package process

//go:build !linux

package testenv

// reserve takes no port: another server may get it before the first one listens.
func reserve(int) error { return nil }

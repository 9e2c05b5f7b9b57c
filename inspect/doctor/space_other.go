//go:build !linux

package doctor

// freeSpace is known on Linux.
func freeSpace(string) (int64, bool) { return 0, false }

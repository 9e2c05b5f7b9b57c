package doctor

import "syscall"

// freeSpace returns the bytes that a process can write to the file system of a path.
func freeSpace(path string) (int64, bool) {
	var of syscall.Statfs_t
	err := syscall.Statfs(path, &of)
	return int64(of.Bavail) * of.Bsize, err == nil
}

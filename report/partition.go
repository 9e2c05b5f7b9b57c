package report

import (
	"hash/crc32"
	"strconv"
)

// Partition returns the number of the partition, from 0, that an id or the name of a timer
// belongs to: its CRC-32 (IEEE), which CRC32() of MySQL gives as well, modulo their number.
func Partition(id string, partitions int) int {
	return int(crc32.ChecksumIEEE([]byte(id)) % uint32(partitions))
}

// Partitions returns the prefixes of each partition. One partition on one server has the plain
// names. Others have a hash tag, such as {fanfold:3}, so that all keys of a partition are in one
// slot of a Redis Cluster: {fanfold:3}:jobs, {fanfold:3}:FileDownloadRecordEntity-1111.
func (k Keys) Partitions(r Redis) []Keys {
	n := max(1, r.Partitions)
	if n == 1 && len(r.Cluster) == 0 {
		return []Keys{k}
	}
	all := make([]Keys, n)
	for i := range all {
		tag := "{" + k.Prefix + strconv.Itoa(i) + "}:"
		all[i] = Keys{Prefix: tag, Hash: tag + k.Hash}
	}
	return all
}

// Share is what one of several partitions may do in each process: at least one of each. The tasks
// at once are those of all partitions together.
func (l Limits) Share(partitions int) Limits {
	l.RunningJobs = max(1, l.RunningJobs/partitions)
	l.Folds, l.Rebuild = max(1, l.Folds/partitions), max(1, l.Rebuild/partitions)
	return l
}

package report

import (
	"hash/crc32"
	"strconv"
)

// Partition returns the number, from 0, of the partition of an id or a timer's name: its
// CRC-32 (IEEE), the same as CRC32() of MySQL, modulo the number of partitions.
func Partition(id string, partitions int) int {
	return int(crc32.ChecksumIEEE([]byte(id)) % uint32(partitions))
}

// Partitions returns the prefixes of every partition. A single partition on one server has the
// plain names. Others have a hash tag, such as {fanfold:3}, so that all keys of a partition are
// in one slot of a Redis Cluster: {fanfold:3}:jobs, {fanfold:3}:FileDownloadRecordEntity-1111.
func (k Keys) Partitions(r Redis) []Keys {
	n := max(1, r.Partitions)
	if n == 1 && len(r.Cluster) == 0 {
		return []Keys{k}
	}
	all := make([]Keys, n)
	for i := range all {
		tag := "{" + k.Prefix + strconv.Itoa(i) + "}:"
		all[i] = Keys{Prefix: tag, Hash: tag + k.Hash, Replies: k.Replies}
	}
	return all
}

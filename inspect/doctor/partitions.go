package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/redisdb"
)

// checkPartitions says on which master each partition is, and whether one has many more than others.
func (d redisDoctor) checkPartitions(ctx context.Context, masters int) Finding {
	const check = "redis partitions"
	n := len(d.Scripts)
	on, err := d.spread(ctx, n)
	if err != nil {
		return newFinding(check, Warn, "", err, d.hint(err))
	}
	var parts []string
	for _, address := range slices.Sorted(maps.Keys(on)) {
		parts = append(parts, address+" has "+strings.Join(on[address], " "))
	}
	where := strings.Join(parts, "; ")
	most := largest(on)
	if even(most, n, masters) {
		return pass(check, where)
	}
	hint := "that master works more than the others: move the slot of a partition"
	for other := n + 1; other <= 4*n+masters; other++ {
		on, err := d.spread(ctx, other)
		if err == nil && even(largest(on), other, masters) {
			hint += fmt.Sprintf(", or take %d partitions, of which no master has more than %d", other, largest(on))
			break
		}
	}
	return newFinding(check, Warn, "", fmt.Errorf("%d of %d partitions are on one of %d masters: %s", most, n, masters, where), hint)
}

// spread returns the tags that each master would have of n partitions, by its address.
func (d redisDoctor) spread(ctx context.Context, n int) (map[string][]string, error) {
	on := map[string][]string{}
	begin := strings.TrimSuffix(d.Scripts.Home().Keys.Prefix, "0}:")
	for i := range n {
		tag := begin + strconv.Itoa(i) + "}"
		master, err := redisdb.Master(ctx, d.Redis, tag)
		if err != nil {
			return nil, err
		}
		address := master.Options().Addr
		on[address] = append(on[address], tag)
	}
	return on, nil
}

func largest(on map[string][]string) (most int) {
	for _, tags := range on {
		most = max(most, len(tags))
	}
	return most
}

// even tells whether the master that has most of n partitions has at most a fifth more than its share.
func even(most, n, masters int) bool { return 5*most*masters <= 6*n }

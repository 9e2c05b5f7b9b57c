package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// checkPartitions lists the partitions of every master, and warns if one has many more than others.
func checkPartitions(ctx context.Context, d *doctor) Findings {
	if len(d.Scripts) == 1 {
		return nil
	}
	servers, err := d.Scripts.Servers(ctx)
	var on map[string][]string
	if err == nil {
		on, err = spread(ctx, d, len(d.Scripts))
	}
	if err != nil {
		return Findings{newFinding("redis partitions", Warn, "", err, d.hint(err))}
	}
	return Findings{distribution(ctx, d, on, len(servers))}
}

// distribution judges how the partitions lie on masters.
func distribution(ctx context.Context, d *doctor, on map[string][]string, masters int) Finding {
	const check = "redis partitions"
	n := len(d.Scripts)
	var parts []string
	for _, address := range slices.Sorted(maps.Keys(on)) {
		parts = append(parts, address+" has "+strings.Join(on[address], " "))
	}
	where := strings.Join(parts, "; ")
	largest := maxPartitions(on)
	if even(largest, n, masters) {
		return pass(check, where)
	}
	hint := "that master does more work than the others: move the slot of a partition to another"
	for other := n + 1; other <= 4*n+masters; other++ {
		on, err := spread(ctx, d, other)
		if err == nil && even(maxPartitions(on), other, masters) {
			hint += fmt.Sprintf(", or configure %d partitions, of which no master has more than %d", other,
				maxPartitions(on))
			break
		}
	}
	return newFinding(check, Warn, "", fmt.Errorf("%d of %d partitions are on one of %d masters: %s", largest, n,
		masters, where), hint)
}

// spread returns the tags that every master would have of n partitions, by its address.
func spread(ctx context.Context, d *doctor, n int) (map[string][]string, error) {
	on := map[string][]string{}
	begin := strings.TrimSuffix(d.Scripts.First().Keys.Prefix, "0}:")
	for i := range n {
		tag := begin + strconv.Itoa(i) + "}"
		address, err := d.Scripts.AddressOf(ctx, tag)
		if err != nil {
			return nil, err
		}
		on[address] = append(on[address], tag)
	}
	return on, nil
}

func maxPartitions(on map[string][]string) (n int) {
	for _, tags := range on {
		n = max(n, len(tags))
	}
	return n
}

// even reports whether the master with the most of n partitions has at most a fifth more than its share.
func even(largest, n, masters int) bool { return 5*largest*masters <= 6*n }

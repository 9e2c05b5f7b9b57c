package listeners

import (
	"fmt"
	"slices"
	"strings"
)

// DistinctNames returns an error if two columns of a query have the same name.
func DistinctNames(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("the query gives column %s twice: give one of them an alias with AS", name)
		}
	}
	return nil
}

// CompareNames returns an error if the columns of a query are not those of its listener, each once and in its order.
func CompareNames(want, got []string) error {
	if err := DistinctNames(got); err != nil || slices.Equal(want, got) {
		return err
	}
	return fmt.Errorf("the query gives the columns [%s], but the listener's columns are [%s]: they must be the same, "+
		"in the same order", strings.Join(got, ", "), strings.Join(want, ", "))
}

package main

import (
	"encoding/json"
	"fmt"
	"strconv"
)

const numbersCount = 100 // of each listener

func listenerName(i int) string { return "l" + strconv.Itoa(i) }

// What follows is the unit of work in those peers that have no hash of their own.

func jobHash(id string) string { return "job:" + id }

// numbersJSON is what a listener writes; it is made anew each time.
func numbersJSON() []byte {
	b := append(make([]byte, 0, 4*numbersCount), '[')
	for i := range int64(numbersCount) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, i, 10)
	}
	return append(b, ']')
}

// wrong reads all numbers of a job's hash, and says what is wrong with them.
func wrong(fields map[string]string, listeners int) error {
	for l := range listeners {
		var numbers []int
		if err := json.Unmarshal([]byte(fields[listenerName(l)]), &numbers); err != nil {
			return fmt.Errorf("the numbers of %s: %w", listenerName(l), err)
		}
		if len(numbers) != numbersCount {
			return fmt.Errorf("%d numbers of %s", len(numbers), listenerName(l))
		}
		for i, n := range numbers {
			if n != i {
				return fmt.Errorf("number %d of %s is %d", i, listenerName(l), n)
			}
		}
	}
	return nil
}

// idsOf are ids that no other measurement has.
func idsOf(name string, round, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%d-%d", name, round, i)
	}
	return ids
}

// Package chaos answers one question: do the guarantees hold while everything breaks? It has tests only.
//
// TestChaos runs jobs while workers, servers and the network fail at random, and judges what Redis, the
// records and the sink have at the end. TestSoak lives through a week of a company in a minute.
package chaos

// Package redisdb answers one question: how does a process connect to its Redis, be it one server,
// Sentinels or a cluster? If it cannot, Hint says what to correct in the configuration (hint.go).
package redisdb

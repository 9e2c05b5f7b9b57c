// Package redisdb answers one question: how does a process connect to its Redis, whichever
// form that has, and what in the configuration is wrong where it cannot (hint.go)?
package redisdb

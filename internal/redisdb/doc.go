// Package redisdb answers one question: how does a process connect to its Redis, whichever
// form that has?
package redisdb

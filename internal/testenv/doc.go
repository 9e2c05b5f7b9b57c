// Package testenv starts private servers, a redis-server and a mariadbd, for
// tests and for the demo, and a RabbitMQ node for the benchmarks. Sets of
// redis-servers are in sentinel.go and cluster.go; a Network cuts one of a set
// off from the others. Each server lives in a
// folder of its own, listens on a free port of the loopback interface, and ends
// with the process that started it.
//
// Tests take the servers that their package shares from testenv/testmain. A
// test that stops or kills its server starts one of its own with StartRedis or
// StartMariaDB.
//
// A missing server is an error that names the command that installs it.
package testenv

// Package testenv answers one question: how do tests, the demo and the benchmarks start private
// servers?
//
// It starts redis-server, mariadbd, postgres and, for the benchmarks, RabbitMQ; the environment variables
// FANFOLD_TEST_REDIS, FANFOLD_TEST_MYSQL and FANFOLD_TEST_POSTGRES name other servers to run instead. Sets
// of redis-servers are in sentinel.go and cluster.go; a Network isolates one of them from the others. Every
// server has its own folder and a free port of the loopback interface, and ends with the process that
// started it.
//
// Tests use the servers that their package shares through testenv/testmain. A test that stops or
// kills its server starts its own with StartRedis, StartDatabase or StartPostgres.
//
// If a server is not installed, the error names the command that installs it.
package testenv

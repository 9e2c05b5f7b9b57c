// Package functions answers why a job is not done on machines without the fanfold command: a Redis
// function library has fanfold_why and fanfold_top, which redis-cli can call.
//
// The library consists of the rules of package inspect (see inspect.LuaRules) and of the files in
// lua/, which read the same facts from Redis as inspect does and evaluate the rules. It writes
// nothing, reads the keys of one partition only, and reads a bounded number of entries.
//
// A Loader, which fanfold serve runs, loads the library into every master. It writes the part of the
// configuration that the functions need, such as the lease, into the key `configuration` of every
// partition. See functions.go for what happens if several versions of Fanfold run.
package functions

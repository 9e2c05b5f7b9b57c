// Package functions answers why a job is not done inside Redis, where there is no fanfold: it has
// the function library whose functions fanfold_why and fanfold_top redis-cli can call.
//
// The library is made of the rules of package inspect (see inspect.LuaRules) and of the files in
// lua/, which ask Redis for the same facts as inspect does and evaluate the rules. It writes
// nothing, reads the keys of one partition alone, and reads a bounded number of entries.
//
// A Loader, which fanfold serve runs, loads the library into every master. What the functions must
// know of the configuration, such as the lease, it writes into the key `configuration` of each
// partition. See functions.go for what happens when several versions of Fanfold run.
package functions

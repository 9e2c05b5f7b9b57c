// Package job answers one question: what does Redis say of a job?
//
// It reads what the scripts of the package scripts write, and does no I/O: a job's hash, its
// tombstone, and its members of the delayed set.
//
// # The hash
//
// The field `job` is the state, one line that a person can read:
//
//	1 RUN 1 0 1763773822000 1/2 700 |users#2| 1763774422000 1763773222000 r/hash/digest
//
// These are the attempt, the status, the stage, the fence, the deadline, the listeners that
// are done and those that there are, the bytes of the data, the open listeners with their
// generations, the time when the hash expires, the start, and the report with the hash of
// its definition and a digest of the parameters. The other fields are parameters, listeners,
// queryDoneCount, queryTarget, the data (see Field), and what is rarer, for every step:
//
//	<step>:owner, :entry        who took it over or claimed it, with which entry
//	<step>:tries, :error, :blame, :next, :waits, :last_owner, :generation
//	                            how earlier tries ended, and when the next one comes
//	<listener>:part, :writer    the chunks that are stored so far
//	<listener>:found            what the listener gave: it is done
//	<listener>:lease, :last, :total, :memo
//	                            of external workers, and what a try remembers
//
// A step is a listener's task or StepFanIn. Parse makes a State of all of these but the data,
// ParseLine of the line alone, and Head reads its first two words, which a tombstone has, too.
//
// # The tombstone
//
// For a minute after the end a text says how the attempt ended:
//
//	1 SUCCESS r/hash/digest users:100:1 gs://bucket/1111-1.csv
//
// These are the attempt, the status of the record, the report as above, what the listeners gave
// (see Summary), and the file or the reason.
//
// # The delayed set
//
// A member is an id alone, which is pushed when it is due, or a step that is tried again,
// such as 1111/1/users: see Later.
package job

// Package files answers one question: which files of the sink are whose?
//
// The name of a file says which attempt of which job made it, for which installation: name.go. Files
// creates and removes the files of jobs: files.go. A sweep deletes files to which no record points:
// sweep.go, and gone.go for deleted rows. Segments of the spool go with their jobs, or
// stay with the datasets that are kept: segments.go. A file that other records share stays until none points to it:
// sharing.go. A fold that needs more memory than its budget has scratch files: scratch.go.
//
// Files also does the housekeeping of what the database keeps for a time: what ended jobs did (history.go), and what
// people did, which it copies from the audit stream (acts.go).
package files

// Package sink answers one question: how does a file come to its place?
//
// The rule is: a file is visible only through its record. Whoever wants a file
// reads the record and goes where it points; nobody looks into the folder. Four
// things make that hold, whatever crashes:
//
//   - Names hold id, attempt and the tag of the installation
//     (withdrawals/1111-2-k7m2qx.csv), so two jobs never want the same name, nor do
//     two installations, and a job that runs again never touches what the record of
//     an earlier attempt points to.
//   - An object is created under a precondition: only if none of its name is
//     there. Nothing is ever overwritten.
//   - An object is there whole or not at all. Until Commit returns, nothing can
//     be seen; after an Abort, or when ctx ends before, nothing was.
//   - What is there already and is the same is adopted. A fold that runs again
//     after a crash makes the same bytes, finds its own object and goes on. If
//     the object is another, that is ErrConflict, and it stays as it is.
//
// So of two processes that fold the same job at once, one creates, the other
// adopts, and both have a right to say SUCCESS:
//
//	Create ──Write…──▶ Commit ──none there──▶ created ──────▶ Committed
//	                      └────there─▶ same bytes? ──yes──▶ Committed, Adopted
//	                                        └───────no────▶ ErrConflict
//
// What no record points to is found with List and deleted with Remove, and so is what a
// crash left of a write that never became an object.
//
// Beside each object lies its manifest, which says what the object was made
// from; it is for people and for other programs, and decides nothing.
//
// This package has the directory (NewDir); engine/sink/gcs has Google Cloud
// Storage, which is apart because its SDK is heavy. Both pass
// engine/sink/sinktest.
package sink

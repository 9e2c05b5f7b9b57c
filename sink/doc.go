// Package sink answers one question: how does a file get to its destination?
//
// A file is visible only through its record: readers follow the record, and do not list the folder.
// Four rules make that hold after any crash:
//
//   - Names contain id, attempt and the tag of the installation
//     (withdrawals/1111-2-k7m2qx.csv). So no two jobs and no two installations share a name, and
//     a job that runs again never touches the file of an earlier attempt.
//   - An object is created under a precondition: that no object of its name exists. Nothing is
//     ever overwritten.
//   - An object exists whole or not at all. Nothing is visible until Commit returns, nor after
//     an Abort or the end of ctx.
//   - An object that exists and is the same is adopted. A fold that runs again after a crash
//     makes the same bytes, finds its own object and continues. A different object is
//     ErrConflict, and stays.
//
// So if two processes fold the same job at once, one creates the object, the other adopts it, and
// both may set SUCCESS:
//
//	Create ──Write…──▶ Commit ──none exists──▶ created ────▶ Committed
//	                      └────exists─▶ same bytes? ──yes──▶ Committed, Adopted
//	                                        └────────no────▶ ErrConflict
//
// Orphaned objects and leftovers of interrupted writes are found with List and deleted with Remove.
//
// Beside every object is its manifest, which says what the object was made from. It is for people
// and other programs; Fanfold makes no decision by it.
//
// A Kind is a kind of place, with the forms of its URLs, in a package of its own, such as sink/dir.
// All pass sink/sinktest.
package sink

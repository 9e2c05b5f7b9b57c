// Package gcs answers one question: how does a file get into Google Cloud
// Storage?
//
// It is apart from sink because it is the only one that links Google's
// SDK. Objects are created through the JSON API with the precondition that none
// of their name is there (ifGenerationMatch=0), which also makes the upload safe
// to repeat, so the client does that by itself.
//
// # Commit
//
// Closing the client's writer is the commit, and it can fail without telling
// what happened: the answer may be lost after the object was stored, and the
// client's own repetition then meets its own object (412). So after every failed
// Close the sink looks. An object with the same size, CRC32C and metadata is
// ours, or as good as ours, and is adopted. Another one is sink.ErrConflict.
//
// Closing after a failure would publish a file that is cut off. So a write is
// aborted by cancelling its context, and the writer is never closed then. What
// was uploaded by then cannot be seen by anyone; the service drops it after a
// week.
//
// # Needed
//
// The account needs storage.objects.create, .get and .delete on the bucket.
// Credentials are found as by all of Google's tools (Application Default
// Credentials); STORAGE_EMULATOR_HOST=host:port leads to an emulator instead.
package gcs

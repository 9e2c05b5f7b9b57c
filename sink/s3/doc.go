// Package s3 answers one question: how does a file get into Amazon S3, or a store that speaks its API?
//
// It is apart from sink because it is the only one that links MinIO's client.
//
// # Commit
//
// An object is created under the condition that none of its name exists (If-None-Match: *). The
// condition is on the request that makes the object visible: PutObject for a file of up to one part, or
// CompleteMultipartUpload. That is why the package sends the parts itself: the client's own PutObject
// sends the condition when a multipart upload begins, and leaves it out where it counts.
//
// A commit can fail without telling what happened: the answer may be lost after the object was
// stored, and a repeated request then meets its own object (412). So after every failed commit the
// sink looks. An object with the same size, checksum and metadata is ours, or as good as ours,
// and is adopted. Another one is sink.ErrConflict. The checksum is the CRC-64/NVME that the store keeps;
// if it keeps none, the object is read and compared.
//
// Some stores ignore the condition. Check finds that out, for both requests, and refuses such a store.
//
// # Uploads that did not end
//
// If a write fails or is aborted, its multipart upload is aborted at the store. Uploads of processes
// that died are invisible, but cost space: List finds them, and Remove aborts them.
//
// # Memory
//
// An upload has one buffer, which grows to the size of a part. A store accepts 10,000 parts, so that
// size also limits that of a file.
package s3

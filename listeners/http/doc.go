// Package http reads the data of listeners from HTTP APIs that speak JSON.
//
// # One answer
//
// Rows are read one by one from the answer as it comes, so that memory does not grow
// with it; after the API's max_bytes, decompressed, it is an error. An answer that ends
// in its middle, a row that lacks a column, a page that comes twice: whatever is not
// as it should be is an error, and nothing of the try is kept. Numbers keep all of
// their digits.
//
// # Where requests go
//
// To the host of the API alone, whatever an answer says: a redirect elsewhere is not
// followed, and a next page elsewhere is refused, since both would get the headers of
// the API, which are secret. Values are escaped for their place; one that would change
// the path, such as .., is refused.
//
// # Errors
//
//	nobody answers the connection         an outage: no try is used
//	429, 503                              the task comes again when Retry-After says, or
//	                                      as after an outage
//	408, other 5xx, cut or late answers   a try is used
//	other 4xx, a redirect                 permanent
//
// A page in the middle of a result is asked for again in place where it is not long
// until then, since all pages before it would have to be read again otherwise.
package http

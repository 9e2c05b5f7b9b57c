// Package http reads the data of listeners from HTTP APIs with JSON: it is their listeners.Source.
//
// # One answer
//
// Rows are decoded one by one as the answer arrives, so that memory does not grow with it. More than
// the API's max_bytes, decompressed, is an error. So is anything unexpected, such as a truncated
// answer, a row without a column or a repeated page; nothing of the try is kept. Numbers keep all of
// their digits.
//
// # Where requests go
//
// Only to the host of the API: a redirect or a next page on another host is refused, because it would
// get the secret headers of the API. Values are escaped for their position. One that would change the
// path, such as .., is refused.
//
// # Errors
//
//	no connection                         an outage: it does not count as a try
//	429, 503                              the task is retried after Retry-After, or as after
//	                                      an outage
//	408, other 5xx, cut or late answers   a try is used
//	other 4xx, a redirect                 permanent
//
// After 429 or 503, a page in the middle of a result is requested again without a new try if the
// delay is short. A new try would read all pages before it again. Until the delay is over, no process
// calls the API; then one call at a time is tried, until one succeeds (listeners.Backoff).
package http

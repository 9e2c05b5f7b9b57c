// Package ask answers one question: how does Fanfold send an HTTP request to a foreign service? API
// sources and the calls of timers use it.
//
// A request goes where its URL says. Redirects are followed only within the host, up to the limit
// of the Client. A 2xx response is an Answer, whose body is bounded in time and size. Everything
// else is a *Failure, whose Kind says what the caller can conclude:
//
//	Unsent    the service did not receive the request
//	Slow      no complete answer in time; the service may have received the request
//	Broken    the same, because the connection broke
//	Busy      429 or 503: the service asks for another try
//	Failing   408 or another 5xx: a retry may succeed
//	Moved     3xx: a redirect that is not followed
//	Refused   any other answer: the same request would fail again
//
// The text of a failure is one short line without the URL, which may contain a secret, without the
// secrets of the request, and without terminal control characters.
package ask

// Package ask sends HTTP requests to services that are not ours, and judges what comes
// back. Sources ask APIs through it, and timers make their calls.
//
// A request goes where its URL says: redirects are followed within the host alone, as many
// as the Client allows. An answer of 2xx is an Answer, whose body is bounded in time and
// size. All else is a *Failure, whose Kind says what the caller can conclude:
//
//	Unsent    nobody has got the request
//	Slow      no whole answer within the time; the service may have got the request
//	Broken    the same, since the connection broke
//	Busy      429 or 503: the service asks for another try
//	Failing   408 or another 5xx: it may work later
//	Moved     3xx: a redirect that is not followed
//	Refused   any other answer: the same request fails again
//
// The text of a failure is one short line. It holds no URL, since that may have a secret
// in it, no secret of the request, and nothing that a terminal would obey.
package ask

// Package order answers one question: how does a person without a login order a report?
//
// The link /o/<token> is the permission. A token contains the person, their tenant, the reports that they may order,
// and an expiry (token.go). The page lists the reports (catalogue.go), asks for the parameters (fields.go), creates
// the record of the person and leads to its waiting page (create.go), and lists the person's records with their
// progress (exports.go). It works without JavaScript; with JavaScript, the list is kept up to date.
//
// The person is not an operator: no page contains the text of an error, a query, a host or a key. A record of
// another person or tenant is shown like one that does not exist.
package order

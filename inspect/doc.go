// Package inspect answers what an operator wants to know: the record and the state of a job (Jobs), what
// waits in Redis (lists, timers, figures), and what happened (events). Package why says what a
// job waits for, watch follows jobs until they end, and doctor checks the servers.
//
// An Inspector has one field for every noun, such as Jobs or Timers. It uses the connections in its
// Options. It opens none and changes nothing. It returns plain structs, which the command line prints
// and the dashboard shows.
package inspect

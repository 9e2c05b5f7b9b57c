// Package collation answers one question: which texts are equal, and which one comes first?
//
// It compares texts as MariaDB and MySQL do by a collation of a column. A text is a sequence of weights: those of its
// characters, of which a collation gives one or several to each, or none. Some sequences of characters, the
// contractions, have weights of their own. The weights come from the servers: package generate asks them for
// WEIGHT_STRING of every character and writes weights.zst, and a test compares texts with the servers'.
//
// Most collations pad: a text compares as if spaces without end followed it, so "a" equals "a ".
package collation

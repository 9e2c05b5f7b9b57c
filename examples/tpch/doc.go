// Package tpch answers one question: what do reports look like whose tables lie in several places?
//
// Reports has the 22 queries of the TPC-H benchmark (https://www.tpc.org/tpch/) as reports of Fanfold: customers,
// orders and their items lie in one database, parts in a second, suppliers in a third, and nations and regions in an
// HTTP API. Conditions on one table stand in the query of its listener, and the fold has the rest. Subqueries of the
// original outside FROM are written as joins.
//
// Rows makes the data, as the specification describes it, but with texts of its own.
package tpch
